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
    unsigned n_left;
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

static void on_left(Pool *pool, const char *directory, void *data) {
    ck_assert_ptr_eq(data, &self);
    ck_assert_ptr_eq(pool, self.pool);
    self.n_left++;
    ck_assert_int_eq(workdir_remove(directory), 0);
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
    const PoolOwner owner = {
        .changed = on_changed,
        .reported = on_reported,
        .left = on_left,
        .data = &self,
        .no_cgroups = "a test has none",
    };
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
    loop_until(&self.loop, self.n_left == 1);
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

/* ---- survey ---- */

/* What an interpreter's survey found to be needed, as it comes back from a start. */
#define ROOT STUB_PATH_NEEDED, STUB_LINK_NEEDED, STUB_LINK_TARGET

static void want(Config *config, const char *required, const char *optional) {
    ck_assert_int_eq(text_list_append(&config->profiles[0].required_layers, required), 0);
    if (optional)
        ck_assert_int_eq(text_list_append(&config->profiles[0].optional_layers, optional), 0);
}

static void prepare_survey(const char *script) {
    prepare(script);
    want(self.config, "seccomp", "landlock");
}

/* How many surveys were made, by stubs that counted. */
static long n_surveys(void) {
    char path[128];
    struct stat st;
    snprintf(path, sizeof path, "%s/count-surveys", self.places.directory);
    return stat(path, &st) == 0 ? (long)st.st_size : 0;
}

static void expect_list(const TextList *list, size_t n, const char *const *expected) {
    ck_assert_uint_eq(list->n_items, n);
    for (size_t i = 0; i < n; i++) ck_assert_str_eq(list->items[i], expected[i]);
}

#define EXPECT_LIST(list, ...)                                                                     \
    do {                                                                                           \
        static const char *const expected_[] = {__VA_ARGS__};                                      \
        expect_list((list), sizeof expected_ / sizeof *expected_, expected_);                      \
    } while (0)

START_TEST(layers_of_every_system_need_no_survey) {
    set_up("echo");
    loop_until(&self.loop, pool_ready(self.pool));
    ck_assert_int_eq(n_surveys(), 0);
    ck_assert_str_eq(pool_ready(self.pool)->id, "e-1");
    EXPECT_LIST(&pool_ready(self.pool)->enforced, "session");
    tear_down();
}
END_TEST

START_TEST(one_environment_surveys_before_the_others_are_made) {
    prepare_survey("mute");
    self.config->profiles[0].min_ready = 3;
    start();
    loop_until(&self.loop, self.next_number > 0);
    pool_fill(self.pool);
    loop_idle(&self.loop);
    ck_assert_uint_eq(self.next_number, 1); /* none beside it */
    ck_assert_uint_eq(pool_count(self.pool).starting, 1);
    ck_assert(!self.pool->is_surveyed);
    tear_down();
}
END_TEST

START_TEST(all_layers_that_are_there_are_ordered) {
    prepare_survey("all echo");
    self.config->profiles[0].min_ready = 3;
    start();
    loop_until(&self.loop, pool_count(self.pool).ready == 3);
    ck_assert_int_eq(n_surveys(), 1);
    ck_assert_uint_eq(self.next_number, 4);
    ck_assert_uint_eq(self.n_ready, 3); /* the surveying one was never offered */
    list_each(link, &self.pool->environments) {
        const Environment *environment = list_entry(link, Environment, pool_link);
        if (environment->state == ENVIRONMENT_READY)
            EXPECT_LIST(&environment->enforced, "session", "seccomp", "landlock", ROOT);
    }
    ck_assert_uint_eq(self.pool->survey.missing.n_items, 0);
    ck_assert_uint_eq(self.pool->fill_failures_total, 0);
    tear_down();
}
END_TEST

START_TEST(a_missing_optional_layer_is_done_without) {
    prepare_survey("no-landlock echo");
    start();
    loop_until(&self.loop, pool_ready(self.pool));
    ck_assert_int_eq(n_surveys(), 1);
    EXPECT_LIST(&pool_ready(self.pool)->enforced, "session", "seccomp", ROOT);
    EXPECT_LIST(&self.pool->survey.missing, "landlock");
    EXPECT_LIST(&self.pool->survey.reasons, "this kernel has none");
    ck_assert_uint_eq(self.pool->fill_failures_total, 0);
    ck_assert_ptr_null(self.pool->diagnosis);
    tear_down();
}
END_TEST

START_TEST(a_missing_layer_that_nobody_wants_is_not_mentioned) {
    prepare_survey("no-uts_namespace echo");
    start();
    loop_until(&self.loop, pool_ready(self.pool));
    EXPECT_LIST(&pool_ready(self.pool)->enforced, "session", "seccomp", "landlock", ROOT);
    ck_assert_uint_eq(self.pool->survey.missing.n_items, 0);
    tear_down();
}
END_TEST

START_TEST(a_missing_required_layer_opens_the_circuit) {
    prepare_survey("no-seccomp");
    start();
    loop_until(&self.loop, self.pool->health.state == HEALTH_UNHEALTHY);
    ck_assert_int_eq(self.pool->refusal, CODE_LAYER_MISSING);
    ck_assert_str_eq(self.pool->diagnosis,
                     "the required layer seccomp cannot be had: this kernel has none");
    ck_assert_int_eq(n_surveys(), self.config->circuit_failures);
    ck_assert_uint_eq(self.pool->fill_failures_total, self.config->circuit_failures);
    ck_assert(!self.pool->is_surveyed);
    loop_until(&self.loop, list_empty(&self.pool->environments));
    loop_idle(&self.loop);
    ck_assert_uint_eq(self.next_number, self.config->circuit_failures);
    ck_assert_uint_eq(self.n_ready, 0);
    tear_down();
}
END_TEST

START_TEST(a_retry_surveys_anew) {
    prepare_survey("no-seccomp no-seccomp no-seccomp no-landlock echo");
    self.config->circuit_backoff_min_ms = self.config->circuit_backoff_max_ms = 10;
    start();
    loop_until(&self.loop, pool_ready(self.pool));
    ck_assert_int_eq(n_surveys(), 4);
    ck_assert_int_eq(self.healths[0], HEALTH_UNHEALTHY);
    ck_assert_int_eq(self.pool->health.state, HEALTH_RETESTING);
    EXPECT_LIST(&pool_ready(self.pool)->enforced, "session", "seccomp", ROOT);
    EXPECT_LIST(&self.pool->survey.missing, "landlock");
    tear_down();
}
END_TEST

/* It may have been found out under other circumstances. */
START_TEST(a_retry_surveys_anew_whatever_failed) {
    prepare_survey("all invalid invalid invalid all echo");
    self.config->circuit_backoff_min_ms = self.config->circuit_backoff_max_ms = 10;
    start();
    loop_until(&self.loop, pool_ready(self.pool));
    ck_assert_int_eq(n_surveys(), 2);
    ck_assert_uint_eq(self.pool->fill_failures_total, 3);
    ck_assert_int_eq(self.healths[0], HEALTH_UNHEALTHY);
    tear_down();
}
END_TEST

START_TEST(a_survey_that_fails_is_a_failure_like_any_other) {
    prepare_survey("invalid lost all echo");
    start();
    loop_until(&self.loop, pool_ready(self.pool));
    ck_assert_int_eq(n_surveys(), 2); /* the lost one counted nothing */
    ck_assert_uint_eq(self.pool->fill_failures_total, 2);
    ck_assert_int_eq(self.pool->refusal, CODE_PROFILE_UNHEALTHY);
    tear_down();
}
END_TEST

START_TEST(a_daemon_without_control_groups_has_none_for_a_profile) {
    prepare("all echo");
    want(self.config, "seccomp", "cgroup");
    start();
    loop_until(&self.loop, pool_ready(self.pool));
    EXPECT_LIST(&pool_ready(self.pool)->enforced, "session", "seccomp", ROOT);
    EXPECT_LIST(&self.pool->survey.missing, "cgroup");
    EXPECT_LIST(&self.pool->survey.reasons, "a test has none");
    tear_down();
}
END_TEST

START_TEST(required_control_groups_that_are_missing_open_the_circuit) {
    prepare("all");
    want(self.config, "cgroup", NULL);
    start();
    loop_until(&self.loop, self.pool->health.state == HEALTH_UNHEALTHY);
    ck_assert_int_eq(self.pool->refusal, CODE_LAYER_MISSING);
    ck_assert_str_eq(self.pool->diagnosis,
                     "the required layer cgroup cannot be had: a test has none");
    tear_down();
}
END_TEST

START_TEST(readiness_is_no_answer_to_a_survey) {
    prepare_survey("says-ready");
    start();
    loop_until(&self.loop, self.pool->fill_failures_total > 0 || self.n_ready > 0);
    ck_assert_uint_eq(self.n_ready, 0);
    ck_assert_ptr_null(pool_ready(self.pool));
    tear_down();
}
END_TEST

START_TEST(a_survey_is_no_answer_of_an_environment) {
    prepare_survey("all surveys");
    start();
    loop_until(&self.loop, self.pool->fill_failures_total > 0 || self.next_number > 4);
    ck_assert_uint_gt(self.pool->fill_failures_total, 0);
    tear_down();
}
END_TEST

/* ---- a new config ---- */

static void take_up(Config *config) {
    ck_assert_int_eq(pool_configure(self.pool, config, &config->profiles[0]), 0);
    config_unref(config);
}

START_TEST(a_changed_profile_is_surveyed_anew) {
    prepare_survey("no-landlock echo");
    start();
    loop_until(&self.loop, pool_ready(self.pool));
    Config *config = make_stub_config(&self.places, "all echo");
    want(config, "seccomp", "landlock");
    take_up(config);
    ck_assert(!self.pool->is_surveyed);
    loop_until(&self.loop, pool_ready(self.pool));
    ck_assert_int_eq(n_surveys(), 2);
    EXPECT_LIST(&pool_ready(self.pool)->enforced, "session", "seccomp", "landlock", ROOT);
    ck_assert_uint_eq(self.pool->survey.missing.n_items, 0);
    tear_down();
}
END_TEST

START_TEST(a_changed_profile_may_need_no_survey_any_more) {
    prepare_survey("no-seccomp");
    start();
    loop_until(&self.loop, self.pool->health.state == HEALTH_UNHEALTHY);
    take_up(make_stub_config(&self.places, "echo"));
    ck_assert(self.pool->is_surveyed);
    EXPECT_LIST(&self.pool->layers, "session");
    loop_until(&self.loop, pool_ready(self.pool));
    ck_assert_int_eq(n_surveys(), self.config->circuit_failures);
    tear_down();
}
END_TEST

START_TEST(an_equal_profile_keeps_its_survey) {
    prepare_survey("no-landlock echo");
    start();
    loop_until(&self.loop, pool_ready(self.pool));
    Config *config = make_stub_config(&self.places, "no-landlock echo");
    want(config, "seccomp", "landlock");
    take_up(config);
    ck_assert(self.pool->is_surveyed);
    Job *job = run("pass");
    loop_until(&self.loop, self.n_results == 1 && pool_ready(self.pool));
    ck_assert_int_eq(n_surveys(), 1);
    EXPECT_LIST(&pool_ready(self.pool)->enforced, "session", "seccomp", ROOT);
    job_free(job);
    tear_down();
}
END_TEST

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
              readiness_is_no_answer_to_a_survey, a_survey_is_no_answer_of_an_environment,
              layers_of_every_system_need_no_survey,
              one_environment_surveys_before_the_others_are_made,
              all_layers_that_are_there_are_ordered, a_missing_optional_layer_is_done_without,
              a_missing_layer_that_nobody_wants_is_not_mentioned,
              a_missing_required_layer_opens_the_circuit, a_retry_surveys_anew,
              a_retry_surveys_anew_whatever_failed, a_survey_that_fails_is_a_failure_like_any_other,
              a_daemon_without_control_groups_has_none_for_a_profile,
              required_control_groups_that_are_missing_open_the_circuit,
              a_changed_profile_is_surveyed_anew, a_changed_profile_may_need_no_survey_any_more,
              an_equal_profile_keeps_its_survey, a_changed_profile_starts_over,
              an_equal_profile_goes_on)
