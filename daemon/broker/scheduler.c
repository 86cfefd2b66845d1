#include "broker/scheduler.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "broker/queue.h"
#include "broker/scheduler_internal.h"
#include "broker/timer.h"

enum {
    MAX_UNDISPATCHED = 3, /* dead environments one job may be handed before it is given up */
    VERDICT_MESSAGE_BYTES = 1024,
};

static LogContext about(const Job *job) {
    return (LogContext){job->id, job->record.id[0] ? job->record.id : NULL};
}

/* ---- how many unfinished jobs each peer has ---- */

typedef struct Account {
    List link;
    char peer[PEER_ID_BYTES];
    size_t n_unfinished;
} Account;

static Account *account_find(const Scheduler *scheduler, const char *peer) {
    list_each(link, &scheduler->accounts) {
        Account *account = list_entry(link, Account, link);
        if (strcmp(account->peer, peer) == 0) return account;
    }
    return NULL;
}

static int account_open(Scheduler *scheduler, const char *peer) {
    Account *account = account_find(scheduler, peer);
    if (!account) {
        account = calloc(1, sizeof *account);
        if (!account) return error_origin(-ENOMEM);
        snprintf(account->peer, sizeof account->peer, "%s", peer);
        list_append(&scheduler->accounts, &account->link);
    }
    account->n_unfinished++;
    return 0;
}

static void account_close(Scheduler *scheduler, const char *peer) {
    Account *account = account_find(scheduler, peer);
    if (!account || --account->n_unfinished > 0) return;
    list_remove(&account->link);
    free(account);
}

/* ---- verdicts ---- */

static void count_verdict(Scheduler *scheduler, const Verdict *verdict) {
    switch (verdict->kind) {
    case VERDICT_PASSED:
        scheduler->totals.passed++;
        break;
    case VERDICT_FAILED:
        scheduler->totals.failed++;
        break;
    case VERDICT_INFRASTRUCTURE_FAILURE:
        scheduler->totals.infrastructure++;
        break;
    }
}

/* The self-test's crashes and failures are what it wants to see. */
static LogLevel job_log_level(const Job *job) {
    return job->is_probe ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
}

static void log_verdict(const Job *job) {
    const Verdict *verdict = job->verdict;
    const char *code = verdict->failures.n_items ? code_name(verdict->failures.items[0].code)
                                                 : "no failure";
    log_write(job_log_level(job), about(job), 0, "verdict %s (%s), %u attempts",
              verdict_kind_name(verdict->kind), code, verdict->attempts);
}

static void leave_state(Scheduler *scheduler, const Job *job) {
    if (job->is_probe) return;
    if (job->state == JOB_QUEUED) scheduler->n_queued--;
    if (job->state == JOB_RUNNING) scheduler->n_running--;
}

static void enter_state(Scheduler *scheduler, Job *job, JobEvent event) {
    leave_state(scheduler, job);
    const bool is_known = job_enter(job, event);
    assert(is_known);
    (void)is_known;
    if (job->is_probe) return;
    if (job->state == JOB_QUEUED) scheduler->n_queued++;
    if (job->state == JOB_RUNNING) scheduler->n_running++;
    scheduler->owner.job_changed(job, scheduler->owner.data);
}

/* The one place where a job gets its verdict. Takes over *verdict. */
static void finish(Scheduler *scheduler, Job *job, Verdict **verdict) {
    if (job->deadline) event_del(job->deadline);
    job->verdict = TAKE(*verdict);
    job->finished_ms = clock_wall_ms();
    job_drop_payload(job);
    log_verdict(job);
    if (job->is_probe) {
        enter_state(scheduler, job, JOB_EVENT_VERDICT);
        job->finished(job, job->finished_data);
        job_free(job);
        return;
    }
    scheduler->payload_bytes -= job->bytes;
    account_close(scheduler, job->peer);
    count_verdict(scheduler, job->verdict);
    enter_state(scheduler, job, JOB_EVENT_VERDICT);
    registry_finished(scheduler->registry, job);
    event_active(scheduler->pump, EV_TIMEOUT, 0);
    if (scheduler_is_idle(scheduler)) scheduler->owner.idle(scheduler->owner.data);
}

