#include "broker/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "broker/doctor_programs.h"

typedef struct Waiter {
    List link;
    DoctorDone done;
    void *data;
} Waiter;

typedef struct Probe {
    DoctorRun *run;
    const DoctorProgram *program;
    DoctorCheck *check;
} Probe;

struct DoctorRun {
    Scheduler *scheduler;
    Pool *pool;
    size_t n_checks;
    size_t n_open;
    unsigned epoch; /* of the pool when it began */
    bool cut_short; /* probes were turned away */
    List waiters;
    Probe *probes;
    DoctorCheck *checks;
};

static void run_free(DoctorRun *run) {
    list_each(link, &run->waiters) {
        Waiter *waiter = list_entry(link, Waiter, link);
        list_remove(link);
        free(waiter);
    }
    free(run->probes);
    free(run->checks);
    free(run);
}

/* ---- what was seen ---- */

static void describe_expected(const DoctorProgram *program, char *text, size_t size) {
    if (program->failure == CODE_NONE)
        snprintf(text, size, "%s", verdict_kind_name(program->kind));
    else if (program->failure == CODE_EXITED)
        snprintf(text, size, "failed: exited %d", program->exit_code);
    else
        snprintf(text, size, "failed: %s", code_name(program->failure));
}

static void describe_seen(const Verdict *verdict, char *text, size_t size) {
    const Failure *first = verdict->failures.n_items ? &verdict->failures.items[0] : NULL;
    if (!first)
        snprintf(text, size, "%s", verdict_kind_name(verdict->kind));
    else if (verdict->kind == VERDICT_FAILED && first->code == CODE_EXITED && verdict->facts)
        snprintf(text, size, "failed: exited %d", verdict->facts->exit_code);
    else
        snprintf(text, size, "%s: %s%s%s", verdict_kind_name(verdict->kind), code_name(first->code),
                 verdict->kind == VERDICT_FAILED ? "" : ": ",
                 verdict->kind == VERDICT_FAILED || !first->message ? "" : first->message);
}

static bool shows_evidence(const DoctorProgram *program, const Verdict *verdict) {
    if (!program->evidence) return true;
    for (size_t i = 0; i < verdict->failures.n_items; i++) {
        const char *message = verdict->failures.items[i].message;
        if (message && strstr(message, program->evidence)) return true;
    }
    const Facts *facts = verdict->facts;
    return facts && facts->out.head_bytes > 0 &&
           memmem(facts->out.head, facts->out.head_bytes, program->evidence,
                  strlen(program->evidence));
}

static bool has_failure(const Verdict *verdict, Code code) {
    for (size_t i = 0; i < verdict->failures.n_items; i++)
        if (verdict->failures.items[i].code == code) return true;
    return false;
}

/* The circuit opened, or the profile or the daemon is going. */
static bool was_turned_away(const Verdict *verdict) {
    return has_failure(verdict, CODE_PROFILE_UNHEALTHY) ||
           has_failure(verdict, CODE_LAYER_MISSING) || has_failure(verdict, CODE_PROFILE_REMOVED) ||
           has_failure(verdict, CODE_SHUTTING_DOWN);
}

/* The child must have been seen to start: a failure for another reason proves nothing. */
static bool is_as_expected(const DoctorProgram *program, const Verdict *verdict) {
    if (verdict->kind != program->kind || !verdict->child_started) return false;
    if (verdict->n_native_crashes != program->native_crashes) return false;
    if (!shows_evidence(program, verdict)) return false;
    if (program->failure == CODE_NONE) return verdict->failures.n_items == 0;
    if (program->failure == CODE_EXITED &&
        (!verdict->facts || verdict->facts->exit_code != program->exit_code))
        return false;
    return has_failure(verdict, program->failure);
}

/* ---- the run ---- */

static const DoctorCheck *first_wrong(const DoctorRun *run) {
    for (size_t i = 0; i < run->n_checks; i++)
        if (!run->checks[i].ok) return &run->checks[i];
    return NULL;
}

static void tell_waiters(DoctorRun *run) {
    list_each(link, &run->waiters) {
        Waiter *waiter = list_entry(link, Waiter, link);
        waiter->done(run->pool, run->checks, run->n_checks, waiter->data);
    }
}

static void note_outcome(const DoctorRun *run) {
    const DoctorCheck *wrong = first_wrong(run);
    if (!wrong) {
        pool_note(run->pool, HEALTH_EVENT_TEST_PASSED, NULL);
        return;
    }
    char diagnosis[3 * DOCTOR_TEXT_BYTES];
    snprintf(diagnosis, sizeof diagnosis, "self-test %s: expected %s, saw %s", wrong->name,
             wrong->expected, wrong->seen);
    pool_note(run->pool, HEALTH_EVENT_TEST_FAILED, diagnosis);
}

/* A run that was cut short, or that began with another profile, says nothing about this one: when
 * there is an environment, its owner may start the next. */
static void conclude(DoctorRun *run) {
    Pool *pool = run->pool;
    const bool says_nothing = run->cut_short || run->epoch != pool->epoch;
    pool->doctor = NULL;
    if (!says_nothing) note_outcome(run);
    tell_waiters(run);
    run_free(run);
    if (says_nothing && pool_ready(pool)) pool->owner.changed(pool, POOL_READY, pool->owner.data);
}

