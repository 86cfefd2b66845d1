#include "broker/scheduler.h"

#include "bench.h"
#include "suite.h"

static Bench bench;

/* ---- verdicts ---- */

START_TEST(a_job_gets_exactly_one_verdict) {
    bench_init(&bench, "ready");
    Job *job = bench_submit(&bench, "key", "out:hello");
    bench_await(&bench, job);
    loop_idle(&bench.loop);
    expect_passed(job);
    ck_assert_uint_eq(bench.n_verdicts, 1);
    ck_assert_uint_eq(bench.n_changes, 2); /* running, finished */
    ck_assert_uint_eq(job->verdict->attempts, 1);
    ck_assert(job->verdict->child_started);
    ck_assert_mem_eq(job->verdict->facts->out.head, "hello", 5);
    ck_assert_str_eq(job->record.version, "3.11.2");
    ck_assert_str_eq(job->verdict->facts->environment_id, job->record.id);
    ck_assert_uint_eq(bench.scheduler->totals.accepted, 1);
    ck_assert_uint_eq(bench.scheduler->totals.passed, 1);
    ck_assert_uint_eq(bench.n_idle, 1);
    ck_assert_ptr_null(job->spec.code.bytes); /* nothing of the payload stays */
    bench_deinit(&bench);
}
END_TEST

START_TEST(what_was_seen_becomes_the_verdict) {
    static const struct {
        const char *code;
        Code failure;
    } rows[] = {
        {"exit:3", CODE_EXITED},
        {"timeout", CODE_TIMEOUT},
        {"does-not-parse", CODE_DOES_NOT_PARSE},
        {"ends-early", CODE_ENDED_EARLY},
        {"leaks-canary", CODE_CANARY_LEAK},
    };
    enum { N = sizeof rows / sizeof *rows };
    bench_init(&bench, "ready");
    Job *jobs[N];
    for (unsigned i = 0; i < N; i++) jobs[i] = bench_submit(&bench, rows[i].code, rows[i].code);
    for (unsigned i = 0; i < N; i++) {
        bench_await(&bench, jobs[i]);
        expect_failed(jobs[i], rows[i].failure);
        ck_assert_uint_eq(jobs[i]->verdict->attempts, 1);
    }
    ck_assert_uint_eq(bench.n_verdicts, N);
    ck_assert_uint_eq(bench.scheduler->totals.failed, N);
    bench_deinit(&bench);
}
END_TEST

START_TEST(infrastructure_is_never_tried_again) {
    static const struct {
        const char *code;
        Code failure;
        const char *part;
    } rows[] = {
        {"lost", CODE_WARDEN_LOST, "exited 7 without a word"},
        {"killed", CODE_WARDEN_LOST, "killed by SIGKILL"},
        {"garbage", CODE_CHANNEL_BROKEN, "could not be read"},
        {"huge", CODE_CHANNEL_BROKEN, "over the bound"},
        {"died", CODE_WARDEN_LOST, "had died before"},
        {"fault", CODE_STAGING_FAILED, ""},
        {"never-received", CODE_CHILD_NEVER_STARTED, "exited 1 before its start marker"},
    };
    enum { N = sizeof rows / sizeof *rows };
    bench_prepare(&bench, "ready");
    bench.config->circuit_failures = 100;
    bench_start(&bench);
    for (unsigned i = 0; i < N; i++) {
        Job *job = bench_submit(&bench, rows[i].code, rows[i].code);
        bench_await(&bench, job);
        expect_infrastructure(job, rows[i].failure, rows[i].part);
        ck_assert_uint_eq(job->verdict->attempts, 1);
    }
    loop_idle(&bench.loop);
    ck_assert_uint_eq(bench.n_verdicts, N);
    ck_assert_uint_eq(bench.n_running, N);
    ck_assert_uint_eq(bench.scheduler->totals.infrastructure, N);
    bench_deinit(&bench);
}
END_TEST

