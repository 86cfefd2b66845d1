#include <stdlib.h>

#include <check.h>

#include "verdict/phase.h"

START_TEST(names_are_lower_case_and_in_the_order_of_the_ledger) {
    static const char *const expected[] = {
        "spawned", "confined", "validated", "dispatched", "received", "parsed",
        "allowed", "compiled", "started",   "ended",      "reaped",   "checked",
    };
    ck_assert_uint_eq(sizeof expected / sizeof *expected, PHASE_COUNT);
    for (Phase phase = 0; phase < PHASE_COUNT; phase++)
        ck_assert_str_eq(phase_name(phase), expected[phase]);
}
END_TEST

/* The numbers travel between warden and broker. */
START_TEST(numbers_are_fixed) {
    ck_assert_int_eq(PHASE_SPAWNED, 0);
    ck_assert_int_eq(PHASE_RECEIVED, 4);
    ck_assert_int_eq(PHASE_STARTED, 8);
    ck_assert_int_eq(PHASE_CHECKED, 11);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("phase");
    TCase *tests = tcase_create("phase");
    tcase_add_test(tests, names_are_lower_case_and_in_the_order_of_the_ledger);
    tcase_add_test(tests, numbers_are_fixed);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
