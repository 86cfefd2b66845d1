#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "base/text.h"

START_TEST(printable_replaces_controls_only) {
    char text[] = "a\tb\nc\x1b[1m\x7f \xc3\xa9";
    text_make_printable(text);
    ck_assert_str_eq(text, "a?b?c?[1m? \xc3\xa9");
}
END_TEST

static const struct {
    const char *bytes;
    bool well_formed;
} sequences[] = {
    {"", true},
    {"plain", true},
    {"\xc2\x80", true},
    {"\xdf\xbf", true},
    {"\xe0\xa0\x80", true},
    {"\xed\x9f\xbf", true},
    {"\xee\x80\x80", true},
    {"\xf0\x90\x80\x80", true},
    {"\xf4\x8f\xbf\xbf", true},
    {"\x80", false},             /* continuation alone */
    {"\xc0\xaf", false},         /* overlong, two bytes */
    {"\xc1\xbf", false},         /* overlong, two bytes */
    {"\xe0\x9f\xbf", false},     /* overlong, three bytes */
    {"\xf0\x8f\xbf\xbf", false}, /* overlong, four bytes */
    {"\xed\xa0\x80", false},     /* surrogate */
    {"\xf4\x90\x80\x80", false}, /* above U+10FFFF */
    {"\xf5\x80\x80\x80", false}, /* never a first byte */
    {"\xff", false},
    {"a\xe2\x82", false}, /* cut */
    {"\xe2\x82z", false},
    {"\xf0\x90\x80", false},
};

START_TEST(utf8_is_told_from_other_bytes) {
    const char *bytes = sequences[_i].bytes;
    ck_assert_int_eq(text_is_utf8(bytes, strlen(bytes)), sequences[_i].well_formed);
}
END_TEST

START_TEST(utf8_takes_nul_and_looks_no_further_than_told) {
    ck_assert(text_is_utf8("a\0b", 3));
    ck_assert(text_is_utf8("ab\xff", 2));
    ck_assert(!text_is_utf8("\xc3\xa9", 1));
}
END_TEST

static const struct {
    const char *bytes;
    size_t n_bytes;
    const char *text;
} sanitized[] = {
    {"", 0, ""},
    {"caf\xc3\xa9\n\tx", 8, "caf\xc3\xa9\n\tx"},
    {"a\0b", 3, "a\\x00b"},
    {"\x1b[31m\r\x7f", 7, "\\x1b[31m\\x0d\\x7f"},
    {"a\xff\xfe z", 5, "a\xef\xbf\xbd\xef\xbf\xbd z"},
    {"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"x\xe2\x82", 3, "x\xef\xbf\xbd\xef\xbf\xbd"},
};

START_TEST(sanitize_makes_text_of_bytes) {
    char *text = NULL;
    ck_assert_int_eq(text_sanitize(sanitized[_i].bytes, sanitized[_i].n_bytes, &text), 0);
    ck_assert_str_eq(text, sanitized[_i].text);
    ck_assert(text_is_utf8(text, strlen(text)));
    free(text);
}
END_TEST

START_TEST(format_allocates) {
    char *text = NULL;
    ck_assert_int_eq(text_format(&text, "%s-%d", "job", 7), 0);
    ck_assert_str_eq(text, "job-7");
    free(text);
}
END_TEST

static const struct {
    const char *name;
    bool good;
} tokens[] = {
    {"a", true},    {"a.b-c_D9", true}, {"12345678", true},  {"123456789", false},
    {"", false},    {".a", false},      {"-a", false},       {"_a", true},
    {"a b", false}, {"a/b", false},     {"\xc3\xa9", false}, {"a\n", false},
};

START_TEST(tokens_are_plain_and_short) {
    ck_assert_int_eq(text_is_token(tokens[_i].name, 8), tokens[_i].good);
}
END_TEST

static const struct {
    const char *name;
    bool good;
} file_names[] = {
    {"your_data.csv", true},
    {"caf\xc3\xa9.csv", true},
    {"...", true},
    {".hidden", true},
    {"-rf", true},
    {"", false},
    {".", false},
    {"..", false},
    {"a/b", false},
    {"/", false},
    {"a\nb", false},
    {"a\x7f", false},
    {"a\xff", false},
};

START_TEST(file_names_stay_in_their_directory) {
    ck_assert_int_eq(text_is_file_name(file_names[_i].name), file_names[_i].good);
}
END_TEST

START_TEST(file_names_have_a_longest) {
    char name[257];
    memset(name, 'a', sizeof name);
    name[255] = '\0';
    ck_assert(text_is_file_name(name));
    name[255] = 'a';
    name[256] = '\0';
    ck_assert(!text_is_file_name(name));
}
END_TEST

START_TEST(list_copies_what_it_holds) {
    TextList list = {0}, copy = {0}, other = {0};
    char item[] = "one";
    ck_assert_int_eq(text_list_append(&list, item), 0);
    item[0] = 'X';
    ck_assert_int_eq(text_list_append(&list, "two"), 0);
    ck_assert_uint_eq(list.n_items, 2);
    ck_assert_str_eq(list.items[0], "one");
    ck_assert(text_list_contains(&list, "two"));
    ck_assert(!text_list_contains(&list, "tw"));

    ck_assert_int_eq(text_list_copy(&list, &copy), 0);
    ck_assert_ptr_ne(copy.items[0], list.items[0]);
    ck_assert(text_list_equal(&list, &copy));
    ck_assert(!text_list_equal(&list, &other));
    ck_assert_int_eq(text_list_append(&other, "two"), 0);
    ck_assert_int_eq(text_list_append(&other, "one"), 0);
    ck_assert_msg(!text_list_equal(&list, &other), "order matters");

    text_list_deinit(&list);
    ck_assert_uint_eq(list.n_items, 0);
    ck_assert_ptr_null(list.items);
    ck_assert_str_eq(copy.items[1], "two");
    text_list_deinit(&copy);
    text_list_deinit(&other);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("text");
    TCase *tests = tcase_create("text");
    tcase_add_test(tests, printable_replaces_controls_only);
    tcase_add_loop_test(tests, utf8_is_told_from_other_bytes, 0,
                        sizeof sequences / sizeof *sequences);
    tcase_add_test(tests, utf8_takes_nul_and_looks_no_further_than_told);
    tcase_add_loop_test(tests, sanitize_makes_text_of_bytes, 0,
                        sizeof sanitized / sizeof *sanitized);
    tcase_add_test(tests, format_allocates);
    tcase_add_loop_test(tests, tokens_are_plain_and_short, 0, sizeof tokens / sizeof *tokens);
    tcase_add_loop_test(tests, file_names_stay_in_their_directory, 0,
                        sizeof file_names / sizeof *file_names);
    tcase_add_test(tests, file_names_have_a_longest);
    tcase_add_test(tests, list_copies_what_it_holds);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