START_TEST(a_second_result_changes_nothing) {
    bench_init(&bench, "ready");
    Job *job = bench_submit(&bench, "key", "twice");
    bench_await(&bench, job);
    loop_idle(&bench.loop);
    expect_passed(job);
    ck_assert_uint_eq(bench.n_verdicts, 1);
    bench_deinit(&bench);
}
END_TEST

/* ---- running again ---- */

START_TEST(a_native_crash_runs_once_more_elsewhere) {
    bench_init(&bench, "ready");
    Job *job = bench_submit(&bench, "key", "crash pass");
    bench_await(&bench, job);
    expect_passed(job);
    const Verdict *verdict = job->verdict;
    ck_assert_uint_eq(verdict->attempts, 2);
    ck_assert_uint_eq(verdict->n_native_crashes, 1);
    ck_assert_uint_eq(verdict->native_crashes[0].attempt, 1);
    ck_assert_int_eq(verdict->native_crashes[0].signal, STUB_SIGNAL);
    ck_assert_str_eq(verdict->native_crashes[0].excerpt, "Fatal Python error: Aborted");
    ck_assert_str_ne(verdict->native_crashes[0].environment_id, job->record.id);
    ck_assert_uint_eq(bench.n_verdicts, 1);
    bench_deinit(&bench);
}
END_TEST

START_TEST(a_second_native_crash_is_the_verdict) {
    bench_init(&bench, "ready");
    Job *job = bench_submit(&bench, "key", "crash");
    bench_await(&bench, job);
    expect_failed(job, CODE_CRASHED);
    const Verdict *verdict = job->verdict;
    ck_assert_uint_eq(verdict->attempts, 2);
    ck_assert_uint_eq(verdict->n_native_crashes, 2);
    ck_assert_uint_eq(verdict->native_crashes[1].attempt, 2);
    ck_assert_str_ne(verdict->native_crashes[0].environment_id,
                     verdict->native_crashes[1].environment_id);
    ck_assert_uint_eq(bench.n_verdicts, 1);
    bench_deinit(&bench);
}
END_TEST

START_TEST(a_crash_then_a_fault_is_infrastructure) {
    bench_init(&bench, "ready");
    Job *job = bench_submit(&bench, "key", "crash lost pass");
    bench_await(&bench, job);
    expect_infrastructure(job, CODE_WARDEN_LOST, "exited 7");
    ck_assert_uint_eq(job->verdict->attempts, 2);
    bench_deinit(&bench);
}
END_TEST

START_TEST(an_environment_that_was_dead_before_costs_no_attempt) {
    bench_prepare(&bench, "ready");
    bench.config->circuit_failures = 100;
    bench_start(&bench);
    Job *job = bench_submit(&bench, "key", "undispatched undispatched undispatched pass");
    bench_await(&bench, job);
    expect_passed(job);
    ck_assert_uint_eq(job->verdict->attempts, 1);
    ck_assert_uint_eq(bench.n_running, 4);
    job = bench_submit(&bench, "bad", "undispatched");
    bench_await(&bench, job);
    expect_infrastructure(job, CODE_WARDEN_LOST, "had died before");
    ck_assert_uint_eq(job->verdict->attempts, 1);
    ck_assert_uint_eq(bench.n_running, 8); /* three times more, then never again */
    bench_deinit(&bench);
}
END_TEST

/* ---- repeats ---- */

static Job *submit_repeats(const char *code, unsigned repeats) {
    JobSpec spec = make_spec("key", code);
    spec.repeats = repeats;
    return bench_submit_spec(&bench, &spec, "uid:1001");
}

START_TEST(equal_repeats_pass) {
    bench_init(&bench, "ready");
    Job *job = submit_repeats("out:same", 3);
    bench_await(&bench, job);
    expect_passed(job);
    ck_assert_uint_eq(job->verdict->attempts, 3);
    ck_assert_uint_eq(bench.n_verdicts, 1);
    bench_deinit(&bench);
}
END_TEST

