#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "client/canaries.h"
#include "client/submission.h"

static Arena arena;
static Tb__Submit submit;
static Trouble trouble;

static void setup(void) {
    submit = (Tb__Submit)TB__SUBMIT__INIT;
    submit.profile = (char *)"pandas";
}

static void teardown(void) {
    arena_deinit(&arena);
}

START_TEST(many_parts_keep_their_order) {
    for (int i = 0; i < 100; i++) {
        char id[16];
        snprintf(id, sizeof id, "c-%d", i);
        ck_assert_int_eq(submission_add_canary(&submit, &arena, id, "value"), 0);
    }
    ck_assert_uint_eq(submit.n_canaries, 100);
    ck_assert_str_eq(submit.canaries[0]->id, "c-0");
    ck_assert_str_eq(submit.canaries[99]->id, "c-99");
    ck_assert_uint_eq(submit.canaries[99]->value.len, 5);
    ck_assert_int_eq(submission_check(&submit, &trouble), 0);
}
END_TEST

START_TEST(keys_are_32_hex_digits_and_differ) {
    ck_assert_int_eq(submission_set_key(&submit, &arena), 0);
    const char *first = submit.idempotency_key;
    ck_assert_uint_eq(strlen(first), 32);
    ck_assert_uint_eq(strspn(first, "0123456789abcdef"), 32);
    ck_assert_int_eq(submission_set_key(&submit, &arena), 0);
    ck_assert_str_ne(first, submit.idempotency_key);
}
END_TEST

static const struct {
    const char *path;
    const char *name;
} file_names[] = {
    {"a.py", "a.py"},         {"/tmp/x/a.py", "a.py"}, {"dir/", "fallback"},
    {"a\xff.py", "fallback"}, {"a\n.py", "fallback"},  {"..", "fallback"},
};

START_TEST(file_names_are_what_the_daemon_takes) {
    ck_assert_int_eq(submission_set_file_name(&submit, &arena, file_names[_i].path, "fallback"), 0);
    ck_assert_str_eq(submit.file_name, file_names[_i].name);
}
END_TEST

START_TEST(twins_and_bad_names_are_told) {
    const ProtobufCBinaryData none = {0};
    ck_assert_int_eq(submission_add_input(&submit, &arena, "a.csv", none), 0);
    ck_assert_int_eq(submission_check(&submit, &trouble), 0);
    ck_assert_int_eq(submission_add_input(&submit, &arena, "a.csv", none), 0);
    ck_assert_int_eq(submission_check(&submit, &trouble), TROUBLE_E_TOLD);
    ck_assert_str_eq(trouble.text, "there are two inputs named 'a.csv'");
    submit.n_inputs = 0;
    submit.inputs = NULL;
    ck_assert_int_eq(submission_add_input(&submit, &arena, "../a.csv", none), 0);
    ck_assert_int_eq(submission_check(&submit, &trouble), TROUBLE_E_TOLD);
}
END_TEST

/* ---- canaries ---- */

static const struct {
    const char *word;
    int result;
    const char *value;
} words[] = {
    {"id=value", 0, "value"},  {"id=a=b", 0, "a=b"},          {"id= spaced ", 0, " spaced "},
    {"id", TROUBLE_E_TOLD, 0}, {"=value", TROUBLE_E_TOLD, 0}, {"id=", TROUBLE_E_TOLD, 0},
};

START_TEST(words_are_split) {
    ck_assert_int_eq(canaries_add_word(words[_i].word, &arena, &submit, &trouble),
                     words[_i].result);
    ck_assert_uint_eq(submit.n_canaries, words[_i].value != NULL);
    if (!words[_i].value) return;
    ck_assert_str_eq(submit.canaries[0]->id, "id");
    ck_assert_uint_eq(submit.canaries[0]->value.len, strlen(words[_i].value));
    ck_assert_mem_eq(submit.canaries[0]->value.data, words[_i].value, strlen(words[_i].value));
}
END_TEST

static void add_lines(const char *text, size_t n_bytes, ProblemList *problems) {
    ck_assert_int_eq(problem_list_init(problems, "canaries.txt"), 0);
    const ProtobufCBinaryData bytes = {.len = n_bytes, .data = (uint8_t *)text};
    ck_assert_int_eq(canaries_add_lines(bytes, &arena, &submit, problems), 0);
}

START_TEST(lines_are_read) {
    static const char text[] = "# comment\n\n  a=1\r\nb= 2 # no comment\n\t# another\nc=3";
    ProblemList problems;
    add_lines(text, sizeof text - 1, &problems);
    ck_assert(problem_list_empty(&problems));
    ck_assert_uint_eq(submit.n_canaries, 3);
    ck_assert_str_eq(submit.canaries[0]->id, "a");
    ck_assert_uint_eq(submit.canaries[0]->value.len, 1);
    ck_assert_mem_eq(submit.canaries[1]->value.data, " 2 # no comment", 15);
    ck_assert_str_eq(submit.canaries[2]->id, "c");
    problem_list_deinit(&problems);
}
END_TEST

START_TEST(bad_lines_are_told_by_number) {
    static const char text[] = "a=1\nnothing\n=x\nb=\nc=\0\nd=1\n";
    ProblemList problems;
    add_lines(text, sizeof text - 1, &problems);
    ck_assert_uint_eq(problems.n_items, 4);
    for (size_t i = 0; i < 4; i++) ck_assert_uint_eq(problems.items[i].line, i + 2);
    ck_assert_uint_eq(submit.n_canaries, 2);
    problem_list_deinit(&problems);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("submission");
    TCase *tests = tcase_create("submission");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, many_parts_keep_their_order);
    tcase_add_test(tests, keys_are_32_hex_digits_and_differ);
    tcase_add_loop_test(tests, file_names_are_what_the_daemon_takes, 0,
                        sizeof file_names / sizeof *file_names);
    tcase_add_test(tests, twins_and_bad_names_are_told);
    tcase_add_loop_test(tests, words_are_split, 0, sizeof words / sizeof *words);
    tcase_add_test(tests, lines_are_read);
    tcase_add_test(tests, bad_lines_are_told_by_number);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
