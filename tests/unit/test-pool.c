#include "broker/pool.h"

#include <string.h>

#include "base/cleanup.h"
#include "broker/queue.h"
#include "job_maker.h"
#include "loop.h"
#include "stub_config.h"
#include "suite.h"

/* One pool and what it told its owner. */
static struct {
    Loop loop;
    Places places;
    Config *config;
    struct event *children;
    Pool *pool;
    uint64_t next_number;
    unsigned n_ready;
    unsigned n_health;
    unsigned n_results;
    unsigned n_faults;
    HealthState healths[16];
} self;

static void on_changed(Pool *pool, PoolEvent event, void *data) {
    ck_assert_ptr_eq(data, &self);
    if (event == POOL_READY) {
        self.n_ready++;
        return;
    }
    if (self.n_health < sizeof self.healths / sizeof *self.healths)
        self.healths[self.n_health] = pool->health.state;
    self.n_health++;
}

static void on_reported(Pool *pool, Environment *environment, const EnvironmentReport *report,
                        void *data) {
    (void)pool;
    (void)data;
    if (report->kind == REPORT_RECEIVED) return;
    ck_assert_ptr_nonnull(environment->job);
    environment->job = NULL;
    if (report->kind == REPORT_FAULT) {
        self.n_faults++;
        return;
    }
    self.n_results++;
    facts_free(TAKE(*report->facts));
}

static void on_child(evutil_socket_t number, short what, void *data) {
    (void)number;
    (void)what;
    (void)data;
    ProcessExit exit;
    while (process_reap(&exit)) {
        Environment *environment = pool_find(self.pool, exit.pid);
        ck_assert_ptr_nonnull(environment);
        environment_exited(environment, &exit);
    }
}

