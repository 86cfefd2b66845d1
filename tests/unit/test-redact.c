#include "warden/redact.h"

#include <stdlib.h>

#include "canary_maker.h"
#include "suite.h"

#define CANARIES(...) ((const char *const[]){__VA_ARGS__, NULL})

typedef struct Shown {
    char text[1 << 12];
    size_t n_bytes;
} Shown;

static void show(void *data, const uint8_t *bytes, size_t n_bytes) {
    Shown *shown = data;
    memcpy(shown->text + shown->n_bytes, bytes, n_bytes);
    shown->n_bytes += n_bytes;
    shown->text[shown->n_bytes] = '\0';
}

/* Fed in three pieces, cut at every two places. */
static void expect_end(const char *const *canaries, const char *text, bool is_cut,
                       const char *expected) {
    CanaryMaker maker;
    const uint8_t *bytes = (const uint8_t *)text;
    const size_t n = strlen(text);
    canary_maker_init(&maker, canaries);
    for (size_t first = 0; first <= n; first++) {
        for (size_t second = first; second <= n; second++) {
            Redactor *redactor;
            Shown shown = {0};
            ck_assert_int_eq(redactor_new(maker.scanner, show, &shown, &redactor), 0);
            redactor_feed(redactor, bytes, first);
            redactor_feed(redactor, bytes + first, second - first);
            redactor_feed(redactor, bytes + second, n - second);
            redactor_finish(redactor, is_cut);
            ck_assert_str_eq(shown.text, expected);
            redactor_free(redactor);
        }
    }
    canary_maker_deinit(&maker);
}

static void expect(const char *const *canaries, const char *text, const char *expected) {
    expect_end(canaries, text, false, expected);
}

START_TEST(each_cut_gives_the_same) {
    expect(CANARIES("secret"), "a secret, secretsecret and secre", "a <0>, <0><0> and secre");
    expect(CANARIES("secret"), "nothing here", "nothing here");
    expect(CANARIES("secret"), "secret", "<0>");
    expect(CANARIES("x"), "xaxx", "<0>a<0><0>");
}
END_TEST

START_TEST(the_longest_wins) {
    expect(CANARIES("sec", "secret"), "secret sec secre", "<1> <0> <0>re");
    expect(CANARIES("secret", "sec"), "secret sec secre", "<0> <1> <1>re");
    expect(CANARIES("cre", "secret"), "secret", "<1>");
}
END_TEST

START_TEST(no_byte_of_an_overlap_gets_through) {
    expect(CANARIES("abc", "bcdef"), "xabcdefx", "x<0><1>x");
    expect(CANARIES("aba"), "xababax", "x<0><0>x");
}
END_TEST

START_TEST(first_offsets_are_kept) {
    CanaryMaker maker;
    Redactor *redactor;
    Shown shown = {0};
    uint64_t offset = 99;
    canary_maker_init(&maker, CANARIES("abc", "bcdef", "never"));
    ck_assert_int_eq(redactor_new(maker.scanner, show, &shown, &redactor), 0);
    for (const char *p = "..abcdef abc"; *p; p++) redactor_feed(redactor, (const uint8_t *)p, 1);
    redactor_finish(redactor, false);
    ck_assert(redactor_saw(redactor, 0, &offset));
    ck_assert_uint_eq(offset, 2);
    ck_assert(redactor_saw(redactor, 1, &offset));
    ck_assert_uint_eq(offset, 3);
    ck_assert(!redactor_saw(redactor, 2, &offset));
    redactor_free(redactor);
    canary_maker_deinit(&maker);
}
END_TEST