/* ---- the queue ---- */

static Queue *queue_of(const Job *job) {
    return job->is_probe ? job->pool->probes : job->pool->jobs;
}

void scheduler_end(Scheduler *scheduler, Job *job, Code code, const char *message) {
    CLEANUP(verdict_freep) Verdict *verdict = NULL;
    if (verdict_new_infrastructure(code, message, job->attempts, &verdict) < 0) {
        /* Without memory for one verdict nothing honest can be said any more. */
        log_write(LOG_LEVEL_ERROR, about(job), -ENOMEM, "no verdict can be made");
        abort();
    }
    verdict->child_started = job->received;
    Environment *env = job->environment;
    job->environment = NULL;
    if (env) {
        env->job = NULL;
        environment_close(env);
    }
    /* One that was just taken out to be started is in no queue. */
    if (job->state == JOB_QUEUED && !list_empty(&job->queue_link)) queue_remove(queue_of(job), job);
    finish(scheduler, job, &verdict);
}

static void on_no_environment(evutil_socket_t fd, short what, void *data);

static void set_deadline(Job *job) {
    timer_arm(job->deadline, job->scheduler->config->environment_wait_ms);
}

static int enqueue(Scheduler *scheduler, Pool *pool, Job *job) {
    job->scheduler = scheduler;
    job->pool = pool;
    job->deadline = evtimer_new(scheduler->base, on_no_environment, job);
    if (!job->deadline) return error_origin(-ENOMEM);
    const int r = queue_push(queue_of(job), job);
    if (r < 0) return error_fold(r);
    set_deadline(job);
    return 0;
}

/* Jobs that stand behind others of a pool that works are waiting, not lost. */
static void on_no_environment(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    Job *job = data;
    const Pool *pool = job->pool;
    if (health_serves(&pool->health) && pool_count(pool).busy > 0) {
        set_deadline(job);
        return;
    }
    char message[VERDICT_MESSAGE_BYTES];
    snprintf(message, sizeof message,
             "no valid environment within %.1f s; last failure of profile %s: %s",
             (double)job->scheduler->config->environment_wait_ms / MS_PER_S, pool->profile->name,
             pool->diagnosis ? pool->diagnosis : "none");
    scheduler_end(job->scheduler, job, CODE_NO_ENVIRONMENT, message);
}

static uint64_t smaller(uint64_t asked, uint64_t bound) {
    return asked && asked < bound ? asked : bound;
}

static Limits effective_limits(const JobSpec *spec, const Limits *bound) {
    const Limits *asked = &spec->limits;
    return (Limits){
        .wall_ms = smaller(asked->wall_ms, bound->wall_ms),
        .cpu_ms = smaller(asked->cpu_ms, bound->cpu_ms),
        .memory_bytes = smaller(asked->memory_bytes, bound->memory_bytes),
        .output_bytes = smaller(asked->output_bytes, bound->output_bytes),
        .disk_bytes = smaller(asked->disk_bytes, bound->disk_bytes),
        .processes = (uint32_t)smaller(asked->processes, bound->processes),
        .open_files = (uint32_t)smaller(asked->open_files, bound->open_files),
    };
}

static void start(Scheduler *scheduler, Job *job, Environment *env) {
    const Limits limits = effective_limits(&job->spec, &env->profile->limits);
    job->attempts++;
    job->received = false;
    int r = environment_record(env, &job->record);
    if (r == 0) r = environment_run(env, job, &limits, &scheduler->marker_key);
    if (r == ENVIRONMENT_E_NOT_READY) {
        job->attempts--;
        queue_push_again(queue_of(job), job);
        set_deadline(job);
        return;
    }
    if (r != 0) {
        scheduler_end(scheduler, job, CODE_OUT_OF_MEMORY, "the job could not be handed over");
        environment_close(env);
        return;
    }
    job->environment = env;
    log_write(LOG_LEVEL_DEBUG, about(job), 0, "dispatched, attempt %u", job->attempts);
    enter_state(scheduler, job, JOB_EVENT_LEASED);
}