START_TEST(repeats_that_differ_fail) {
    bench_init(&bench, "ready");
    Job *job = submit_repeats("out:a out:a out:b", 3);
    bench_await(&bench, job);
    expect_failed(job, CODE_NONDETERMINISTIC);
    ck_assert_str_eq(job->verdict->failures.items[0].subject, "stdout");
    ck_assert_uint_eq(job->verdict->attempts, 3);
    bench_deinit(&bench);
}
END_TEST

START_TEST(the_first_run_that_fails_is_the_verdict) {
    bench_init(&bench, "ready");
    Job *job = submit_repeats("out:a exit:2 exit:3", 3);
    bench_await(&bench, job);
    expect_failed(job, CODE_EXITED);
    ck_assert_int_eq(job->verdict->facts->exit_code, 2);
    ck_assert_uint_eq(job->verdict->attempts, 3);
    ck_assert_uint_eq(job->verdict->failures.n_items, 3);
    ck_assert_int_eq(job->verdict->failures.items[1].code, CODE_NONDETERMINISTIC);
    ck_assert_str_eq(job->verdict->failures.items[1].subject, "exit");
    ck_assert_str_eq(job->verdict->failures.items[2].subject, "stdout");
    ck_assert_uint_eq(bench.n_verdicts, 1);
    ck_assert_ptr_null(job->first_run); /* what the runs were compared by is not kept */
    ck_assert_ptr_null(job->kept);
    bench_deinit(&bench);
}
END_TEST

START_TEST(every_repeat_may_crash_once) {
    bench_init(&bench, "ready");
    Job *job = submit_repeats("crash out:a crash out:a", 2);
    bench_await(&bench, job);
    expect_passed(job);
    ck_assert_uint_eq(job->verdict->attempts, 4);
    ck_assert_uint_eq(job->verdict->n_native_crashes, 2);
    ck_assert_uint_eq(job->verdict->native_crashes[0].attempt, 1);
    ck_assert_uint_eq(job->verdict->native_crashes[1].attempt, 3);
    bench_deinit(&bench);
}
END_TEST

START_TEST(a_repeat_that_crashes_twice_has_failed) {
    bench_init(&bench, "ready");
    Job *job = submit_repeats("out:a crash crash", 2);
    bench_await(&bench, job);
    expect_failed(job, CODE_CRASHED);
    ck_assert_uint_eq(job->verdict->attempts, 3);
    ck_assert_uint_eq(job->verdict->n_native_crashes, 2);
    bench_deinit(&bench);
}
END_TEST

START_TEST(nothing_follows_from_repeats_that_broke_off) {
    bench_init(&bench, "ready");
    Job *job = submit_repeats("exit:1 lost", 3);
    bench_await(&bench, job);
    expect_infrastructure(job, CODE_WARDEN_LOST, "exited 7");
    ck_assert_uint_eq(job->verdict->attempts, 2);
    ck_assert_uint_eq(bench.n_verdicts, 1);
    bench_deinit(&bench);
}
END_TEST

START_TEST(what_is_refused_is_not_repeated) {
    bench_init(&bench, "ready");
    Job *job = submit_repeats("does-not-parse", 5);
    bench_await(&bench, job);
    expect_failed(job, CODE_DOES_NOT_PARSE);
    ck_assert_uint_eq(job->verdict->attempts, 1);
    bench_deinit(&bench);
}
END_TEST

/* ---- bounds ---- */

START_TEST(the_queue_has_a_bound) {
    bench_prepare(&bench, "mute");
    bench.config->queue_max_jobs = 2;
    bench_start(&bench);
    bench_submit(&bench, "a", "pass");
    bench_submit(&bench, "b", "pass");
    JobSpec spec = make_spec("c", "pass");
    bench_refuse(&bench, &spec, REFUSE_RESOURCE_EXHAUSTED, "queue is full");
    ck_assert_uint_eq(bench.scheduler->totals.refused, 1);
    ck_assert_uint_eq(bench.scheduler->totals.accepted, 2);
    bench_deinit(&bench);
    ck_assert_uint_eq(bench.n_verdicts, 2);
}
END_TEST