/* A long stream, so that the window moves, without a sink. */
START_TEST(a_long_stream_is_watched) {
    CanaryMaker maker;
    Redactor *redactor;
    uint64_t offset;
    static uint8_t block[100000];
    memset(block, '.', sizeof block);
    canary_maker_init(&maker, CANARIES("needle"));
    ck_assert_int_eq(redactor_new(maker.scanner, NULL, NULL, &redactor), 0);
    for (int i = 0; i < 20; i++) redactor_feed(redactor, block, sizeof block);
    redactor_feed(redactor, (const uint8_t *)"nee", 3);
    redactor_feed(redactor, (const uint8_t *)"dle", 3);
    redactor_finish(redactor, false);
    ck_assert(redactor_saw(redactor, 0, &offset));
    ck_assert_uint_eq(offset, 2000000);
    redactor_free(redactor);
    canary_maker_deinit(&maker);
}
END_TEST

START_TEST(a_stream_that_was_cut_shows_no_part) {
    expect_end(CANARIES("secret"), "a secret secre", true, "a <0> ");
    expect_end(CANARIES("secret"), "a secret s", true, "a <0> ");
    expect_end(CANARIES("secret"), "a secret", true, "a <0>");
    expect_end(CANARIES("secret"), "a secret.", true, "a <0>.");
    expect_end(CANARIES("secret", "cred"), "a secre", true, "a ");
    expect_end(CANARIES("secret", "secret and more"), "a secret and m", true, "a <0>");
    expect_end(CANARIES("aab", "aba"), "xaabaab", true, "x<0><1><0>");
}
END_TEST

/* Nor is a half shown of what a cut went through. */
static void expect_no_half(const char *shown, const char *halves) {
    const size_t n_half = strlen(halves) / 2;
    char half[64] = "";
    memcpy(half, halves, n_half);
    ck_assert_msg(!strstr(shown, half), "'%s' is in '%s'", half, shown);
    ck_assert_msg(!strstr(shown, halves + n_half), "'%s' is in '%s'", halves + n_half, shown);
}

/* Every begun marker is whole, and nothing of one stands alone. */
static void expect_whole_markers(const char *shown) {
    for (const char *p = shown; *p; p++) {
        if (strncmp(p, "<0>", 3) == 0)
            p += 2;
        else
            ck_assert_msg(*p != '<' && *p != '>', "half a marker: '%s'", shown);
    }
}

START_TEST(lines_are_cut_after_redaction) {
    enum { MAX = 20, HELD = MAX + 18 };
    static const char secret[] = "first/second/third";
    CanaryMaker maker;
    canary_maker_init(&maker, CANARIES("first/second/third"));
    for (size_t lead = 0; lead < 2 * HELD; lead++) {
        char text[6 * HELD] = "", *line;
        char *end = stpcpy(text, lead % 2 ? secret : ""); /* what replaces it is shorter */
        memset(end, 'x', lead);
        end = stpcpy(end + lead, secret);
        memset(end, 'y', 40);
        for (size_t n_bytes = strlen(text); n_bytes >= HELD; n_bytes--) {
            text[n_bytes] = '\0';
            ck_assert_int_eq(redact_line(maker.scanner, text, MAX, true, &line), 0);
            ck_assert_uint_le(strlen(line), MAX);
            expect_no_half(line, secret);
            expect_whole_markers(line);
            free(line);
        }
    }
    canary_maker_deinit(&maker);
}
END_TEST

static void expect_line(const char *const *canaries, const char *text, bool is_cut,
                        const char *expected) {
    CanaryMaker maker;
    char *line;
    canary_maker_init(&maker, canaries);
    ck_assert_int_eq(redact_line(maker.scanner, text, 16, is_cut, &line), 0);
    ck_assert_str_eq(line, expected);
    free(line);
    canary_maker_deinit(&maker);
}

START_TEST(texts_become_well_formed_lines) {
    expect_line(CANARIES("secret"),
                "a\xff"
                "secret\x01",
                false, "a\xef\xbf\xbd<0>\\x01");
    expect_line(CANARIES("secret"), "\n a \t\nb ", false, "a b");
    expect_line(CANARIES("secret"), "", false, "");
    expect_line(CANARIES("secret"), "0123456789abcdef", false, "0123456789abcdef");
    expect_line(CANARIES("secret"), "0123456789abcdefg", false, "0123456789abc...");
    expect_line(CANARIES("secret"), "0123456789ab\xc3\xa4 and more", false, "0123456789ab...");
    expect_line(CANARIES("secret"), "0123456789asecret and more", false, "0123456789a...");
    char *line;
    ck_assert_int_eq(redact_line(NULL, "secret and\nmore", 11, false, &line), 0);
    ck_assert_str_eq(line, "secret a...");
    free(line);
}
END_TEST

