#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "client/printable.h"

static char *shown;
static size_t shown_bytes;
static FILE *stream;

static void setup(void) {
    stream = open_memstream(&shown, &shown_bytes);
    ck_assert_ptr_nonnull(stream);
}

static void teardown(void) {
    free(shown);
}

static void assert_shown(const char *expected) {
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_str_eq(shown, expected);
}

static const struct {
    const char *bytes;
    size_t n_bytes;
    const char *line;
    const char *quoted;
} samples[] = {
#define SAMPLE(bytes, line, quoted)                                                                \
    { bytes, sizeof bytes - 1, line, quoted }
    SAMPLE("", "", "\"\""),
    SAMPLE("plain", "plain", "\"plain\""),
    SAMPLE("a\tb\n", "a\tb\\x0a", "\"a\\tb\\n\""),
    SAMPLE("say \"\\\"", "say \"\\\"", "\"say \\\"\\\\\\\"\""),
    SAMPLE("\x1b[31mred\r", "\\x1b[31mred\\x0d", "\"\\x1b[31mred\\x0d\""),
    SAMPLE("nul\0nul", "nul\\x00nul", "\"nul\\x00nul\""),
    SAMPLE("\x7f", "\\x7f", "\"\\x7f\""),
    SAMPLE("gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\xbc", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\xbc",
           "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\xbc\""),
    SAMPLE("\xff\xc3(", "\\xff\\xc3(", "\"\\xff\\xc3(\""),
    SAMPLE("cut \xe2\x82", "cut \\xe2\\x82", "\"cut \\xe2\\x82\""),
    SAMPLE("\xed\xa0\x80", "\\xed\\xa0\\x80", "\"\\xed\\xa0\\x80\""),
    SAMPLE("csi \xc2\x9b", "csi \\xc2\\x9b", "\"csi \\xc2\\x9b\""),
    SAMPLE("rtl \xe2\x80\xae", "rtl \\xe2\\x80\\xae", "\"rtl \\xe2\\x80\\xae\""),
    SAMPLE("zero\xe2\x80\x8bwidth", "zero\\xe2\\x80\\x8bwidth", "\"zero\\xe2\\x80\\x8bwidth\""),
    SAMPLE("\xe2\x80\xa8", "\\xe2\\x80\\xa8", "\"\\xe2\\x80\\xa8\""),
};

START_TEST(lines_are_safe) {
    printable_line(stream, samples[_i].bytes, samples[_i].n_bytes);
    assert_shown(samples[_i].line);
}
END_TEST

START_TEST(quotes_are_safe) {
    printable_quoted(stream, samples[_i].bytes, samples[_i].n_bytes);
    assert_shown(samples[_i].quoted);
}
END_TEST

static const struct {
    const char *bytes;
    size_t max_lines;
    const char *block;
} blocks[] = {
    {"", 9, ""},
    {"one", 9, "| one\n"},
    {"one\n", 9, "| one\n"},
    {"one\n\ntwo\n", 9, "| one\n| \n| two\n"},
    {"\n", 9, "| \n"},
    {"b.py: PASSED\n", 9, "| b.py: PASSED\n"},
    {"one\rtwo", 9, "| one\\x0dtwo\n"},
    {"1\n2\n3\n4\n", 2, "| 1\n| 2\n| (2 more lines)\n"},
    {"1\n2\n3", 2, "| 1\n| 2\n| (1 more lines)\n"},
    {"1\n2\n", 2, "| 1\n| 2\n"},
};

START_TEST(blocks_are_indented_and_bounded) {
    printable_block(stream, "| ", blocks[_i].bytes, strlen(blocks[_i].bytes), blocks[_i].max_lines);
    assert_shown(blocks[_i].block);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("printable");
    TCase *tests = tcase_create("printable");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, lines_are_safe, 0, sizeof samples / sizeof *samples);
    tcase_add_loop_test(tests, quotes_are_safe, 0, sizeof samples / sizeof *samples);
    tcase_add_loop_test(tests, blocks_are_indented_and_bounded, 0, sizeof blocks / sizeof *blocks);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