START_TEST(a_peer_has_a_bound_of_its_own) {
    bench_prepare(&bench, "mute");
    bench.config->queue_max_jobs_per_peer = 2;
    bench_start(&bench);
    Job *first = bench_submit(&bench, "a", "pass");
    bench_submit(&bench, "b", "pass");
    JobSpec spec = make_spec("c", "pass");
    bench_refuse(&bench, &spec, REFUSE_RESOURCE_EXHAUSTED, "jobs of yours");
    spec = make_spec("c", "pass");
    bench_submit_spec(&bench, &spec, "uid:1002");
    scheduler_end(bench.scheduler, first, CODE_CANCELLED, "cancelled");
    bench_submit(&bench, "c", "pass"); /* one of its jobs has a verdict: there is room again */
    bench_deinit(&bench);
}
END_TEST

START_TEST(bytes_have_a_bound) {
    bench_prepare(&bench, "mute");
    bench.config->queue_max_bytes = 10;
    bench_start(&bench);
    JobSpec spec = make_spec("big", "12345678901");
    bench_refuse(&bench, &spec, REFUSE_INVALID_ARGUMENT, "11 bytes");
    Job *job = bench_submit(&bench, "a", "123456");
    spec = make_spec("b", "12345");
    bench_refuse(&bench, &spec, REFUSE_RESOURCE_EXHAUSTED, "hold 6 bytes");
    scheduler_end(bench.scheduler, job, CODE_CANCELLED, "cancelled");
    bench_submit(&bench, "b", "12345");
    bench_deinit(&bench);
}
END_TEST

START_TEST(limits_are_bounded_by_the_profile) {
    bench_init(&bench, "ready");
    JobSpec spec = make_spec("a", "pass");
    spec.limits.wall_ms = bench.config->profiles[0].limits.wall_ms + 1;
    bench_refuse(&bench, &spec, REFUSE_INVALID_ARGUMENT, "limit wall_ms");
    spec = make_spec("a", "pass");
    spec.limits.open_files = bench.config->profiles[0].limits.open_files + 1;
    bench_refuse(&bench, &spec, REFUSE_INVALID_ARGUMENT, "limit open_files");
    spec = make_spec("a", "pass");
    set_text(&spec.profile, "none");
    bench_refuse(&bench, &spec, REFUSE_INVALID_ARGUMENT, "no profile 'none'");
    bench_deinit(&bench);
}
END_TEST

START_TEST(a_key_names_one_job_of_its_peer) {
    bench_init(&bench, "ready");
    Job *job = bench_submit(&bench, "key", "pass");
    for (int i = 0; i < 2; i++) {
        JobSpec spec = make_spec("key", "exit:1");
        Job *again = NULL;
        bool known = false;
        Refusal refusal;
        ck_assert_int_eq(
            scheduler_submit(bench.scheduler, &spec, "uid:1001", &again, &known, &refusal), 0);
        ck_assert_ptr_eq(again, job);
        ck_assert(known);
        ck_assert_ptr_null(spec.idempotency_key);
        bench_await(&bench, job);
    }
    JobSpec spec = make_spec("key", "exit:1");
    Job *other = bench_submit_spec(&bench, &spec, "uid:1002");
    ck_assert_ptr_ne(other, job);
    bench_await(&bench, other);
    expect_passed(job);
    expect_failed(other, CODE_EXITED);
    ck_assert_uint_eq(bench.scheduler->totals.accepted, 2);
    bench_deinit(&bench);
}
END_TEST

