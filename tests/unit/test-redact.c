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
static void expect(const char *const *canaries, const char *text, const char *expected) {
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
            redactor_finish(redactor);
            ck_assert_str_eq(shown.text, expected);
            redactor_free(redactor);
        }
    }
    canary_maker_deinit(&maker);
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
    redactor_finish(redactor);
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
    redactor_finish(redactor);
    ck_assert(redactor_saw(redactor, 0, &offset));
    ck_assert_uint_eq(offset, 2000000);
    redactor_free(redactor);
    canary_maker_deinit(&maker);
}
END_TEST

START_TEST(texts_become_well_formed) {
    CanaryMaker maker;
    char *text = NULL;
    canary_maker_init(&maker, CANARIES("secret"));
    ck_assert_int_eq(redact_text(maker.scanner,
                                 "a\xff"
                                 "secret\x01",
                                 &text),
                     0);
    ck_assert_str_eq(text, "a\xef\xbf\xbd<0>\\x01");
    free(text);
    ck_assert_int_eq(redact_text(NULL, "secret", &text), 0);
    ck_assert_str_eq(text, "secret");
    free(text);
    ck_assert_int_eq(redact_text(maker.scanner, NULL, &text), 0);
    ck_assert_ptr_null(text);
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
           first_offsets_are_kept, a_long_stream_is_watched, texts_become_well_formed,
           bytes_may_be_none)
