#include <stdlib.h>
#include <time.h>

#include <check.h>

#include "base/clock.h"

START_TEST(units_agree) {
    ck_assert_uint_eq(NS_PER_MS * MS_PER_S, NS_PER_S);
    const uint64_t before_ms = clock_mono_ns() / NS_PER_MS;
    const uint64_t now_ms = clock_mono_ms();
    const uint64_t after_ms = clock_mono_ns() / NS_PER_MS;
    ck_assert_uint_le(before_ms, now_ms);
    ck_assert_uint_le(now_ms, after_ms);
}
END_TEST

START_TEST(monotonic_advances_with_time) {
    const struct timespec pause = {.tv_nsec = 20000000};
    const uint64_t before_ns = clock_mono_ns();
    ck_assert_int_eq(nanosleep(&pause, NULL), 0);
    ck_assert_uint_ge(clock_mono_ns() - before_ns, 20000000);
}
END_TEST

START_TEST(wall_is_the_time_of_day) {
    const uint64_t before_ms = (uint64_t)time(NULL) * MS_PER_S;
    const uint64_t now_ms = clock_wall_ms();
    /* time() may run a tick behind. */
    ck_assert_uint_ge(now_ms, before_ms);
    ck_assert_uint_le(now_ms, before_ms + 5 * MS_PER_S);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("clock");
    TCase *tests = tcase_create("clock");
    tcase_add_test(tests, units_agree);
    tcase_add_test(tests, monotonic_advances_with_time);
    tcase_add_test(tests, wall_is_the_time_of_day);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