START_TEST(draining_accepts_nothing_and_finishes_the_rest) {
    bench_init(&bench, "ready");
    Job *job = bench_submit(&bench, "a", "pass");
    scheduler_drain(bench.scheduler, true);
    ck_assert_uint_eq(bench.n_idle, 0);
    JobSpec spec = make_spec("b", "pass");
    bench_refuse(&bench, &spec, REFUSE_UNAVAILABLE, "draining");
    bench_await(&bench, job);
    expect_passed(job);
    ck_assert_uint_eq(bench.n_idle, 1);
    scheduler_drain(bench.scheduler, false);
    bench_await(&bench, bench_submit(&bench, "b", "pass"));
    bench_deinit(&bench);
}
END_TEST

START_TEST(draining_an_idle_daemon_says_so) {
    bench_init(&bench, "ready");
    scheduler_drain(bench.scheduler, true);
    ck_assert_uint_eq(bench.n_idle, 1);
    bench_deinit(&bench);
}
END_TEST

/* ---- order ---- */

START_TEST(a_flood_does_not_hold_up_another_peer) {
    bench_prepare(&bench, "ready");
    bench.config->profiles[0].max_environments = 1;
    bench_start(&bench);
    Job *flood[4];
    for (int i = 0; i < 4; i++) {
        char key[2] = {(char)('a' + i), '\0'};
        flood[i] = bench_submit(&bench, key, "pass");
    }
    JobSpec spec = make_spec("other", "pass");
    Job *other = bench_submit_spec(&bench, &spec, "uid:1002");
    for (int i = 0; i < 4; i++) bench_await(&bench, flood[i]);
    ck_assert_str_eq(bench.running_order[0], flood[0]->id);
    ck_assert_str_eq(bench.running_order[1], other->id);
    ck_assert_str_eq(bench.running_order[2], flood[1]->id);
    bench_deinit(&bench);
}
END_TEST

static unsigned n_probed;
static unsigned n_verdicts_before_probe;

static void on_probe(Job *job, void *data) {
    ck_assert_ptr_eq(data, &bench);
    expect_passed(job);
    n_probed++;
    n_verdicts_before_probe = bench.n_verdicts;
}

START_TEST(probes_come_first_and_are_seen_by_nobody) {
    bench_prepare(&bench, "ready");
    bench.config->profiles[0].max_environments = 1;
    bench_start(&bench);
    Job *job = bench_submit(&bench, "a", "pass");
    JobSpec spec = make_spec("probe", "pass");
    n_probed = 0;
    ck_assert_int_eq(scheduler_probe(bench.scheduler, bench_pool(&bench), &spec, on_probe, &bench),
                     0);
    bench_await(&bench, job);
    ck_assert_uint_eq(n_probed, 1);
    ck_assert_uint_eq(n_verdicts_before_probe, 0);
    ck_assert_uint_eq(bench.n_changes, 2);
    ck_assert_uint_eq(bench.scheduler->totals.accepted, 1);
    bench_deinit(&bench);
}
END_TEST

/* ---- cancelling ---- */

START_TEST(a_queued_job_is_cancelled) {
    bench_init(&bench, "mute");
    Job *job = bench_submit(&bench, "a", "pass");
    Job *other = bench_submit(&bench, "b", "pass");
    scheduler_end(bench.scheduler, job, CODE_CANCELLED, "cancelled by its client");
    expect_infrastructure(job, CODE_CANCELLED, "cancelled by its client");
    ck_assert_uint_eq(job->verdict->attempts, 0);
    ck_assert_uint_eq(pool_n_waiting(bench_pool(&bench)), 1);
    ck_assert_int_eq(other->state, JOB_QUEUED);
    bench_deinit(&bench);
    ck_assert_uint_eq(bench.n_verdicts, 2);
}
END_TEST

