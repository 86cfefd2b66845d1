/* Bench: a scheduler with stub wardens on a loop of its own, and a count of what it told its owner.
 */
#pragma once

#include "broker/doctor.h"
#include "broker/scheduler.h"
#include "job_maker.h"
#include "loop.h"
#include "stub_config.h"

enum { BENCH_MAX_JOBS = 64 };

typedef struct Bench {
    Loop loop;
    Places places;
    Config *config;
    Scheduler own_scheduler;
    Scheduler *scheduler; /* its own, or one of the test's */
    struct event *children;
    bool self_test; /* a profile is tested before it serves */
    unsigned n_changes;
    unsigned n_verdicts;
    unsigned n_idle;
    char running_order[BENCH_MAX_JOBS][JOB_ID_BYTES];
    unsigned n_running;
    void (*job_changed)(Job *job); /* optional */
} Bench;

static inline void bench_on_job_changed(Job *job, void *data) {
    Bench *bench = data;
    bench->n_changes++;
    if (job->state == JOB_FINISHED) {
        ck_assert_ptr_nonnull(job->verdict);
        bench->n_verdicts++;
    }
    if (job->state == JOB_RUNNING && bench->n_running < BENCH_MAX_JOBS)
        snprintf(bench->running_order[bench->n_running++], JOB_ID_BYTES, "%s", job->id);
    if (bench->job_changed) bench->job_changed(job);
}

/* What the daemon does with a profile that has an environment to be tested with. */
static inline void bench_on_pool_changed(Pool *pool, PoolEvent event, void *data) {
    Bench *bench = data;
    const HealthState state = pool->health.state;
    if (event != POOL_READY || pool->doctor) return;
    if (state != HEALTH_TESTING && state != HEALTH_RETESTING) return;
    if (bench->self_test)
        ck_assert_int_eq(doctor_start(bench->scheduler, pool), 0);
    else
        pool_note(pool, HEALTH_EVENT_TEST_PASSED, NULL);
}

static inline void bench_on_idle(void *data) {
    Bench *bench = data;
    bench->n_idle++;
}

static inline void bench_on_left(const char *directory, void *data) {
    (void)data;
    ck_assert_int_eq(workdir_remove(directory), 0);
}

static inline void bench_on_child(evutil_socket_t number, short what, void *data) {
    (void)number;
    (void)what;
    Bench *bench = data;
    ProcessExit exit;
    while (process_reap(&exit)) scheduler_exited(bench->scheduler, &exit);
}

