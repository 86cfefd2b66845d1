#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "base/error.h"

/* Standard error of what follows goes to the returned file. Each test is a process of its own. */
static FILE *capture_stderr(void) {
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    return file;
}

static size_t read_back(FILE *file, char *text, size_t size) {
    fflush(stderr);
    rewind(file);
    const size_t n = fread(text, 1, size - 1, file);
    text[n] = '\0';
    fclose(file);
    return n;
}

START_TEST(origin_returns_its_code) {
    ck_assert_int_eq(error_origin(-ENOENT), -ENOENT);
    ck_assert_int_eq(error_origin(0), 0);
}
END_TEST

START_TEST(fold_passes_errors_on) {
    ck_assert_int_eq(error_fold(-EACCES), -EACCES);
    ck_assert_int_eq(error_fold(0), 0);
}
END_TEST

START_TEST(fold_refuses_results) {
    ck_assert_int_eq(error_fold(1), -ENOTRECOVERABLE);
}
END_TEST

START_TEST(silent_unless_asked) {
    unsetenv("TBSANDBOX_TRACE");
    FILE *file = capture_stderr();
    error_fold(error_origin(-ENOENT));
    char text[512];
    ck_assert_uint_eq(read_back(file, text, sizeof text), 0);
}
END_TEST

START_TEST(trace_names_the_place) {
    setenv("TBSANDBOX_TRACE", "1", 1);
    FILE *file = capture_stderr();
    error_fold_at(error_origin_at(-ENOENT, "born.c", 12), "passed.c", 34);
    char text[512];
    read_back(file, text, sizeof text);
    ck_assert_str_eq(text, "trace: error -2 (No such file or directory) at born.c:12\n"
                           "trace: passed on -2 (No such file or directory) at passed.c:34\n");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("error");
    TCase *tests = tcase_create("error");
    tcase_add_test(tests, origin_returns_its_code);
    tcase_add_test(tests, fold_passes_errors_on);
    tcase_add_test(tests, fold_refuses_results);
    tcase_add_test(tests, silent_unless_asked);
    tcase_add_test(tests, trace_names_the_place);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
