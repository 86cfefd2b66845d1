#include "broker/environment.h"

#include <string.h>

#include "base/cleanup.h"
#include "job_maker.h"
#include "loop.h"
#include "stub_config.h"
#include "suite.h"

static const MarkerKey key = {{1}};

/* One environment and what it reported. */
static struct {
    Loop loop;
    Places places;
    Config *config;
    struct event *children;
    Environment *environment;
    pid_t pid;
    unsigned n_reports[REPORT_GONE + 1];
    Facts *facts;
    Code code;
    char detail[256];
    char excerpt[256];
    bool dispatched;
    bool accepts;
    char left[128]; /* the directory that was left, or nothing */
    bool left_is_there;
} self;

static void on_report(Environment *environment, const EnvironmentReport *report, void *data) {
    ck_assert_ptr_eq(data, &self);
    self.n_reports[report->kind]++;
    switch (report->kind) {
    case REPORT_OBSERVED:
        if (self.accepts) environment_accept(environment);
        break;
    case REPORT_RECEIVED:
    case REPORT_SURVEYED:
        break;
    case REPORT_RESULT:
        self.facts = TAKE(*report->facts);
        break;
    case REPORT_FAULT:
        self.code = report->code;
        self.dispatched = report->dispatched;
        snprintf(self.detail, sizeof self.detail, "%s", report->detail);
        snprintf(self.excerpt, sizeof self.excerpt, "%s",
                 report->stderr_excerpt ? report->stderr_excerpt : "");
        break;
    case REPORT_GONE:
        if (report->left) {
            struct stat st;
            snprintf(self.left, sizeof self.left, "%s", report->left);
            self.left_is_there = stat(self.left, &st) == 0;
            ck_assert_int_eq(workdir_remove(self.left), 0);
        }
        self.environment = environment_free(environment);
        break;
    }
}

static void on_child(evutil_socket_t number, short what, void *data) {
    (void)number;
    (void)what;
    (void)data;
    ProcessExit exit;
    while (process_reap(&exit)) {
        ck_assert_int_eq(exit.pid, self.pid);
        ck_assert_ptr_nonnull(self.environment);
        environment_exited(self.environment, &exit);
    }
}

static const TextList no_layers;
static const RootPlan nothing;
static const EnvironmentPlan plan = {.layers = &no_layers, .root = &nothing};