/* A job that was taken out of a queue and has no environment yet is still JOB_QUEUED. */
void scheduler_pump(Scheduler *scheduler, Pool *pool) {
    for (;;) {
        Environment *env = pool_ready(pool);
        if (!env) break;
        Job *job = queue_pop(pool->probes);
        if (!job && health_serves(&pool->health)) job = queue_pop(pool->jobs);
        if (!job) break;
        if (job->deadline) event_del(job->deadline);
        start(scheduler, job, env);
    }
    pool_fill(pool);
}

/* Turns away the jobs that wait on a pool that cannot serve them. */
void scheduler_turn_away(Scheduler *scheduler, Queue *queue, Code code, const char *message) {
    Job *job;
    while ((job = queue_pop(queue)) != NULL) scheduler_end(scheduler, job, code, message);
}

static void describe_health(const Pool *pool, char *message, size_t size) {
    snprintf(message, size, "profile %s is unhealthy: %s", pool->profile->name,
             pool->diagnosis ? pool->diagnosis : "no diagnosis");
}

void scheduler_pool_changed(Pool *pool, PoolEvent event, void *data) {
    Scheduler *scheduler = data;
    if (event == POOL_HEALTH && health_refuses(&pool->health)) {
        char message[VERDICT_MESSAGE_BYTES];
        describe_health(pool, message, sizeof message);
        scheduler_turn_away(scheduler, pool->jobs, pool->refusal, message);
        if (pool->health.state == HEALTH_UNHEALTHY)
            scheduler_turn_away(scheduler, pool->probes, pool->refusal, message);
    }
    scheduler->owner.pool_changed(pool, event, scheduler->owner.data);
    scheduler_pump(scheduler, pool);
}

/* ---- results ---- */

static void run_again(Scheduler *scheduler, Job *job) {
    if (job->pool->stopping) {
        scheduler_end(scheduler, job, CODE_PROFILE_REMOVED, "its profile is no longer configured");
        return;
    }
    enter_state(scheduler, job, JOB_EVENT_AGAIN);
    queue_push_again(queue_of(job), job);
    set_deadline(job);
    event_active(scheduler->pump, EV_TIMEOUT, 0);
}

/* The job keeps the list of its crashes until its last run. */
static int judge(Job *job, Facts **facts, Verdict **ret_verdict) {
    Verdict *verdict;
    const int r = verdict_new(facts, &job->crashes, job->n_crashes, job->attempts, &verdict);
    if (r < 0) return error_fold(r);
    job->crashes = TAKE(verdict->native_crashes);
    verdict->n_native_crashes = 0;
    *ret_verdict = verdict;
    return 0;
}

/* Adds a run to those before it: a job's verdict is that of the first run that failed, or of the
 * first, and says how the runs differ. */
static int fold_run(Job *job, Verdict **verdict) {
    if (!job->kept) {
        job->kept = TAKE(*verdict);
        return 0;
    }
    if (job->kept->kind == VERDICT_PASSED && (*verdict)->kind == VERDICT_FAILED) {
        if (!job->first_run) job->first_run = TAKE(job->kept->facts);
        job->kept = verdict_free(job->kept);
        job->kept = TAKE(*verdict);
        return verdict_compare_runs(job->kept, job->first_run, job->kept->facts);
    }
    const Facts *first = job->first_run ? job->first_run : job->kept->facts;
    return verdict_compare_runs(job->kept, first, (*verdict)->facts);
}

/* Code that was refused is refused every time; of an infrastructure failure nothing follows. */
static bool is_last_run(const Job *job, const Verdict *verdict) {
    return job->runs_done >= job->spec.repeats || verdict->kind == VERDICT_INFRASTRUCTURE_FAILURE ||
           !verdict->stage_execute;
}

static void deliver(Scheduler *scheduler, Job *job, Verdict **verdict) {
    (*verdict)->attempts = job->attempts;
    (*verdict)->native_crashes = TAKE(job->crashes);
    (*verdict)->n_native_crashes = job->n_crashes;
    job->n_crashes = 0;
    finish(scheduler, job, verdict);
}