START_TEST(a_running_job_is_cancelled_with_its_environment) {
    bench_init(&bench, "ready");
    Job *job = bench_submit(&bench, "a", "mute");
    loop_until(&bench.loop, job->state == JOB_RUNNING);
    char id[ENVIRONMENT_ID_BYTES];
    snprintf(id, sizeof id, "%s", job->environment->id);
    scheduler_end(bench.scheduler, job, CODE_CANCELLED, "cancelled by its client");
    expect_infrastructure(job, CODE_CANCELLED, "cancelled");
    ck_assert_ptr_null(job->environment);
    Job *next = bench_submit(&bench, "b", "pass");
    bench_await(&bench, next);
    expect_passed(next);
    ck_assert_str_ne(next->record.id, id);
    ck_assert_uint_eq(bench.n_verdicts, 2);
    bench_deinit(&bench);
}
END_TEST

START_TEST(stopping_gives_every_job_its_verdict) {
    bench_init(&bench, "ready");
    Job *running = bench_submit(&bench, "a", "mute");
    loop_until(&bench.loop, running->state == JOB_RUNNING);
    Job *jobs[6];
    for (int i = 0; i < 6; i++) {
        char key[2] = {(char)('b' + i), '\0'};
        jobs[i] = bench_submit(&bench, key, "mute");
    }
    scheduler_end_all(bench.scheduler, CODE_SHUTTING_DOWN, "stopped");
    expect_infrastructure(running, CODE_SHUTTING_DOWN, "stopped");
    for (int i = 0; i < 6; i++) expect_infrastructure(jobs[i], CODE_SHUTTING_DOWN, "stopped");
    ck_assert_uint_eq(bench.n_verdicts, 7);
    ck_assert(scheduler_is_idle(bench.scheduler));
    bench_deinit(&bench);
    ck_assert_uint_eq(bench.n_verdicts, 7);
}
END_TEST

/* ---- health ---- */

START_TEST(an_open_circuit_answers_with_its_diagnosis) {
    bench_prepare(&bench, "invalid");
    bench.config->circuit_backoff_min_ms = bench.config->circuit_backoff_max_ms = 3600000;
    bench_start(&bench);
    Job *waiting = bench_submit(&bench, "a", "pass");
    bench_await(&bench, waiting);
    expect_infrastructure(waiting, CODE_LAYER_MISSING, "no such layer here");
    ck_assert_uint_eq(waiting->verdict->attempts, 0);
    ck_assert(health_refuses(&bench_pool(&bench)->health));
    ck_assert_uint_eq(bench_pool(&bench)->fill_failures_total, bench.config->circuit_failures);
    Job *next = bench_submit(&bench, "b", "pass");
    bench_await(&bench, next);
    expect_infrastructure(next, CODE_LAYER_MISSING, "profile stdlib is unhealthy");
    bench_deinit(&bench);
}
END_TEST

START_TEST(what_is_wrong_beside_layers_has_the_profiles_code) {
    bench_prepare(&bench, "invalid not-random");
    bench.config->circuit_backoff_min_ms = bench.config->circuit_backoff_max_ms = 3600000;
    bench_start(&bench);
    Job *job = bench_submit(&bench, "a", "pass");
    bench_await(&bench, job);
    expect_infrastructure(job, CODE_PROFILE_UNHEALTHY, "hash randomisation is off");
    bench_deinit(&bench);
}
END_TEST

START_TEST(a_circuit_recovers_by_itself) {
    bench_init(&bench, "invalid invalid invalid invalid ready");
    Job *job = bench_submit(&bench, "a", "pass");
    bench_await(&bench, job);
    expect_infrastructure(job, CODE_LAYER_MISSING, "no such layer here");
    bench_await_ready(&bench);
    job = bench_submit(&bench, "b", "pass");
    bench_await(&bench, job);
    expect_passed(job);
    bench_deinit(&bench);
}
END_TEST

START_TEST(a_job_does_not_wait_forever_for_an_environment) {
    bench_prepare(&bench, "mute");
    bench.config->environment_wait_ms = 100;
    bench_start(&bench);
    Job *job = bench_submit(&bench, "a", "pass");
    bench_await(&bench, job);
    expect_infrastructure(job, CODE_NO_ENVIRONMENT, "within 0.1 s");
    bench_deinit(&bench);
}
END_TEST

