#include "warden/excerpt.h"

#include <stdio.h>
#include <string.h>

#include "canary_maker.h"
#include "suite.h"

#define TRACEBACK                                                                                  \
    "Traceback (most recent call last):\n"                                                         \
    "  File \"generated.py\", line 1, in <module>\n"                                               \
    "ValueError: no\n"

static void expect(const char *text, const char *expected) {
    char *excerpt = (char *)"untouched";
    ck_assert_int_eq(excerpt_make(NULL, text, strlen(text), &excerpt), 0);
    if (expected)
        ck_assert_str_eq(excerpt, expected);
    else
        ck_assert_ptr_null(excerpt);
    free(excerpt);
}

static void expect_line(const char *text, const char *expected) {
    char *line = (char *)"untouched";
    ck_assert_int_eq(excerpt_useful_line(NULL, text, strlen(text), &line), 0);
    if (expected)
        ck_assert_str_eq(line, expected);
    else
        ck_assert_ptr_null(line);
    free(line);
}

START_TEST(nothing_gives_nothing) {
    expect("", NULL);
    expect(" \n\n", NULL);
    expect_line("", NULL);
    expect_line("\n \n", NULL);
}
END_TEST

START_TEST(a_traceback_is_its_end) {
    expect("a warning\n" TRACEBACK, "Traceback (most recent call last):\n"
                                    "  File \"generated.py\", line 1, in <module>\n"
                                    "ValueError: no");
    expect("just words\nand more\n", "just words\nand more");
}
END_TEST

START_TEST(long_texts_are_cut_at_lines) {
    char text[6001];
    for (size_t i = 0; i < 60; i++) snprintf(text + 100 * i, 101, "line %02zu%092d\n", i, 0);
    char *excerpt;
    ck_assert_int_eq(excerpt_make(NULL, text, strlen(text), &excerpt), 0);
    ck_assert_uint_le(strlen(excerpt), EXCERPT_MAX_BYTES);
    ck_assert_uint_gt(strlen(excerpt), EXCERPT_MAX_BYTES - 250);
    ck_assert_int_eq(strncmp(excerpt, "line ", 5), 0);
    ck_assert_ptr_nonnull(strstr(excerpt, "line 59"));
    ck_assert_ptr_null(strstr(excerpt, "line 30"));
    free(excerpt);
    memset(text, 'x', sizeof text);
    ck_assert_int_eq(excerpt_make(NULL, text, sizeof text, &excerpt), 0);
    ck_assert_uint_eq(strlen(excerpt), EXCERPT_MAX_BYTES);
    free(excerpt);
}
END_TEST

START_TEST(a_dump_is_its_head_without_extensions) {
    expect("noise\n"
           "Fatal Python error: Segmentation fault\n\n"
           "Current thread 0x00007f (most recent call first):\n"
           "  File \"generated.py\", line 1 in <module>\n\n"
           "Extension modules: numpy.core._multiarray_umath, pandas (total: 40)\n",
           "Fatal Python error: Segmentation fault\n\n"
           "Current thread 0x00007f (most recent call first):\n"
           "  File \"generated.py\", line 1 in <module>");
    expect("Current thread 0x01 (most recent call first):\n  File \"x\"\n",
           "Current thread 0x01 (most recent call first):\n  File \"x\"");
}
END_TEST

START_TEST(the_useful_line_is_found) {
    expect_line("\nFirst\nFatal Python error: init: failed\nmore\n",
                "Fatal Python error: init: failed");
    expect_line("warning: x\n" TRACEBACK, "ValueError: no");
    expect_line(TRACEBACK "\nDuring handling:\n\n" TRACEBACK "later words\n", "later words");
    expect_line("\n  indented first\nsecond\n", "indented first");
    expect_line("bad \xff\n", "bad \xef\xbf\xbd");
}
END_TEST

/* Around the cut at the beginning of what is shown, in one line that has no other place for it. */
START_TEST(no_cut_goes_through_a_marker) {
    static const char *const secret[] = {"first\\x01second", NULL};
    CanaryMaker maker;
    canary_maker_init(&maker, secret);
    for (int before = EXCERPT_MAX_BYTES - 20; before < EXCERPT_MAX_BYTES + 20; before++) {
        char text[3 * EXCERPT_MAX_BYTES], *excerpt;
        memset(text, 'x', sizeof text);
        const int at = (int)sizeof text - before;
        memcpy(text + at - 3, "<0>", 3);
        ck_assert_int_eq(excerpt_make(maker.scanner, text, sizeof text, &excerpt), 0);
        ck_assert_uint_le(strlen(excerpt), EXCERPT_MAX_BYTES);
        const char *bracket = strpbrk(excerpt, "0<>");
        ck_assert(!bracket || strncmp(bracket, "<0>", 3) == 0);
        free(excerpt);
        memcpy(text + at - 12, "first\x01second", 12);
        ck_assert_int_eq(excerpt_make(maker.scanner, text, sizeof text, &excerpt), 0);
        ck_assert_ptr_null(strstr(excerpt, "first"));
        ck_assert_ptr_null(strstr(excerpt, "second"));
        free(excerpt);
    }
    canary_maker_deinit(&maker);
}
END_TEST

START_TEST(a_useful_line_is_cut_after_redaction) {
    static const char *const secret[] = {"first\\x01second", NULL};
    CanaryMaker maker;
    canary_maker_init(&maker, secret);
    for (int at = EXCERPT_LINE_MAX_BYTES - 40; at < EXCERPT_LINE_MAX_BYTES + 5; at++) {
        char text[2 * EXCERPT_LINE_MAX_BYTES], *line;
        memset(text, 'x', sizeof text);
        memcpy(text + at, "first\x01second<0>", 15);
        ck_assert_int_eq(excerpt_useful_line(maker.scanner, text, sizeof text, &line), 0);
        ck_assert_uint_le(strlen(line), EXCERPT_LINE_MAX_BYTES);
        ck_assert_ptr_null(strstr(line, "first"));
        ck_assert_ptr_null(strstr(line, "second"));
        const char *bracket = strpbrk(line, "0<>");
        ck_assert(!bracket || strncmp(bracket, "<0>", 3) == 0);
        free(line);
    }
    canary_maker_deinit(&maker);
}
END_TEST

SUITE_MAIN("excerpt", nothing_gives_nothing, a_traceback_is_its_end, long_texts_are_cut_at_lines,
           a_dump_is_its_head_without_extensions, the_useful_line_is_found,
           no_cut_goes_through_a_marker, a_useful_line_is_cut_after_redaction)
