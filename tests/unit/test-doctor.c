#include "broker/doctor.h"

#include "bench.h"
#include "broker/queue.h"
#include "suite.h"

static Bench bench;

/* What the last run told. */
static struct {
    unsigned n_told;
    DoctorCheck checks[32];
    size_t n_checks;
} told;

static void on_told(Pool *pool, const DoctorCheck *checks, size_t n_checks, void *data) {
    ck_assert_ptr_eq(pool, data);
    told.n_told++;
    told.n_checks = n_checks;
    memcpy(told.checks, checks, n_checks * sizeof *checks);
}

static void prepare(const char *lie) {
    bench_prepare(&bench, "ready");
    bench.self_test = true;
    bench.config->circuit_backoff_min_ms = bench.config->circuit_backoff_max_ms = 3600000;
    set_text(&bench.config->profiles[0].warmup, lie);
}

static void set_up(const char *lie) {
    prepare(lie);
    bench_start(&bench);
}

static const DoctorCheck *find_check(const char *name) {
    for (size_t i = 0; i < told.n_checks; i++)
        if (strcmp(told.checks[i].name, name) == 0) return &told.checks[i];
    ck_abort_msg("there is no check %s", name);
    return NULL;
}

START_TEST(a_sandbox_that_works_serves) {
    set_up("");
    loop_until(&bench.loop, bench_pool(&bench)->doctor);
    ck_assert_int_eq(doctor_await(bench_pool(&bench), on_told, bench_pool(&bench)), 0);
    loop_until(&bench.loop, told.n_told == 1);
    ck_assert_uint_eq(told.n_checks, doctor_n_programs);
    for (size_t i = 0; i < told.n_checks; i++)
        ck_assert_msg(told.checks[i].ok, "%s: expected %s, saw %s", told.checks[i].name,
                      told.checks[i].expected, told.checks[i].seen);
    ck_assert_str_eq(find_check("passes")->expected, "passed");
    ck_assert_str_eq(find_check("raises")->seen, "failed: exited 1");
    ck_assert_str_eq(find_check("exits-3")->seen, "failed: exited 3");
    ck_assert_str_eq(find_check("loops")->expected, "failed: timeout");
    ck_assert(health_serves(&bench_pool(&bench)->health));
    ck_assert_ptr_null(bench_pool(&bench)->doctor);
    ck_assert_uint_eq(bench.n_changes, 0); /* no client sees a probe */
    ck_assert_uint_eq(bench.scheduler->totals.accepted, 0);
    bench_deinit(&bench);
}
END_TEST

/* Each program tells something apart that no other does. */
START_TEST(one_wrong_verdict_is_enough) {
    for (unsigned i = 0; i < doctor_n_programs; i++) {
        char part[96];
        set_up(doctor_programs[i].name);
        loop_until(&bench.loop, health_refuses(&bench_pool(&bench)->health));
        snprintf(part, sizeof part, "self-test %s: expected ", doctor_programs[i].name);
        const char *diagnosis = bench_pool(&bench)->diagnosis;
        ck_assert_msg(strstr(diagnosis, part), "'%s' lacks '%s'", diagnosis, part);
        ck_assert_ptr_nonnull(strstr(diagnosis, "saw failed: exited 42"));
        bench_deinit(&bench);
    }
}
END_TEST

START_TEST(jobs_wait_for_the_self_test) {
    set_up("");
    Job *job = bench_submit(&bench, "a", "pass");
    loop_until(&bench.loop, bench_pool(&bench)->doctor);
    while (bench_pool(&bench)->doctor) {
        ck_assert_int_eq(job->state, JOB_QUEUED);
        event_base_loop(bench.loop.base, EVLOOP_ONCE);
    }
    bench_await(&bench, job);
    expect_passed(job);
    bench_deinit(&bench);
}
END_TEST

START_TEST(jobs_of_a_profile_that_fails_it_get_the_diagnosis) {
    set_up("leaks-canary");
    Job *job = bench_submit(&bench, "a", "pass");
    bench_await(&bench, job);
    expect_infrastructure(job, CODE_PROFILE_UNHEALTHY,
                          "self-test leaks-canary: expected failed: "
                          "canary_leak, saw failed: exited 42");
    ck_assert_uint_eq(job->verdict->attempts, 0);
    bench_deinit(&bench);
}
END_TEST

START_TEST(without_poison_its_probe_is_left_out) {
    prepare("");
    text_list_deinit(&bench.config->profiles[0].poisoned_modules);
    bench_start(&bench);
    loop_until(&bench.loop, bench_pool(&bench)->doctor);
    ck_assert_int_eq(doctor_await(bench_pool(&bench), on_told, bench_pool(&bench)), 0);
    loop_until(&bench.loop, told.n_told == 1);
    ck_assert_uint_eq(told.n_checks, doctor_n_programs - 1);
    ck_assert(health_serves(&bench_pool(&bench)->health));
    bench_deinit(&bench);
}
END_TEST