/* A run is over, crashes and their retry included. */
static int end_run(Scheduler *scheduler, Job *job, Facts **facts) {
    CLEANUP(verdict_freep) Verdict *verdict = NULL;
    int r = judge(job, facts, &verdict);
    if (r < 0) return error_fold(r);
    job->runs_done++;
    job->run_crashes = 0;
    const bool is_last = is_last_run(job, verdict);
    if (verdict->kind == VERDICT_INFRASTRUCTURE_FAILURE) {
        deliver(scheduler, job, &verdict);
        return 0;
    }
    r = fold_run(job, &verdict);
    if (r < 0) return error_fold(r);
    if (is_last)
        deliver(scheduler, job, &job->kept);
    else
        run_again(scheduler, job);
    return 0;
}

static void on_result(Scheduler *scheduler, Pool *pool, Job *job, Facts **result) {
    CLEANUP(facts_freep) Facts *facts = TAKE(*result);
    if (facts->seen[PHASE_RECEIVED]) pool_note(pool, HEALTH_EVENT_RUN_OK, NULL);
    if (facts_are_native_crash(facts)) {
        if (job_add_crash(job, facts) < 0) {
            scheduler_end(scheduler, job, CODE_OUT_OF_MEMORY, "out of memory");
            return;
        }
        log_write(job_log_level(job), about(job), 0, "native crash by %s, attempt %u",
                  verdict_signal_name(facts->signal), job->attempts);
        if (job->run_crashes < VERDICT_MAX_NATIVE_CRASHES) {
            run_again(scheduler, job);
            return;
        }
    }
    if (end_run(scheduler, job, &facts) < 0)
        scheduler_end(scheduler, job, CODE_OUT_OF_MEMORY, "out of memory");
}

static void on_fault(Scheduler *scheduler, Job *job, const EnvironmentReport *report) {
    if (!report->dispatched && ++job->undispatched <= MAX_UNDISPATCHED) {
        job->attempts--;
        log_write(LOG_LEVEL_INFO, about(job), 0, "its environment had died before: next one");
        run_again(scheduler, job);
        return;
    }
    scheduler_end(scheduler, job, report->code, report->detail);
}

void scheduler_reported(Pool *pool, Environment *env, const EnvironmentReport *report, void *data) {
    Scheduler *scheduler = data;
    Job *job = env->job;
    if (!job) return;
    if (report->kind == REPORT_RECEIVED) {
        job->received = true;
        return;
    }
    env->job = NULL;
    job->environment = NULL;
    if (report->kind == REPORT_RESULT)
        on_result(scheduler, pool, job, report->facts);
    else
        on_fault(scheduler, job, report);
}

/* ---- taking jobs in ---- */

static int check_bounds(const Scheduler *scheduler, const JobSpec *spec, const char *peer,
                        Refusal *refusal) {
    const Config *config = scheduler->config;
    const size_t bytes = job_spec_bytes(spec);
    const Account *account = account_find(scheduler, peer);
    if (bytes > config->queue_max_bytes)
        return refusal_set(refusal, REFUSE_INVALID_ARGUMENT,
                           "the job has %zu bytes, more than queue.max_bytes (%llu)", bytes,
                           (unsigned long long)config->queue_max_bytes);
    if (scheduler->n_queued >= config->queue_max_jobs)
        return refusal_set(refusal, REFUSE_RESOURCE_EXHAUSTED, "the queue is full (%zu jobs)",
                           scheduler->n_queued);
    if (scheduler->payload_bytes + bytes > config->queue_max_bytes)
        return refusal_set(refusal, REFUSE_RESOURCE_EXHAUSTED,
                           "unfinished jobs hold %zu bytes already", scheduler->payload_bytes);
    if (account && account->n_unfinished >= config->queue_max_jobs_per_peer)
        return refusal_set(refusal, REFUSE_RESOURCE_EXHAUSTED,
                           "%zu jobs of yours are unfinished already", account->n_unfinished);
    return 0;
}

