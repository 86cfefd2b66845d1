#include "broker/health.h"

#include "suite.h"

static Health make(void) {
    Health health;
    health_init(&health,
                (HealthPolicy){.failures = 3, .backoff_min_ms = 100, .backoff_max_ms = 500});
    return health;
}

START_TEST(starts_by_testing) {
    const Health health = make();
    ck_assert_int_eq(health.state, HEALTH_TESTING);
    ck_assert(!health_serves(&health));
    ck_assert(!health_refuses(&health));
}
END_TEST

START_TEST(serves_after_the_test) {
    Health health = make();
    ck_assert(health_note(&health, HEALTH_EVENT_TEST_PASSED, 0));
    ck_assert(health_serves(&health));
}
END_TEST

START_TEST(opens_after_failures_in_a_row) {
    Health health = make();
    health_note(&health, HEALTH_EVENT_TEST_PASSED, 0);
    ck_assert(!health_note(&health, HEALTH_EVENT_FILL_FAILED, 10));
    ck_assert(!health_note(&health, HEALTH_EVENT_FILL_FAILED, 10));
    ck_assert(health_note(&health, HEALTH_EVENT_FILL_FAILED, 10));
    ck_assert(health_refuses(&health));
    ck_assert_uint_eq(health.retry_at_ms, 110);
}
END_TEST

START_TEST(a_good_run_ends_the_row) {
    Health health = make();
    health_note(&health, HEALTH_EVENT_TEST_PASSED, 0);
    health_note(&health, HEALTH_EVENT_FILL_FAILED, 0);
    health_note(&health, HEALTH_EVENT_FILL_FAILED, 0);
    health_note(&health, HEALTH_EVENT_RUN_OK, 0);
    health_note(&health, HEALTH_EVENT_FILL_FAILED, 0);
    health_note(&health, HEALTH_EVENT_FILL_FAILED, 0);
    ck_assert(health_serves(&health));
}
END_TEST

START_TEST(backoff_doubles_up_to_its_bound) {
    static const uint64_t waits_ms[] = {100, 200, 400, 500, 500};
    Health health = make();
    health_note(&health, HEALTH_EVENT_TEST_FAILED, 0);
    for (size_t i = 0; i < sizeof waits_ms / sizeof *waits_ms; i++) {
        ck_assert_int_eq(health.state, HEALTH_UNHEALTHY);
        ck_assert_uint_eq(health.retry_at_ms, waits_ms[i]);
        ck_assert(health_note(&health, HEALTH_EVENT_RETRY_DUE, 0));
        ck_assert_int_eq(health.state, HEALTH_RETESTING);
        ck_assert(health_refuses(&health));
        ck_assert(health_note(&health, HEALTH_EVENT_FILL_FAILED, 0));
    }
}
END_TEST

START_TEST(a_profile_that_flaps_waits_longer_until_a_job_ran) {
    Health health = make();
    health_note(&health, HEALTH_EVENT_TEST_FAILED, 0);
    health_note(&health, HEALTH_EVENT_RETRY_DUE, 0);
    health_note(&health, HEALTH_EVENT_TEST_PASSED, 0);
    health_note(&health, HEALTH_EVENT_TEST_FAILED, 0);
    ck_assert_uint_eq(health.retry_at_ms, 200);
    health_note(&health, HEALTH_EVENT_RETRY_DUE, 0);
    health_note(&health, HEALTH_EVENT_TEST_PASSED, 0);
    health_note(&health, HEALTH_EVENT_RUN_OK, 0);
    health_note(&health, HEALTH_EVENT_TEST_FAILED, 0);
    ck_assert_uint_eq(health.retry_at_ms, 100);
}
END_TEST

START_TEST(late_news_do_not_move_an_open_circuit) {
    Health health = make();
    health_note(&health, HEALTH_EVENT_TEST_FAILED, 0);
    ck_assert(!health_note(&health, HEALTH_EVENT_FILL_FAILED, 50));
    ck_assert(!health_note(&health, HEALTH_EVENT_TEST_PASSED, 50));
    ck_assert(!health_note(&health, HEALTH_EVENT_RUN_OK, 50));
    ck_assert_uint_eq(health.retry_at_ms, 100);
}
END_TEST

SUITE_MAIN("health", starts_by_testing, serves_after_the_test, opens_after_failures_in_a_row,
           a_good_run_ends_the_row, backoff_doubles_up_to_its_bound,
           a_profile_that_flaps_waits_longer_until_a_job_ran, late_news_do_not_move_an_open_circuit)