START_TEST(a_job_behind_others_waits_longer) {
    bench_prepare(&bench, "ready");
    bench.config->environment_wait_ms = 30;
    bench.config->profiles[0].max_environments = 1;
    bench_start(&bench);
    bench_await_ready(&bench);
    Job *first = bench_submit(&bench, "a", "mute");
    loop_until(&bench.loop, first->state == JOB_RUNNING);
    Job *second = bench_submit(&bench, "b", "pass");
    const uint64_t start_ms = clock_mono_ms();
    loop_until(&bench.loop, clock_mono_ms() - start_ms > 150);
    ck_assert_int_eq(second->state, JOB_QUEUED);
    bench_deinit(&bench);
}
END_TEST

/* ---- a new config ---- */

static void take_up(Config *config) {
    ck_assert_int_eq(scheduler_configure(bench.scheduler, config), 0);
    config_unref(config);
}

START_TEST(an_equal_config_keeps_the_environments) {
    bench_init(&bench, "ready");
    bench_await_ready(&bench);
    char id[ENVIRONMENT_ID_BYTES];
    snprintf(id, sizeof id, "%s", pool_ready(bench_pool(&bench))->id);
    take_up(make_stub_config(&bench.places, "ready"));
    Job *job = bench_submit(&bench, "a", "pass");
    bench_await(&bench, job);
    expect_passed(job);
    ck_assert_str_eq(job->record.id, id);
    bench_deinit(&bench);
}
END_TEST

START_TEST(a_changed_profile_gets_new_environments) {
    bench_init(&bench, "ready");
    Job *running = bench_submit(&bench, "a", "mute");
    loop_until(&bench.loop, running->state == JOB_RUNNING);
    bench_await_ready(&bench);
    take_up(make_stub_config(&bench.places, "dribble"));
    Job *job = bench_submit(&bench, "b", "pass");
    bench_await(&bench, job);
    expect_passed(job);
    ck_assert_str_eq(job->record.interpreter, "dribble");
    ck_assert_int_eq(running->state, JOB_RUNNING); /* what runs is left in peace */
    bench_deinit(&bench);
}
END_TEST

/* `stdlib` is the first profile: it goes. */
static void forget_first_profile(Config *config) {
    set_text(&config->profiles[0].name, "renamed");
}

START_TEST(a_removed_profile_turns_its_jobs_away) {
    bench_prepare(&bench, "ready");
    bench.config->profiles[0].max_environments = 1;
    bench_start(&bench);
    Job *running = bench_submit(&bench, "a", "mute");
    loop_until(&bench.loop, running->state == JOB_RUNNING);
    Job *queued = bench_submit(&bench, "b", "pass");
    Config *config = make_stub_config(&bench.places, "ready");
    forget_first_profile(config);
    take_up(config);
    expect_infrastructure(queued, CODE_PROFILE_REMOVED, "no longer configured");
    ck_assert_int_eq(running->state, JOB_RUNNING);
    ck_assert_ptr_null(scheduler_pool(bench.scheduler, "stdlib"));
    ck_assert_ptr_nonnull(scheduler_pool(bench.scheduler, "renamed"));
    JobSpec spec = make_spec("c", "pass");
    bench_refuse(&bench, &spec, REFUSE_INVALID_ARGUMENT, "no profile 'stdlib'");
    scheduler_end(bench.scheduler, running, CODE_CANCELLED, "cancelled");
    loop_until(&bench.loop, list_empty(&bench.scheduler->retired));
    bench_deinit(&bench);
}
END_TEST