static void set_up(const char *script) {
    log_setup("test", LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
    places_init(&self.places);
    self.config = make_stub_config(&self.places, script);
    self.accepts = true;
    loop_init(&self.loop);
    self.children = evsignal_new(self.loop.base, SIGCHLD, on_child, NULL);
    event_add(self.children, NULL);
    ck_assert_int_eq(environment_new(self.loop.base, self.config, &self.config->profiles[0], &plan,
                                     7, on_report, &self, &self.environment),
                     0);
    self.pid = self.environment->pid;
    ck_assert_str_eq(self.environment->id, "e-7");
    ck_assert_int_eq(self.environment->state, ENVIRONMENT_STARTING);
}

static void await_gone(void) {
    loop_until(&self.loop, self.n_reports[REPORT_GONE] > 0);
    loop_idle(&self.loop);
    ck_assert_uint_eq(self.n_reports[REPORT_GONE], 1);
}

static void tear_down(void) {
    if (self.environment) environment_close(self.environment);
    await_gone();
    facts_free(self.facts);
    event_free(self.children);
    loop_deinit(&self.loop);
    config_unref(self.config);
    places_expect_clean(&self.places);
    places_deinit(&self.places);
}

static void await_state(EnvironmentState state) {
    loop_until(&self.loop, self.environment && self.environment->state == state);
}

static Job *run(const char *code) {
    Job *job = make_job("uid:1001", "key");
    job->spec.code = (Blob){(uint8_t *)strdup(code), strlen(code)};
    const Limits *limits = &self.config->profiles[0].limits;
    ck_assert_int_eq(environment_run(self.environment, job, limits, &key), 0);
    ck_assert_int_eq(self.environment->state, ENVIRONMENT_BUSY);
    ck_assert_ptr_eq(self.environment->job, job);
    return job;
}

static void expect_fault(Code code, const char *detail) {
    ck_assert_uint_eq(self.n_reports[REPORT_FAULT], 1);
    ck_assert_str_eq(code_name(self.code), code_name(code));
    ck_assert_str_eq(self.detail, detail);
}

/* As if the deadline had come: nothing here waits for it. */
static void pass_deadline(void) {
    event_active(self.environment->deadline, EV_TIMEOUT, 0);
    event_base_loop(self.loop.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

/* ---- a life without faults ---- */

START_TEST(runs_one_job_and_is_gone) {
    set_up("ready");
    Job *early = make_job("uid:1001", "early");
    const Limits *limits = &self.config->profiles[0].limits;
    ck_assert_int_eq(environment_run(self.environment, early, limits, &key),
                     ENVIRONMENT_E_NOT_READY);
    await_state(ENVIRONMENT_READY);
    ck_assert_str_eq(self.environment->version, "3.11.2");
    ck_assert(self.environment->hash_randomized);
    ck_assert_uint_gt(self.environment->validated_ms, 0);
    ck_assert(text_list_contains(&self.environment->enforced, "rlimits"));
    const uint64_t sample = self.environment->hash_sample;
    Job *job = run("out:x");
    ck_assert_int_eq(environment_run(self.environment, early, limits, &key),
                     ENVIRONMENT_E_NOT_READY);
    await_gone();
    ck_assert_uint_eq(self.n_reports[REPORT_OBSERVED], 1);
    ck_assert_uint_eq(self.n_reports[REPORT_RECEIVED], 1);
    ck_assert_uint_eq(self.n_reports[REPORT_RESULT], 1);
    ck_assert_uint_eq(self.n_reports[REPORT_FAULT], 0);
    ck_assert_str_eq(self.facts->environment_id, "e-7");
    ck_assert_uint_eq(self.facts->hash_sample, sample);
    ck_assert_mem_eq(self.facts->out.head, "x", 1);
    ck_assert_str_eq(self.left, "");
    job_free(job);
    job_free(early);
    tear_down();
}
END_TEST

START_TEST(is_not_ready_before_it_is_accepted) {
    set_up("ready");
    self.accepts = false;
    await_state(ENVIRONMENT_OBSERVED);
    Job *job = make_job("uid:1001", "key");
    ck_assert_int_eq(environment_run(self.environment, job, &self.config->profiles[0].limits, &key),
                     ENVIRONMENT_E_NOT_READY);
    job_free(job);
    tear_down();
}
END_TEST

START_TEST(frames_may_come_byte_by_byte) {
    set_up("dribble");
    await_state(ENVIRONMENT_READY);
    ck_assert_str_eq(self.environment->version, "3.11.2");
    tear_down();
    ck_assert_uint_eq(self.n_reports[REPORT_FAULT], 0);
}
END_TEST

START_TEST(writes_down_what_it_is) {
    set_up("ready");
    await_state(ENVIRONMENT_READY);
    EnvironmentRecord record = {.interpreter = strdup("old")};
    ck_assert_int_eq(environment_record(self.environment, &record), 0);
    ck_assert_str_eq(record.id, "e-7");
    ck_assert_str_eq(record.interpreter, "ready");
    ck_assert_str_eq(record.version, "3.11.2");
    ck_assert_uint_eq(record.hash_sample, self.environment->hash_sample);
    ck_assert_uint_eq(record.enforced.n_items, 2);
    environment_record_deinit(&record);
    tear_down();
}
END_TEST

static void expect_closed(EnvironmentState state) {
    Job *job = NULL;
    self.accepts = state >= ENVIRONMENT_READY;
    if (state == ENVIRONMENT_BUSY) {
        await_state(ENVIRONMENT_READY);
        job = run("mute");
    }
    await_state(state);
    environment_close(self.environment);
    environment_close(self.environment);
    ck_assert_int_eq(self.environment->state, ENVIRONMENT_CLOSING);
    await_gone();
    ck_assert_uint_eq(self.n_reports[REPORT_FAULT], 0);
    ck_assert_uint_eq(self.n_reports[REPORT_RESULT], 0);
    job_free(job);
    tear_down();
}

START_TEST(a_starting_one_is_closed) {
    set_up("mute");
    expect_closed(ENVIRONMENT_STARTING);
}
END_TEST

START_TEST(an_observed_one_is_closed) {
    set_up("ready");
    expect_closed(ENVIRONMENT_OBSERVED);
}
END_TEST

START_TEST(a_ready_one_is_closed) {
    set_up("ready");
    expect_closed(ENVIRONMENT_READY);
}
END_TEST

START_TEST(a_busy_one_is_closed) {
    set_up("ready");
    expect_closed(ENVIRONMENT_BUSY);
}
END_TEST

/* ---- faults at the start ---- */

START_TEST(says_why_it_is_not_valid) {
    set_up("invalid");
    await_gone();
    expect_fault(CODE_LAYER_MISSING, "no such layer here");
    ck_assert_str_eq(self.excerpt, "Fatal Python error: no");
    ck_assert(!self.dispatched);
    tear_down();
}
END_TEST

START_TEST(faults_of_a_start_are_told_apart) {
    static const struct {
        const char *script;
        Code code;
        const char *detail;
    } rows[] = {
        {"lost", CODE_WARDEN_LOST, "the warden exited 7 without a word"},
        {"killed", CODE_WARDEN_LOST, "the warden was killed by SIGKILL"},
        {"garbage", CODE_CHANNEL_BROKEN, "the warden's message could not be read"},
        {"huge", CODE_CHANNEL_BROKEN, "the warden sent a frame over the bound"},
        {"ready-twice", CODE_CHANNEL_BROKEN, "the warden said ready twice"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(&self, 0, sizeof self);
        set_up(rows[i].script);
        await_gone();
        expect_fault(rows[i].code, rows[i].detail);
        tear_down(); /* also: a killed warden's directory was removed for it */
    }
}
END_TEST

START_TEST(a_result_without_a_job_is_a_fault) {
    set_up("ready");
    await_state(ENVIRONMENT_READY);
    Job *job = run("pass");
    self.environment->state = ENVIRONMENT_READY; /* as if none had been sent */
    await_gone();
    expect_fault(CODE_CHANNEL_BROKEN, "a result without a job");
    ck_assert_uint_eq(self.n_reports[REPORT_RESULT], 0);
    job_free(job);
    tear_down();
}
END_TEST

START_TEST(a_start_has_a_deadline) {
    set_up("mute");
    pass_deadline();
    expect_fault(CODE_WARDEN_LOST, "the warden did not answer within its deadline");
    ck_assert(!self.dispatched);
    await_gone();
    tear_down();
}
END_TEST

START_TEST(a_program_that_is_not_there_is_an_error) {
    places_init(&self.places);
    self.config = make_stub_config(&self.places, "ready");
    set_text(&self.config->warden_path, "/nonexistent/tbwarden");
    loop_init(&self.loop);
    ck_assert_int_eq(environment_new(self.loop.base, self.config, &self.config->profiles[0], &plan,
                                     1, on_report, &self, &self.environment),
                     -ENOENT);
    ck_assert_ptr_null(self.environment);
    ck_assert_uint_eq(self.config->n_refs, 1);
    loop_deinit(&self.loop);
    config_unref(self.config);
    places_deinit(&self.places);
}
END_TEST

/* ---- faults with a job ---- */

START_TEST(a_warden_that_dies_with_its_job_is_lost) {
    set_up("ready");
    await_state(ENVIRONMENT_READY);
    char directory[128];
    snprintf(directory, sizeof directory, "%s", self.environment->directory);
    Job *job = run("killed");
    await_gone();
    ck_assert_str_eq(self.left, directory);
    ck_assert(self.left_is_there); /* its removal is never waited for here */
    expect_fault(CODE_WARDEN_LOST, "the warden was killed by SIGKILL");
    ck_assert(self.dispatched);
    job_free(job);
    tear_down();
}
END_TEST

START_TEST(a_job_that_reached_nobody_is_said_so) {
    set_up("ready");
    await_state(ENVIRONMENT_READY);
    Job *job = run("undispatched");
    await_gone();
    expect_fault(CODE_WARDEN_LOST, "it had died before");
    ck_assert(!self.dispatched);
    job_free(job);
    tear_down();
}
END_TEST

START_TEST(a_run_has_a_deadline) {
    set_up("ready");
    await_state(ENVIRONMENT_READY);
    Job *job = run("mute");
    pass_deadline();
    expect_fault(CODE_WARDEN_LOST, "the warden did not answer within its deadline");
    ck_assert(self.dispatched);
    await_gone();
    job_free(job);
    tear_down();
}
END_TEST

START_TEST(a_second_result_is_not_taken) {
    set_up("ready");
    await_state(ENVIRONMENT_READY);
    Job *job = run("twice");
    await_gone();
    ck_assert_uint_eq(self.n_reports[REPORT_RESULT], 1);
    ck_assert_uint_eq(self.n_reports[REPORT_FAULT], 0);
    job_free(job);
    tear_down();
}
END_TEST

START_TEST(a_warden_that_clings_is_killed) {
    set_up("clings");
    loop_until(&self.loop, self.environment->channel_ended);
    pass_deadline();
    expect_fault(CODE_WARDEN_LOST, "the warden ended without a word");
    ck_assert_int_eq(self.environment->state, ENVIRONMENT_CLOSING);
    pass_deadline();
    await_gone();
    expect_fault(CODE_WARDEN_LOST, "the warden ended without a word");
    tear_down();
}
END_TEST

SUITE_MAIN_OR(warden_stub, "environment", runs_one_job_and_is_gone,
              is_not_ready_before_it_is_accepted, frames_may_come_byte_by_byte,
              writes_down_what_it_is, a_starting_one_is_closed, an_observed_one_is_closed,
              a_ready_one_is_closed, a_busy_one_is_closed, says_why_it_is_not_valid,
              faults_of_a_start_are_told_apart, a_result_without_a_job_is_a_fault,
              a_start_has_a_deadline, a_program_that_is_not_there_is_an_error,
              a_warden_that_dies_with_its_job_is_lost, a_job_that_reached_nobody_is_said_so,
              a_run_has_a_deadline, a_second_result_is_not_taken, a_warden_that_clings_is_killed)