START_TEST(what_becomes_a_canary_is_redacted) {
    expect_line(CANARIES("se\\x01cret"),
                "a se\x01"
                "cret",
                false, "a <0>");
    expect_line(CANARIES("secret\xef\xbf\xbd"), "a secret\xff", false, "a <0>");
    expect_line(CANARIES("sec ret"), "a sec\n\tret", false, "a <0>");
    expect_line(CANARIES("sec ret"), "a sec\n", true, "a ");
    expect_line(CANARIES("se\\x01cret"),
                "a se\x01"
                "c",
                true, "a ");
}
END_TEST

/* What is no text can stand in the replacement character only. */
START_TEST(canaries_that_are_no_text_leave_a_well_formed_one) {
    expect_line(CANARIES("\xa4"),
                "a\xc3\xa4"
                "b",
                false, "a\xef\xbf\xbd<0>b");
}
END_TEST

START_TEST(markers_are_left_as_they_are) {
    CanaryMaker maker;
    static const char redacted[] = "<0>, 0 <1><0>x\x01<1> <1";
    char *text;
    canary_maker_init(&maker, CANARIES("0", "x\\x01"));
    ck_assert_int_eq(redact_again(maker.scanner, redacted, sizeof redacted - 1, &text), 0);
    ck_assert_str_eq(text, "<0>, <0> <1><0><1><1> <1");
    free(text);
    canary_maker_deinit(&maker);
}
END_TEST

START_TEST(no_cut_goes_through_a_marker) {
    static const char text[] = "ab<0>cd<1>\xc3\xa4";
    static const size_t shown[] = {0, 1, 2, 2, 2, 5, 6, 7, 7, 7, 10, 10, 12};
    CanaryMaker maker;
    canary_maker_init(&maker, CANARIES("one", "two"));
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        ck_assert_uint_eq(redact_cut(maker.scanner, text, sizeof text - 1, i), shown[i]);
    ck_assert_uint_eq(redact_cut(NULL, text, sizeof text - 1, 3), 3);
    ck_assert_uint_eq(redact_ended_bytes(maker.scanner, "1>cd", 4), 2);
    ck_assert_uint_eq(redact_ended_bytes(maker.scanner, "<1>cd", 5), 0);
    ck_assert_uint_eq(redact_ended_bytes(maker.scanner, ">", 1), 1);
    ck_assert_uint_eq(redact_ended_bytes(NULL, ">", 1), 0);
    ck_assert_uint_eq(redact_begun_bytes(maker.scanner, "<0><1", 5), 2);
    ck_assert_uint_eq(redact_begun_bytes(maker.scanner, "<0>", 3), 0);
    canary_maker_deinit(&maker);
}
END_TEST

START_TEST(bytes_may_be_none) {
    uint8_t *bytes = NULL;
    size_t n_bytes = 9;
    ck_assert_int_eq(redact_bytes(NULL, "", 0, &bytes, &n_bytes), 0);
    ck_assert_uint_eq(n_bytes, 0);
    ck_assert_uint_eq(bytes[0], 0);
    free(bytes);
}
END_TEST

SUITE_MAIN("redact", each_cut_gives_the_same, the_longest_wins, no_byte_of_an_overlap_gets_through,
           first_offsets_are_kept, a_long_stream_is_watched, a_stream_that_was_cut_shows_no_part,
           lines_are_cut_after_redaction, texts_become_well_formed_lines,
           what_becomes_a_canary_is_redacted, canaries_that_are_no_text_leave_a_well_formed_one,
           markers_are_left_as_they_are, no_cut_goes_through_a_marker, bytes_may_be_none)
