/* Runs one Check suite of the cases given; every unit test's main. */
#pragma once

#include <check.h>
#include <signal.h>
#include <stdlib.h>

static inline int suite_run(const char *name, const TTest *const *tests, size_t n_tests) {
    /* As broker and warden do; who tests what a child inherits, sets it anew. */
    signal(SIGPIPE, SIG_IGN);
    /* Check's own bound of 4 s for one test is too tight for a busy machine. */
    setenv("CK_DEFAULT_TIMEOUT", "60", 0);
    TCase *tcase = tcase_create(name);
    for (size_t i = 0; i < n_tests; i++) tcase_add_test(tcase, tests[i]);
    Suite *suite = suite_create(name);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define SUITE_RUN(name, ...)                                                                       \
    ({                                                                                             \
        const TTest *const tests_[] = {__VA_ARGS__};                                               \
        suite_run((name), tests_, sizeof tests_ / sizeof *tests_);                                 \
    })

#define SUITE_MAIN(name, ...)                                                                      \
    int main(void) {                                                                               \
        return SUITE_RUN(name, __VA_ARGS__);                                                       \
    }

/* Of a program that starts itself again as something else: with arguments it is `other`. */
#define SUITE_MAIN_OR(other, name, ...)                                                            \
    int main(int argc, char **argv) {                                                              \
        if (argc > 1) return other(argc, argv);                                                    \
        return SUITE_RUN(name, __VA_ARGS__);                                                       \
    }