static int check_limits(const Limits *asked, const Limits *bound, Refusal *refusal) {
    const struct {
        const char *name;
        uint64_t asked, bound;
    } rows[] = {
        {"wall_ms", asked->wall_ms, bound->wall_ms},
        {"cpu_ms", asked->cpu_ms, bound->cpu_ms},
        {"memory_bytes", asked->memory_bytes, bound->memory_bytes},
        {"output_bytes", asked->output_bytes, bound->output_bytes},
        {"disk_bytes", asked->disk_bytes, bound->disk_bytes},
        {"processes", asked->processes, bound->processes},
        {"open_files", asked->open_files, bound->open_files},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].asked > rows[i].bound)
            return refusal_set(
                refusal, REFUSE_INVALID_ARGUMENT, "limit %s: %llu is more than the profile's %llu",
                rows[i].name, (unsigned long long)rows[i].asked, (unsigned long long)rows[i].bound);
    return 0;
}

static int admit(const Scheduler *scheduler, const JobSpec *spec, const char *peer, Pool **ret_pool,
                 Refusal *refusal) {
    if (scheduler->draining)
        return refusal_set(refusal, REFUSE_UNAVAILABLE, "the daemon is draining");
    Pool *pool = scheduler_pool(scheduler, spec->profile);
    if (!pool)
        return refusal_set(refusal, REFUSE_INVALID_ARGUMENT, "there is no profile '%s'",
                           spec->profile);
    int r = check_limits(&spec->limits, &pool->profile->limits, refusal);
    if (r == 0) r = check_bounds(scheduler, spec, peer, refusal);
    if (r == 0) *ret_pool = pool;
    return r;
}

static int take_in(Scheduler *scheduler, Pool *pool, Job *job) {
    int r = account_open(scheduler, job->peer);
    if (r == 0) r = registry_add(scheduler->registry, job);
    if (r < 0) {
        account_close(scheduler, job->peer);
        job_free(job);
        return error_fold(r);
    }
    scheduler->totals.accepted++;
    scheduler->n_queued++;
    scheduler->payload_bytes += job->bytes;
    log_write(LOG_LEVEL_INFO, about(job), 0, "accepted %s for profile %s, peer %s",
              job->spec.file_name, pool->profile->name, job->peer);
    r = enqueue(scheduler, pool, job);
    if (r < 0) scheduler_end(scheduler, job, CODE_OUT_OF_MEMORY, "out of memory");
    return 0;
}

int scheduler_submit(Scheduler *scheduler, JobSpec *spec, const char *peer, Job **ret_job,
                     bool *ret_known, Refusal *ret_refusal) {
    Job *job = registry_find_key(scheduler->registry, peer, spec->idempotency_key);
    if (job) {
        job_spec_deinit(spec);
        *ret_job = job;
        *ret_known = true;
        return 0;
    }
    Pool *pool = NULL;
    int r = admit(scheduler, spec, peer, &pool, ret_refusal);
    if (r != 0) {
        scheduler->totals.refused++;
        return r;
    }
    assert(pool); /* whatever was admitted has one */
    r = job_new(spec, peer, &job);
    if (r == 0) r = take_in(scheduler, pool, job);
    if (r < 0) return error_fold(r);
    event_active(scheduler->pump, EV_TIMEOUT, 0);
    *ret_job = job;
    *ret_known = false;
    return 0;
}

int scheduler_probe(Scheduler *scheduler, Pool *pool, JobSpec *spec, JobFinished finished,
                    void *data) {
    Job *job;
    int r = job_new(spec, "self-test", &job);
    if (r < 0) return error_fold(r);
    job->is_probe = true;
    job->finished = finished;
    job->finished_data = data;
    r = enqueue(scheduler, pool, job);
    if (r < 0) {
        job_free(job);
        return error_fold(r);
    }
    event_active(scheduler->pump, EV_TIMEOUT, 0);
    return 0;
}

static bool find_unfinished(Job *job, void *data) {
    if (job->state == JOB_FINISHED) return true;
    *(Job **)data = job;
    return false;
}

void scheduler_end_all(Scheduler *scheduler, Code code, const char *message) {
    for (;;) {
        Job *job = NULL;
        registry_each(scheduler->registry, find_unfinished, &job);
        if (!job) return;
        scheduler_end(scheduler, job, code, message);
    }
}
