#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "config/problem.h"

static char *printed(const ProblemList *list) {
    char *text = NULL;
    size_t n_bytes;
    FILE *stream = open_memstream(&text, &n_bytes);
    ck_assert_ptr_nonnull(stream);
    problem_list_print(list, stream);
    fclose(stream);
    return text;
}

START_TEST(lines_name_the_place) {
    ProblemList list;
    ck_assert_int_eq(problem_list_init(&list, "/etc/x.yaml"), 0);
    ck_assert(problem_list_empty(&list));
    problem_add(&list, 3, 7, "log.level", "expected %d", 5);
    problem_add(&list, 0, 0, "", "cannot be opened");
    problem_add(&list, 2, 1, "", "no key here");
    problem_add(&list, 0, 0, "queue", "no place here");
    ck_assert(!problem_list_empty(&list));
    char *text = printed(&list);
    ck_assert_str_eq(text, "/etc/x.yaml:3:7: log.level: expected 5\n"
                           "/etc/x.yaml: cannot be opened\n"
                           "/etc/x.yaml:2:1: no key here\n"
                           "/etc/x.yaml: queue: no place here\n");
    free(text);
    problem_list_deinit(&list);
    ck_assert(problem_list_empty(&list));
}
END_TEST

START_TEST(hostile_text_is_one_printable_line) {
    ProblemList list;
    ck_assert_int_eq(problem_list_init(&list, "a\nb"), 0);
    problem_add(&list, 1, 1, "k\x1b[2J\n", "found '%s'", "\r\n\xff");
    char *text = printed(&list);
    ck_assert_str_eq(text, "a?b:1:1: k\\x1b[2J?: found '\\x0d?\xef\xbf\xbd'\n");
    free(text);
    problem_list_deinit(&list);
}
END_TEST

START_TEST(at_most_a_hundred_are_kept) {
    ProblemList list;
    ck_assert_int_eq(problem_list_init(&list, "f"), 0);
    for (int i = 0; i < 103; i++) problem_add(&list, 1, 1, "k", "number %d", i);
    ck_assert_uint_eq(list.n_items, 100);
    ck_assert_uint_eq(list.n_dropped, 3);
    ck_assert_str_eq(list.items[99].message, "number 99");
    char *text = printed(&list);
    ck_assert_ptr_nonnull(strstr(text, "\nf: 3 more problems\n"));
    free(text);
    problem_list_deinit(&list);
}
END_TEST

START_TEST(long_messages_are_cut) {
    ProblemList list;
    char message[8192];
    memset(message, 'x', sizeof message);
    message[sizeof message - 1] = '\0';
    ck_assert_int_eq(problem_list_init(&list, "f"), 0);
    problem_add(&list, 1, 1, "k", "%s", message);
    ck_assert_uint_eq(list.n_items, 1);
    ck_assert_uint_lt(strlen(list.items[0].message), 2048);
    problem_list_deinit(&list);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("problem");
    TCase *tests = tcase_create("problem");
    tcase_add_test(tests, lines_name_the_place);
    tcase_add_test(tests, hostile_text_is_one_printable_line);
    tcase_add_test(tests, at_most_a_hundred_are_kept);
    tcase_add_test(tests, long_messages_are_cut);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