static void on_probe(Job *job, void *data) {
    const Probe *probe = data;
    DoctorRun *run = probe->run;
    describe_seen(job->verdict, probe->check->seen, sizeof probe->check->seen);
    if (was_turned_away(job->verdict)) run->cut_short = true;
    probe->check->ok = is_as_expected(probe->program, job->verdict);
    if (!probe->check->ok && job->verdict->kind == VERDICT_FAILED &&
        strcmp(probe->check->expected, probe->check->seen) == 0)
        snprintf(probe->check->seen, sizeof probe->check->seen, "%.200s, without the evidence",
                 probe->check->expected);
    if (--run->n_open == 0) conclude(run);
}

static int add_text(Blob *blob, const char *text) {
    blob->bytes = (uint8_t *)strdup(text);
    if (!blob->bytes) return error_origin(-ENOMEM);
    blob->n_bytes = strlen(text);
    return 0;
}

static int make_code(const DoctorProgram *program, const Profile *profile, Blob *ret_code) {
    if (!program->needs_poison) return add_text(ret_code, program->code);
    const char *mark = strstr(program->code, "%s");
    CLEANUP(freep) char *code = NULL;
    const int r = text_format(&code, "%.*s%s%s", (int)(mark - program->code), program->code,
                              profile->poisoned_modules.items[0], mark + 2);
    return r < 0 ? error_fold(r) : add_text(ret_code, code);
}

static int make_spec(const DoctorProgram *program, const Profile *profile, JobSpec *ret_spec) {
    CLEANUP(job_spec_deinit) JobSpec spec = {.repeats = 1};
    spec.idempotency_key = strdup("self-test");
    spec.file_name = strdup("generated.py");
    spec.profile = strdup(profile->name);
    spec.inputs = calloc(1, sizeof *spec.inputs);
    spec.canaries = calloc(1, sizeof *spec.canaries);
    if (!spec.idempotency_key || !spec.file_name || !spec.profile || !spec.inputs || !spec.canaries)
        return error_origin(-ENOMEM);
    spec.n_inputs = spec.n_canaries = 1;
    spec.inputs[0].name = strdup(DOCTOR_INPUT_NAME);
    spec.canaries[0].id = strdup("doctor");
    if (!spec.inputs[0].name || !spec.canaries[0].id) return error_origin(-ENOMEM);
    int r = add_text(&spec.inputs[0].content, DOCTOR_INPUT);
    if (r == 0) r = add_text(&spec.canaries[0].value, DOCTOR_CANARY);
    if (r == 0) r = make_code(program, profile, &spec.code);
    if (r < 0) return error_fold(r);
    spec.limits.wall_ms = program->wall_ms < profile->limits.wall_ms ? program->wall_ms : 0;
    *ret_spec = spec;
    spec = (JobSpec){0};
    return 0;
}

static int new_run(Scheduler *scheduler, Pool *pool, DoctorRun **ret_run) {
    DoctorRun *run = calloc(1, sizeof *run);
    if (!run) return error_origin(-ENOMEM);
    list_init(&run->waiters);
    run->scheduler = scheduler;
    run->pool = pool;
    run->epoch = pool->epoch;
    run->probes = calloc(doctor_n_programs, sizeof *run->probes);
    run->checks = calloc(doctor_n_programs, sizeof *run->checks);
    if (!run->probes || !run->checks) {
        run_free(run);
        return error_origin(-ENOMEM);
    }
    *ret_run = run;
    return 0;
}

static void add_probe(DoctorRun *run, const DoctorProgram *program) {
    Probe *probe = &run->probes[run->n_checks];
    DoctorCheck *check = &run->checks[run->n_checks++];
    *probe = (Probe){run, program, check};
    check->name = program->name;
    describe_expected(program, check->expected, sizeof check->expected);
    JobSpec spec = {0};
    int r = make_spec(program, run->pool->profile, &spec);
    if (r == 0) r = scheduler_probe(run->scheduler, run->pool, &spec, on_probe, probe);
    job_spec_deinit(&spec);
    if (r == 0)
        run->n_open++;
    else
        snprintf(check->seen, sizeof check->seen, "the probe could not be made");
}

int doctor_start(Scheduler *scheduler, Pool *pool) {
    if (pool->doctor) return 0;
    DoctorRun *run = NULL;
    const int r = new_run(scheduler, pool, &run);
    if (r < 0) return error_fold(r);
    pool->doctor = run;
    for (unsigned i = 0; i < doctor_n_programs; i++)
        if (!doctor_programs[i].needs_poison || pool->profile->poisoned_modules.n_items > 0)
            add_probe(run, &doctor_programs[i]);
    if (run->n_open == 0) conclude(run);
    return 0;
}

int doctor_await(Pool *pool, DoctorDone done, void *data) {
    Waiter *waiter = calloc(1, sizeof *waiter);
    if (!waiter) return error_origin(-ENOMEM);
    *waiter = (Waiter){.done = done, .data = data};
    list_append(&pool->doctor->waiters, &waiter->link);
    return 0;
}

void doctor_forget(Pool *pool, const void *data) {
    if (!pool->doctor) return;
    list_each(link, &pool->doctor->waiters) {
        Waiter *waiter = list_entry(link, Waiter, link);
        if (waiter->data != data) continue;
        list_remove(link);
        free(waiter);
    }
}
