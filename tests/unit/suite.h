/* Runs one Check suite of the cases given; every unit test's main. */
#pragma once

#include <check.h>
#include <stdlib.h>

#define SUITE_MAIN(name, ...)                                                                      \
    int main(void) {                                                                               \
        const TTest *const tests_[] = {__VA_ARGS__};                                               \
        TCase *tcase_ = tcase_create(name);                                                        \
        for (size_t i_ = 0; i_ < sizeof tests_ / sizeof *tests_; i_++)                             \
            tcase_add_test(tcase_, tests_[i_]);                                                    \
        Suite *suite_ = suite_create(name);                                                        \
        suite_add_tcase(suite_, tcase_);                                                           \
        SRunner *runner_ = srunner_create(suite_);                                                 \
        srunner_run_all(runner_, CK_NORMAL);                                                       \
        const int failed_ = srunner_ntests_failed(runner_);                                        \
        srunner_free(runner_);                                                                     \
        return failed_ == 0 ? EXIT_SUCCESS : EXIT_FAILURE;                                         \
    }