START_TEST(a_removed_profile_runs_nothing_again) {
    bench_init(&bench, "ready");
    Job *job = bench_submit(&bench, "a", "crash pass");
    loop_until(&bench.loop, job->state == JOB_RUNNING);
    Config *config = make_stub_config(&bench.places, "ready");
    forget_first_profile(config);
    take_up(config);
    bench_await(&bench, job);
    expect_infrastructure(job, CODE_PROFILE_REMOVED, "no longer configured");
    ck_assert_uint_eq(bench.n_verdicts, 1);
    bench_deinit(&bench);
}
END_TEST

START_TEST(finished_jobs_are_forgotten_in_time) {
    bench_prepare(&bench, "ready");
    bench.config->keep_finished_jobs = 2;
    bench_start(&bench);
    char ids[4][JOB_ID_BYTES];
    for (int i = 0; i < 4; i++) {
        char key[2] = {(char)('a' + i), '\0'};
        const Job *job = bench_submit(&bench, key, "pass");
        snprintf(ids[i], sizeof ids[i], "%s", job->id);
        bench_await(&bench, job);
    }
    loop_until(&bench.loop, !registry_find(bench.scheduler->registry, ids[1]));
    ck_assert_ptr_null(registry_find(bench.scheduler->registry, ids[0]));
    ck_assert_ptr_nonnull(registry_find(bench.scheduler->registry, ids[2]));
    ck_assert_ptr_nonnull(registry_find(bench.scheduler->registry, ids[3]));
    bench_deinit(&bench);
}
END_TEST

START_TEST(the_pids_of_live_wardens_are_known) {
    bench_init(&bench, "ready");
    bench_await_ready(&bench);
    pid_t *pids = NULL;
    size_t n_pids = 0;
    ck_assert_int_eq(scheduler_wardens(bench.scheduler, &pids, &n_pids), 0);
    ck_assert_uint_ge(n_pids, 1);
    bool found = false;
    for (size_t i = 0; i < n_pids; i++) found |= pids[i] == pool_ready(bench_pool(&bench))->pid;
    ck_assert(found);
    free(pids);
    const ProcessExit stranger = {.pid = 1};
    ck_assert(!scheduler_exited(bench.scheduler, &stranger));
    bench_deinit(&bench);
}
END_TEST

SUITE_MAIN_OR(warden_stub, "scheduler", a_job_gets_exactly_one_verdict,
              what_was_seen_becomes_the_verdict, infrastructure_is_never_tried_again,
              a_second_result_changes_nothing, a_native_crash_runs_once_more_elsewhere,
              a_second_native_crash_is_the_verdict, a_crash_then_a_fault_is_infrastructure,
              an_environment_that_was_dead_before_costs_no_attempt, equal_repeats_pass,
              repeats_that_differ_fail, the_first_run_that_fails_is_the_verdict,
              every_repeat_may_crash_once, a_repeat_that_crashes_twice_has_failed,
              nothing_follows_from_repeats_that_broke_off, what_is_refused_is_not_repeated,
              the_queue_has_a_bound, a_peer_has_a_bound_of_its_own, bytes_have_a_bound,
              limits_are_bounded_by_the_profile, a_key_names_one_job_of_its_peer,
              draining_accepts_nothing_and_finishes_the_rest, draining_an_idle_daemon_says_so,
              a_flood_does_not_hold_up_another_peer, probes_come_first_and_are_seen_by_nobody,
              a_queued_job_is_cancelled, a_running_job_is_cancelled_with_its_environment,
              stopping_gives_every_job_its_verdict, an_open_circuit_answers_with_its_diagnosis,
              what_is_wrong_beside_layers_has_the_profiles_code, a_circuit_recovers_by_itself,
              a_job_does_not_wait_forever_for_an_environment, a_job_behind_others_waits_longer,
              an_equal_config_keeps_the_environments, a_changed_profile_gets_new_environments,
              a_removed_profile_turns_its_jobs_away, a_removed_profile_runs_nothing_again,
              finished_jobs_are_forgotten_in_time, the_pids_of_live_wardens_are_known)