/* Places and config only; the test may change the config before bench_start. */
static inline void bench_prepare(Bench *bench, const char *script) {
    log_setup("test", LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
    *bench = (Bench){0};
    bench->scheduler = &bench->own_scheduler;
    places_init(&bench->places);
    bench->config = make_stub_config(&bench->places, script);
}

static inline void bench_start(Bench *bench) {
    const MarkerKey key = {{1}};
    const SchedulerOwner owner = {
        .job_changed = bench_on_job_changed,
        .pool_changed = bench_on_pool_changed,
        .idle = bench_on_idle,
        .left = bench_on_left,
        .data = bench,
        .no_cgroups = "a test has no control groups",
    };
    loop_init(&bench->loop);
    bench->children = evsignal_new(bench->loop.base, SIGCHLD, bench_on_child, bench);
    event_add(bench->children, NULL);
    ck_assert_int_eq(scheduler_init(bench->scheduler, bench->loop.base, bench->config, &key, owner),
                     0);
}

static inline void bench_init(Bench *bench, const char *script) {
    bench_prepare(bench, script);
    bench_start(bench);
}

/* Ends everything and checks that nothing is left of it. */
static inline void bench_deinit(Bench *bench) {
    scheduler_end_all(bench->scheduler, CODE_SHUTTING_DOWN, "the test is over");
    scheduler_abort(bench->scheduler);
    loop_until(&bench->loop, scheduler_n_environments(bench->scheduler) == 0);
    ck_assert_uint_eq(bench->scheduler->n_queued, 0);
    ck_assert_uint_eq(bench->scheduler->n_running, 0);
    ck_assert_uint_eq(bench->scheduler->payload_bytes, 0);
    ck_assert(list_empty(&bench->scheduler->accounts));
    scheduler_deinit(bench->scheduler);
    event_free(bench->children);
    loop_deinit(&bench->loop);
    config_unref(bench->config);
    places_expect_clean(&bench->places);
    places_deinit(&bench->places);
}

static inline Pool *bench_pool(const Bench *bench) {
    Pool *pool = scheduler_pool(bench->scheduler, "stdlib");
    ck_assert_ptr_nonnull(pool);
    return pool;
}

static inline void bench_await_ready(Bench *bench) {
    loop_until(&bench->loop,
               pool_ready(bench_pool(bench)) && health_serves(&bench_pool(bench)->health));
}

static inline JobSpec make_spec(const char *key, const char *code) {
    JobSpec spec = {.repeats = 1};
    spec.idempotency_key = strdup(key);
    spec.file_name = strdup("generated.py");
    spec.profile = strdup("stdlib");
    spec.code.bytes = (uint8_t *)strdup(code);
    spec.code.n_bytes = strlen(code);
    return spec;
}

static inline Job *bench_submit_spec(Bench *bench, JobSpec *spec, const char *peer) {
    Job *job = NULL;
    bool known = true;
    Refusal refusal = {0};
    const int r = scheduler_submit(bench->scheduler, spec, peer, &job, &known, &refusal);
    ck_assert_msg(r == 0, "refused: %s", refusal.message);
    ck_assert(!known);
    return job;
}

/* `key` also names the job; `code` is a script of the stub. */
static inline Job *bench_submit(Bench *bench, const char *key, const char *code) {
    JobSpec spec = make_spec(key, code);
    return bench_submit_spec(bench, &spec, "uid:1001");
}

static inline void bench_refuse(Bench *bench, JobSpec *spec, RefusalCode code, const char *part) {
    Job *job = NULL;
    bool known;
    Refusal refusal;
    ck_assert_int_eq(scheduler_submit(bench->scheduler, spec, "uid:1001", &job, &known, &refusal),
                     SCHEDULER_E_REFUSED);
    ck_assert_int_eq(refusal.code, code);
    ck_assert_msg(strstr(refusal.message, part), "'%s' lacks '%s'", refusal.message, part);
    ck_assert_ptr_nonnull(spec->idempotency_key);
    job_spec_deinit(spec);
}

static inline void bench_await(Bench *bench, const Job *job) {
    loop_until(&bench->loop, job->state == JOB_FINISHED);
}

static inline void expect_infrastructure(const Job *job, Code code, const char *part) {
    ck_assert_ptr_nonnull(job->verdict);
    ck_assert_int_eq(job->verdict->kind, VERDICT_INFRASTRUCTURE_FAILURE);
    ck_assert_uint_eq(job->verdict->failures.n_items, 1);
    const Failure *failure = &job->verdict->failures.items[0];
    ck_assert_str_eq(code_name(failure->code), code_name(code));
    ck_assert_msg(strstr(failure->message, part), "'%s' lacks '%s'", failure->message, part);
}

static inline void expect_failed(const Job *job, Code code) {
    ck_assert_ptr_nonnull(job->verdict);
    ck_assert_int_eq(job->verdict->kind, VERDICT_FAILED);
    ck_assert_uint_ge(job->verdict->failures.n_items, 1);
    ck_assert_str_eq(code_name(job->verdict->failures.items[0].code), code_name(code));
}

static inline void expect_passed(const Job *job) {
    ck_assert_ptr_nonnull(job->verdict);
    ck_assert_msg(job->verdict->kind == VERDICT_PASSED, "%s",
                  job->verdict->failures.n_items ? job->verdict->failures.items[0].message : "");
}