START_TEST(one_runs_at_a_time_and_may_be_forgotten) {
    set_up("");
    loop_until(&bench.loop, bench_pool(&bench)->doctor);
    Pool *pool = bench_pool(&bench);
    const struct DoctorRun *run = pool->doctor;
    ck_assert_int_eq(doctor_start(bench.scheduler, pool), 0);
    ck_assert_ptr_eq(pool->doctor, run);
    ck_assert_int_eq(doctor_await(pool, on_told, pool), 0);
    doctor_forget(pool, pool);
    loop_until(&bench.loop, !pool->doctor);
    ck_assert_uint_eq(told.n_told, 0);
    doctor_forget(pool, pool); /* nothing runs: nothing to forget */
    bench_deinit(&bench);
}
END_TEST

START_TEST(it_may_run_again_while_the_profile_serves) {
    set_up("");
    bench_await_ready(&bench);
    Pool *pool = bench_pool(&bench);
    ck_assert_int_eq(doctor_start(bench.scheduler, pool), 0);
    ck_assert_int_eq(doctor_await(pool, on_told, pool), 0);
    Job *job = bench_submit(&bench, "a", "pass");
    loop_until(&bench.loop, told.n_told == 1 && job->state == JOB_FINISHED);
    expect_passed(job);
    ck_assert(health_serves(&pool->health));
    bench_deinit(&bench);
}
END_TEST

START_TEST(one_of_an_older_profile_says_nothing) {
    set_up("passes");
    loop_until(&bench.loop, bench_pool(&bench)->doctor);
    Config *config = make_stub_config(&bench.places, "ready");
    set_text(&config->profiles[0].warmup, "");
    ck_assert_int_eq(scheduler_configure(bench.scheduler, config), 0);
    config_unref(config);
    loop_until(&bench.loop, health_serves(&bench_pool(&bench)->health));
    bench_deinit(&bench);
}
END_TEST

START_TEST(an_environment_that_does_not_come_is_no_verdict_on_the_sandbox) {
    bench_prepare(&bench, "ready lost lost lost lost ready");
    bench.self_test = true;
    bench_start(&bench);
    loop_until(&bench.loop, bench_pool(&bench)->health.state == HEALTH_UNHEALTHY);
    ck_assert_str_eq(bench_pool(&bench)->diagnosis, "the warden exited 7 without a word");
    loop_until(&bench.loop, health_serves(&bench_pool(&bench)->health));
    bench_deinit(&bench);
}
END_TEST

static void expect_no_judgement(Pool *pool, const DoctorCheck *checks, size_t n_checks,
                                void *data) {
    on_told(pool, checks, n_checks, data);
    ck_assert_int_eq(pool->health.state, HEALTH_TESTING);
    ck_assert_ptr_null(pool->diagnosis);
}

START_TEST(a_removed_profile_is_not_called_unhealthy) {
    set_up("");
    loop_until(&bench.loop, bench_pool(&bench)->doctor);
    Pool *pool = bench_pool(&bench);
    ck_assert_int_eq(doctor_await(pool, expect_no_judgement, pool), 0);
    Config *config = make_stub_config(&bench.places, "ready");
    set_text(&config->profiles[0].name, "renamed");
    ck_assert_int_eq(scheduler_configure(bench.scheduler, config), 0);
    config_unref(config);
    loop_until(&bench.loop, told.n_told == 1);
    loop_until(&bench.loop, list_empty(&bench.scheduler->retired));
    bench_deinit(&bench);
}
END_TEST

START_TEST(stopping_is_no_verdict_on_the_sandbox) {
    set_up("");
    loop_until(&bench.loop, bench_pool(&bench)->doctor);
    Pool *pool = bench_pool(&bench);
    ck_assert_int_eq(doctor_await(pool, expect_no_judgement, pool), 0);
    scheduler_abort(bench.scheduler);
    ck_assert_uint_eq(told.n_told, 1);
    ck_assert_ptr_null(pool->doctor);
    bench_deinit(&bench);
}
END_TEST

SUITE_MAIN_OR(warden_stub, "doctor", a_sandbox_that_works_serves, one_wrong_verdict_is_enough,
              jobs_wait_for_the_self_test, jobs_of_a_profile_that_fails_it_get_the_diagnosis,
              without_poison_its_probe_is_left_out, one_runs_at_a_time_and_may_be_forgotten,
              it_may_run_again_while_the_profile_serves, one_of_an_older_profile_says_nothing,
              an_environment_that_does_not_come_is_no_verdict_on_the_sandbox,
              a_removed_profile_is_not_called_unhealthy, stopping_is_no_verdict_on_the_sandbox)