static void prepare(const char *script) {
    log_setup("test", LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
    places_init(&self.places);
    self.config = make_stub_config(&self.places, script);
    self.config->circuit_backoff_min_ms = self.config->circuit_backoff_max_ms = 3600000;
}

static void start(void) {
    loop_init(&self.loop);
    self.children = evsignal_new(self.loop.base, SIGCHLD, on_child, NULL);
    event_add(self.children, NULL);
    const PoolOwner owner = {on_changed, on_reported, &self};
    ck_assert_int_eq(pool_new(self.loop.base, self.config, &self.config->profiles[0], owner,
                              &self.next_number, &self.pool),
                     0);
    ck_assert(list_empty(&self.pool->environments));
    pool_fill(self.pool);
}

static void set_up(const char *script) {
    prepare(script);
    start();
}

static void tear_down(void) {
    pool_stop(self.pool);
    list_each(link, &self.pool->environments)
        environment_close(list_entry(link, Environment, pool_link));
    loop_until(&self.loop, list_empty(&self.pool->environments));
    loop_idle(&self.loop);
    ck_assert(list_empty(&self.pool->environments)); /* a stopped pool makes no more */
    pool_free(self.pool);
    event_free(self.children);
    loop_deinit(&self.loop);
    ck_assert_uint_eq(self.config->n_refs, 1);
    config_unref(self.config);
    places_expect_clean(&self.places);
    places_deinit(&self.places);
}

static Job *run(const char *code) {
    Environment *environment = pool_ready(self.pool);
    ck_assert_ptr_nonnull(environment);
    const MarkerKey key = {{0}};
    Job *job = make_job("uid:1001", "key");
    job->spec.code = (Blob){(uint8_t *)strdup(code), strlen(code)};
    ck_assert_int_eq(environment_run(environment, job, &self.config->profiles[0].limits, &key), 0);
    return job;
}

/* ---- filling ---- */

START_TEST(keeps_min_ready) {
    prepare("ready");
    self.config->profiles[0].min_ready = 3;
    start();
    loop_until(&self.loop, pool_count(self.pool).ready == 3);
    loop_idle(&self.loop);
    ck_assert_uint_eq(pool_count(self.pool).ready, 3);
    ck_assert_uint_eq(pool_count(self.pool).starting, 0);
    ck_assert_uint_eq(self.next_number, 3);
    ck_assert_uint_eq(self.n_ready, 3);
    ck_assert_str_eq(self.pool->version, "3.11.2");
    ck_assert_uint_eq(self.pool->enforced.n_items, 2);
    tear_down();
}
END_TEST

START_TEST(grows_with_the_jobs_that_wait_up_to_its_bound) {
    prepare("ready");
    self.config->profiles[0].max_environments = 3;
    start();
    Job *jobs[5];
    for (int i = 0; i < 5; i++) {
        jobs[i] = make_job("uid:1001", "key");
        ck_assert_int_eq(queue_push(self.pool->jobs, jobs[i]), 0);
    }
    ck_assert_uint_eq(pool_n_waiting(self.pool), 5);
    pool_fill(self.pool);
    loop_until(&self.loop, pool_count(self.pool).ready == 3);
    loop_idle(&self.loop);
    ck_assert_uint_eq(self.next_number, 3);
    while (queue_pop(self.pool->jobs)) continue;
    for (int i = 0; i < 5; i++) job_free(jobs[i]);
    tear_down();
}
END_TEST

START_TEST(replaces_what_was_used) {
    set_up("ready");
    loop_until(&self.loop, pool_ready(self.pool));
    Job *job = run("pass");
    loop_until(&self.loop, self.n_results == 1 && pool_ready(self.pool));
    ck_assert_str_eq(pool_ready(self.pool)->id, "e-2");
    ck_assert_uint_eq(self.pool->fill_failures_total, 0);
    job_free(job);
    tear_down();
}
END_TEST

START_TEST(what_a_job_may_have_done_is_the_owners_alone) {
    set_up("ready");
    loop_until(&self.loop, pool_ready(self.pool));
    Job *job = run("lost");
    loop_until(&self.loop, self.n_faults == 1 && pool_ready(self.pool));
    ck_assert_uint_eq(self.n_results, 0);
    ck_assert_uint_eq(self.pool->fill_failures_total, 0);
    ck_assert_ptr_null(self.pool->diagnosis);
    job_free(job);
    tear_down();
}
END_TEST

START_TEST(an_environment_that_dies_while_it_waits_is_replaced) {
    set_up("ready");
    loop_until(&self.loop, pool_ready(self.pool));
    const uint64_t before = self.next_number;
    process_kill(pool_ready(self.pool)->pid);
    loop_until(&self.loop, self.next_number > before && pool_ready(self.pool));
    ck_assert_str_eq(self.pool->diagnosis, "the warden was killed by SIGKILL");
    ck_assert_uint_eq(self.n_faults, 0);
    tear_down();
}
END_TEST

/* ---- validating ---- */

START_TEST(refuses_a_sample_that_was_seen) {
    prepare("constant");
    self.config->profiles[0].min_ready = 2;
    start();
    loop_until(&self.loop, self.pool->fill_failures_total == 1);
    ck_assert_ptr_nonnull(strstr(self.pool->diagnosis, "that of another interpreter"));
    loop_until(&self.loop, self.pool->health.state == HEALTH_UNHEALTHY);
    ck_assert_uint_eq(self.n_ready, 1);
    tear_down();
}
END_TEST

START_TEST(remembers_samples_of_interpreters_that_are_gone) {
    set_up("constant ready constant ready");
    loop_until(&self.loop, pool_ready(self.pool));
    ck_assert_uint_eq(pool_ready(self.pool)->hash_sample, STUB_SAMPLE);
    Job *job = run("pass");
    loop_until(&self.loop, self.n_results == 1 && pool_ready(self.pool));
    Job *next = run("pass");
    loop_until(&self.loop, self.n_results == 2 && pool_ready(self.pool));
    ck_assert_uint_eq(self.pool->fill_failures_total, 1);
    ck_assert_uint_ne(pool_ready(self.pool)->hash_sample, STUB_SAMPLE);
    job_free(job);
    job_free(next);
    tear_down();
}
END_TEST

START_TEST(refuses_hashing_that_is_not_random) {
    set_up("not-random ready");
    loop_until(&self.loop, pool_ready(self.pool));
    ck_assert_uint_eq(self.pool->fill_failures_total, 1);
    ck_assert_str_eq(self.pool->diagnosis, "hash randomisation is off");
    ck_assert_str_eq(pool_ready(self.pool)->id, "e-2");
    tear_down();
}
END_TEST

/* ---- health ---- */

START_TEST(opens_after_so_many_failures_and_then_rests) {
    prepare("invalid");
    self.config->circuit_failures = 4;
    start();
    loop_until(&self.loop, self.n_health == 1);
    ck_assert_int_eq(self.healths[0], HEALTH_UNHEALTHY);
    ck_assert_uint_eq(self.pool->fill_failures_total, 4);
    ck_assert_str_eq(self.pool->diagnosis, "no such layer here");
    ck_assert_uint_gt(self.pool->health.retry_at_ms, clock_mono_ms());
    loop_until(&self.loop, list_empty(&self.pool->environments));
    loop_idle(&self.loop);
    ck_assert_uint_eq(self.next_number, 4); /* no attempt before its time */
    tear_down();
}
END_TEST

START_TEST(a_program_that_is_not_there_opens_it_too) {
    prepare("ready");
    set_text(&self.config->warden_path, "/nonexistent/tbwarden");
    start();
    loop_until(&self.loop, self.pool->health.state == HEALTH_UNHEALTHY);
    ck_assert_uint_eq(self.pool->fill_failures_total, self.config->circuit_failures);
    ck_assert_str_eq(self.pool->diagnosis,
                     "cannot start /nonexistent/tbwarden: No such file or directory");
    tear_down();
}
END_TEST

START_TEST(tries_again_when_the_time_has_come) {
    prepare("invalid invalid invalid invalid ready");
    self.config->circuit_backoff_min_ms = 10;
    self.config->circuit_backoff_max_ms = 20;
    start();
    loop_until(&self.loop, pool_ready(self.pool));
    ck_assert_int_eq(self.pool->health.state, HEALTH_RETESTING);
    ck_assert_uint_eq(self.n_health, 4);
    ck_assert_int_eq(self.healths[1], HEALTH_RETESTING);
    ck_assert_int_eq(self.healths[2], HEALTH_UNHEALTHY); /* one failure is enough while retesting */
    pool_note(self.pool, HEALTH_EVENT_TEST_PASSED, NULL);
    ck_assert(health_serves(&self.pool->health));
    tear_down();
}
END_TEST

START_TEST(an_open_circuit_leaves_what_runs_in_peace) {
    set_up("ready");
    loop_until(&self.loop, pool_ready(self.pool));
    Job *job = run("mute");
    pool_fill(self.pool);
    loop_until(&self.loop, pool_ready(self.pool));
    pool_note(self.pool, HEALTH_EVENT_TEST_FAILED, "the self-test failed");
    loop_until(&self.loop, pool_count(self.pool).ready + pool_count(self.pool).closing == 0);
    ck_assert_uint_eq(pool_count(self.pool).busy, 1);
    ck_assert_str_eq(self.pool->diagnosis, "the self-test failed");
    tear_down();
    job_free(job);
}
END_TEST

/* ---- a new config ---- */

START_TEST(a_changed_profile_starts_over) {
    set_up("ready");
    loop_until(&self.loop, pool_ready(self.pool));
    pool_note(self.pool, HEALTH_EVENT_TEST_PASSED, NULL);
    const unsigned epoch = self.pool->epoch;
    Config *config = make_stub_config(&self.places, "dribble");
    ck_assert_int_eq(pool_configure(self.pool, config, &config->profiles[0]), 0);
    config_unref(config);
    ck_assert_int_eq(self.pool->health.state, HEALTH_TESTING);
    ck_assert_uint_ne(self.pool->epoch, epoch);
    ck_assert_ptr_null(pool_ready(self.pool));
    loop_until(&self.loop, pool_ready(self.pool));
    ck_assert_str_eq(pool_ready(self.pool)->profile->interpreter, "dribble");
    tear_down();
}
END_TEST

START_TEST(an_equal_profile_goes_on) {
    set_up("ready");
    loop_until(&self.loop, pool_ready(self.pool));
    pool_note(self.pool, HEALTH_EVENT_TEST_PASSED, NULL);
    Config *config = make_stub_config(&self.places, "ready");
    config->circuit_failures = 17;
    ck_assert_int_eq(pool_configure(self.pool, config, &config->profiles[0]), 0);
    config_unref(config);
    ck_assert(health_serves(&self.pool->health));
    ck_assert_uint_eq(self.pool->health.policy.failures, 17);
    ck_assert_str_eq(pool_ready(self.pool)->id, "e-1");
    tear_down();
}
END_TEST

SUITE_MAIN_OR(warden_stub, "pool", keeps_min_ready, grows_with_the_jobs_that_wait_up_to_its_bound,
              replaces_what_was_used, what_a_job_may_have_done_is_the_owners_alone,
              an_environment_that_dies_while_it_waits_is_replaced, refuses_a_sample_that_was_seen,
              remembers_samples_of_interpreters_that_are_gone, refuses_hashing_that_is_not_random,
              opens_after_so_many_failures_and_then_rests, a_program_that_is_not_there_opens_it_too,
              tries_again_when_the_time_has_come, an_open_circuit_leaves_what_runs_in_peace,
              a_changed_profile_starts_over, an_equal_profile_goes_on)
