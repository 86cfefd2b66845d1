#include "broker/reply.h"

#include <errno.h>
#include <string.h>

#include <sodium.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "tbsandbox.pb-c.h"
#include "wire.h"

/* A message of `type`, initialised, from the arena; NULL only when the arena failed. */
#define MAKE(arena, type, INIT)                                                                    \
    ({                                                                                             \
        type *made_ = arena_take((arena), 1, sizeof(type));                                        \
        if (made_) *made_ = (type)INIT;                                                            \
        made_;                                                                                     \
    })

/* protobuf-c packs texts as `char *`; it only reads them. */
static char *text(const char *value) {
    return (char *)(value ? value : protobuf_c_empty_string);
}

static ProtobufCBinaryData bytes(const void *data, size_t n_bytes) {
    return (ProtobufCBinaryData){n_bytes, (uint8_t *)data};
}

static int finish(Arena *arena, Tb__Envelope *envelope, uint64_t request_id,
                  ReplyFrame *ret_frame) {
    if (arena->failed) return error_origin(-ENOMEM);
    envelope->request_id = request_id;
    const int r = wire_pack(&envelope->base, &ret_frame->bytes, &ret_frame->n_bytes);
    return r == 0 ? 0 : r < 0 ? error_fold(r) : error_origin(-EMSGSIZE);
}

/* ---- verdict ---- */

/* A list of jobs shows the first reason of each, and no files: it must fit one frame. */
static void encode_failures(Arena *arena, const Verdict *verdict, bool whole,
                            Tb__Verdict *message) {
    const size_t n_all = verdict->failures.n_items;
    const size_t n = whole || n_all == 0 ? n_all : 1;
    message->failures = arena_take(arena, n, sizeof *message->failures);
    for (size_t i = 0; i < n && !arena->failed; i++) {
        const Failure *from = &verdict->failures.items[i];
        Tb__Failure *to = MAKE(arena, Tb__Failure, TB__FAILURE__INIT);
        if (!to) return;
        to->code = text(code_name(from->code));
        to->subject = text(from->subject);
        to->message = text(from->message);
        to->line = from->line;
        to->sink = text(from->sink);
        to->transform = text(from->transform);
        to->offset = from->offset;
        message->failures[message->n_failures++] = to;
    }
}

static void encode_stages(Arena *arena, const Verdict *verdict, Tb__Verdict *message) {
    const struct {
        bool passed;
        const char *name;
    } stages[] = {
        {verdict->stage_parse, "parse"},
        {verdict->stage_allowlist, "allowlist"},
        {verdict->stage_compile, "compile"},
        {verdict->stage_execute, "execute"},
    };
    enum { N_STAGES = sizeof stages / sizeof *stages };
    message->stages = arena_take(arena, N_STAGES, sizeof *message->stages);
    for (size_t i = 0; i < N_STAGES && !arena->failed; i++)
        if (stages[i].passed) message->stages[message->n_stages++] = text(stages[i].name);
}

static void encode_crashes(Arena *arena, const Verdict *verdict, Tb__Verdict *message) {
    const size_t n = verdict->n_native_crashes;
    message->native_crashes = arena_take(arena, n, sizeof *message->native_crashes);
    for (size_t i = 0; i < n && !arena->failed; i++) {
        const NativeCrash *from = &verdict->native_crashes[i];
        Tb__NativeCrash *to = MAKE(arena, Tb__NativeCrash, TB__NATIVE_CRASH__INIT);
        if (!to) return;
        to->attempt = from->attempt;
        to->signal = (uint32_t)from->signal;
        to->signal_name = text(verdict_signal_name(from->signal));
        to->excerpt = text(from->excerpt);
        to->environment_id = text(from->environment_id);
        message->native_crashes[message->n_native_crashes++] = to;
    }
}

static Tb__Output *encode_output(Arena *arena, const OutputFacts *from) {
    Tb__Output *to = MAKE(arena, Tb__Output, TB__OUTPUT__INIT);
    if (!to) return NULL;
    to->head = bytes(from->head, from->head_bytes);
    to->tail = bytes(from->tail, from->tail_bytes);
    to->total_bytes = from->total_bytes;
    to->omitted_bytes = from->omitted_bytes;
    return to;
}

static void encode_produced(Arena *arena, const Facts *facts, Tb__Verdict *message) {
    message->produced = arena_take(arena, facts->n_produced, sizeof *message->produced);
    for (size_t i = 0; i < facts->n_produced && !arena->failed; i++) {
        const ProducedFile *from = &facts->produced[i];
        Tb__ProducedFile *to = MAKE(arena, Tb__ProducedFile, TB__PRODUCED_FILE__INIT);
        if (!to) return;
        to->name = bytes(from->name, from->name_bytes);
        to->size_bytes = from->size_bytes;
        if (from->has_sha256) to->sha256 = bytes(from->sha256, sizeof from->sha256);
        to->note = text(from->note);
        message->produced[message->n_produced++] = to;
    }
}

static void encode_phases(Arena *arena, const Facts *facts, Tb__Verdict *message) {
    message->phases = arena_take(arena, PHASE_COUNT, sizeof *message->phases);
    for (int phase = 0; phase < PHASE_COUNT && !arena->failed; phase++) {
        if (!facts->seen[phase]) continue;
        Tb__PhaseTime *to = MAKE(arena, Tb__PhaseTime, TB__PHASE_TIME__INIT);
        if (!to) return;
        to->phase = text(phase_name((Phase)phase));
        to->at_us = facts->at_us[phase];
        message->phases[message->n_phases++] = to;
    }
}

static void encode_exit(Arena *arena, const Facts *facts, Tb__Verdict *message) {
    message->exit = MAKE(arena, Tb__Exit, TB__EXIT__INIT);
    if (!message->exit) return;
    message->exit->code = facts->exit_code;
    message->exit->signal = (uint32_t)facts->signal;
    if (facts->signal) message->exit->signal_name = text(verdict_signal_name(facts->signal));
}

static void encode_facts(Arena *arena, const Verdict *verdict, bool with_outputs,
                         Tb__Verdict *message) {
    const Facts *facts = verdict->facts;
    message->usage = MAKE(arena, Tb__Usage, TB__USAGE__INIT);
    if (!message->usage) return;
    *message->usage = (Tb__Usage){
        .base = message->usage->base,
        .wall_us = facts->wall_us,
        .cpu_us = facts->cpu_us,
        .peak_memory_bytes = facts->peak_memory_bytes,
        .stdout_bytes = facts->out.total_bytes,
        .stderr_bytes = facts->err.total_bytes,
        .disk_bytes = facts->disk_bytes,
    };
    if (verdict->has_exit) encode_exit(arena, facts, message);
    encode_phases(arena, facts, message);
    if (!with_outputs) return;
    encode_produced(arena, facts, message);
    message->stdout = encode_output(arena, &facts->out);
    message->stderr = encode_output(arena, &facts->err);
}

static void encode_environment(Arena *arena, const Job *job, Tb__Verdict *message) {
    const EnvironmentRecord *record = &job->record;
    if (!record->id[0]) return;
    Tb__Environment *to = MAKE(arena, Tb__Environment, TB__ENVIRONMENT__INIT);
    char *sample = arena_take(arena, 17, 1);
    if (!to || !sample) return;
    snprintf(sample, 17, "%016llx", (unsigned long long)record->hash_sample);
    to->id = text(record->id);
    to->profile = text(job->spec.profile);
    to->interpreter = text(record->interpreter);
    to->version = text(record->version);
    to->hash_randomized = record->hash_randomized;
    to->hash_sample = sample;
    to->validated_ms = record->validated_ms;
    message->environment = to;
    message->enforced = record->enforced.items;
    message->n_enforced = record->enforced.n_items;
}

static Tb__Verdict *encode_verdict(Arena *arena, const Job *job, bool with_outputs) {
    const Verdict *verdict = job->verdict;
    Tb__Verdict *message = MAKE(arena, Tb__Verdict, TB__VERDICT__INIT);
    if (!message) return NULL;
    message->job_id = text(job->id);
    message->kind = (Tb__VerdictKind)verdict->kind;
    message->child_started = verdict->child_started;
    message->attempts = verdict->attempts;
    message->profile = text(job->spec.profile);
    message->file_name = text(job->spec.file_name);
    encode_failures(arena, verdict, with_outputs, message);
    encode_stages(arena, verdict, message);
    encode_crashes(arena, verdict, message);
    encode_environment(arena, job, message);
    if (verdict->facts) encode_facts(arena, verdict, with_outputs, message);
    return message;
}

/* ---- jobs ---- */

static Tb__JobState encode_state(JobState state) {
    static const Tb__JobState states[] = {
        [JOB_QUEUED] = TB__JOB_STATE__QUEUED,
        [JOB_RUNNING] = TB__JOB_STATE__RUNNING,
        [JOB_FINISHED] = TB__JOB_STATE__FINISHED,
    };
    return states[state];
}

static Tb__Job *encode_job(Arena *arena, const Job *job, bool with_outputs) {
    Tb__Job *message = MAKE(arena, Tb__Job, TB__JOB__INIT);
    const size_t n = job->spec.n_labels;
    Tb__Label **labels = arena_take(arena, n, sizeof *labels);
    if (!message || !labels) return NULL;
    for (size_t i = 0; i < n; i++) {
        labels[i] = MAKE(arena, Tb__Label, TB__LABEL__INIT);
        if (!labels[i]) return NULL;
        labels[i]->key = text(job->spec.labels[i].key);
        labels[i]->value = text(job->spec.labels[i].value);
    }
    message->labels = labels;
    message->n_labels = n;
    message->job_id = text(job->id);
    message->state = encode_state(job->state);
    message->profile = text(job->spec.profile);
    message->file_name = text(job->spec.file_name);
    message->submitted_ms = job->submitted_ms;
    message->finished_ms = job->finished_ms;
    message->peer = text(job->peer);
    if (job->verdict) message->verdict = encode_verdict(arena, job, with_outputs);
    return message;
}

/* ---- replies ---- */

int reply_hello(uint64_t request_id, uint64_t max_frame_bytes, ReplyFrame *ret_frame) {
    static const char *const capabilities[] = {"submit", "wait",   "get",   "list",   "cancel",
                                               "status", "doctor", "drain", "resume", "reload"};
    Tb__Hello hello = TB__HELLO__INIT;
    hello.protocol = 1;
    hello.software = text("tbsandboxd " TBSANDBOX_VERSION);
    hello.capabilities = (char **)capabilities;
    hello.n_capabilities = sizeof capabilities / sizeof *capabilities;
    hello.max_frame_bytes = max_frame_bytes;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_HELLO;
    envelope.hello = &hello;
    Arena none = {0};
    return finish(&none, &envelope, request_id, ret_frame);
}

int reply_refusal(uint64_t request_id, const Refusal *refusal, ReplyFrame *ret_frame) {
    static const Tb__ErrorCode codes[] = {
        [REFUSE_MALFORMED] = TB__ERROR_CODE__MALFORMED,
        [REFUSE_FRAME_TOO_LARGE] = TB__ERROR_CODE__FRAME_TOO_LARGE,
        [REFUSE_HELLO_REQUIRED] = TB__ERROR_CODE__HELLO_REQUIRED,
        [REFUSE_VERSION_MISMATCH] = TB__ERROR_CODE__VERSION_MISMATCH,
        [REFUSE_UNIMPLEMENTED] = TB__ERROR_CODE__UNIMPLEMENTED,
        [REFUSE_INVALID_ARGUMENT] = TB__ERROR_CODE__INVALID_ARGUMENT,
        [REFUSE_PERMISSION_DENIED] = TB__ERROR_CODE__PERMISSION_DENIED,
        [REFUSE_NOT_FOUND] = TB__ERROR_CODE__NOT_FOUND,
        [REFUSE_RESOURCE_EXHAUSTED] = TB__ERROR_CODE__RESOURCE_EXHAUSTED,
        [REFUSE_UNAVAILABLE] = TB__ERROR_CODE__UNAVAILABLE,
        [REFUSE_INTERNAL] = TB__ERROR_CODE__INTERNAL,
    };
    Tb__Error error = TB__ERROR__INIT;
    error.code = codes[refusal->code];
    CLEANUP(freep) char *message = NULL;
    const int r = text_sanitize(refusal->message, strlen(refusal->message), &message);
    if (r < 0) return error_fold(r);
    error.message = message;
    error.retry_after_ms = refusal->retry_after_ms;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_ERROR;
    envelope.error = &error;
    Arena none = {0};
    return finish(&none, &envelope, request_id, ret_frame);
}

int reply_accepted(uint64_t request_id, const Job *job, bool known, ReplyFrame *ret_frame) {
    Tb__Accepted accepted = TB__ACCEPTED__INIT;
    accepted.job_id = text(job->id);
    accepted.known = known;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_ACCEPTED;
    envelope.accepted = &accepted;
    Arena none = {0};
    return finish(&none, &envelope, request_id, ret_frame);
}

int reply_event(uint64_t request_id, const Job *job, ReplyFrame *ret_frame) {
    Tb__JobEvent event = TB__JOB_EVENT__INIT;
    event.job_id = text(job->id);
    event.state = encode_state(job->state);
    event.attempt = job->attempts;
    event.environment_id = text(job->record.id);
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_EVENT;
    envelope.event = &event;
    Arena none = {0};
    return finish(&none, &envelope, request_id, ret_frame);
}

int reply_verdict(uint64_t request_id, const Job *job, ReplyFrame *ret_frame) {
    CLEANUP(arena_deinit) Arena arena = {0};
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_VERDICT;
    envelope.verdict = encode_verdict(&arena, job, true);
    return finish(&arena, &envelope, request_id, ret_frame);
}

int reply_job(uint64_t request_id, const Job *job, ReplyFrame *ret_frame) {
    CLEANUP(arena_deinit) Arena arena = {0};
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_JOB;
    envelope.job = encode_job(&arena, job, true);
    return finish(&arena, &envelope, request_id, ret_frame);
}

int reply_jobs(uint64_t request_id, Job *const *jobs, size_t n_jobs, bool more,
               ReplyFrame *ret_frame) {
    CLEANUP(arena_deinit) Arena arena = {0};
    Tb__JobList list = TB__JOB_LIST__INIT;
    list.jobs = arena_take(&arena, n_jobs, sizeof *list.jobs);
    for (size_t i = 0; i < n_jobs && !arena.failed; i++)
        list.jobs[list.n_jobs++] = encode_job(&arena, jobs[i], false);
    list.more = more;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_JOBS;
    envelope.jobs = &list;
    return finish(&arena, &envelope, request_id, ret_frame);
}

int reply_done(uint64_t request_id, const char *message, ReplyFrame *ret_frame) {
    Tb__Done done = TB__DONE__INIT;
    done.message = text(message);
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_DONE;
    envelope.done = &done;
    Arena none = {0};
    return finish(&none, &envelope, request_id, ret_frame);
}

/* ---- status and doctor ---- */

static Tb__MissingLayer **encode_missing(Arena *arena, const TextList *names,
                                         const TextList *reasons) {
    Tb__MissingLayer **items = arena_take(arena, names->n_items, sizeof *items);
    for (size_t i = 0; i < names->n_items && !arena->failed; i++) {
        items[i] = MAKE(arena, Tb__MissingLayer, TB__MISSING_LAYER__INIT);
        if (!items[i]) return NULL;
        items[i]->name = text(names->items[i]);
        items[i]->reason = text(reasons->items[i]);
    }
    return items;
}

static Tb__ProfileStatus *encode_pool(Arena *arena, const Pool *pool, uint64_t now_ms,
                                      size_t n_queued) {
    Tb__ProfileStatus *message = MAKE(arena, Tb__ProfileStatus, TB__PROFILE_STATUS__INIT);
    if (!message) return NULL;
    const PoolCounts counts = pool_count(pool);
    const Health *health = &pool->health;
    message->name = text(pool->profile->name);
    message->health = text(health_state_name(health->state));
    message->starting = counts.starting;
    message->ready = counts.ready;
    message->busy = counts.busy;
    message->queued = (uint32_t)n_queued;
    message->fill_failures_total = pool->fill_failures_total;
    message->diagnosis = text(pool->diagnosis);
    if (health->state == HEALTH_UNHEALTHY && health->retry_at_ms > now_ms)
        message->retry_in_ms = health->retry_at_ms - now_ms;
    message->interpreter = text(pool->profile->interpreter);
    message->version = text(pool->version);
    message->enforced = pool->enforced.items;
    message->n_enforced = pool->enforced.n_items;
    message->missing = encode_missing(arena, &pool->survey.missing, &pool->survey.reasons);
    message->n_missing = pool->survey.missing.n_items;
    return message;
}

static void encode_pools(Arena *arena, const StatusReport *report, Tb__Status *message) {
    size_t n = 0;
    const List *pools = &report->scheduler->pools;
    list_each(counted, pools) n++;
    message->profiles = arena_take(arena, n, sizeof *message->profiles);
    list_each(link, pools) {
        if (arena->failed) return;
        const Pool *pool = list_entry(link, Pool, link);
        message->profiles[message->n_profiles++] = encode_pool(arena, pool, report->now_ms,
                                                               pool_n_waiting(pool));
    }
}

int reply_status(uint64_t request_id, const StatusReport *report, ReplyFrame *ret_frame) {
    CLEANUP(arena_deinit) Arena arena = {0};
    const Scheduler *scheduler = report->scheduler;
    Tb__Status status = TB__STATUS__INIT;
    status.software = text("tbsandboxd " TBSANDBOX_VERSION);
    status.uptime_ms = report->uptime_ms;
    status.draining = scheduler->draining;
    status.connections = report->n_connections;
    status.queued = (uint32_t)scheduler->n_queued;
    status.queue_max = scheduler->config->queue_max_jobs;
    status.running = (uint32_t)scheduler->n_running;
    status.accepted_total = scheduler->totals.accepted;
    status.passed_total = scheduler->totals.passed;
    status.failed_total = scheduler->totals.failed;
    status.infrastructure_total = scheduler->totals.infrastructure;
    status.refused_total = scheduler->totals.refused;
    status.config_generation = report->config_generation;
    encode_pools(&arena, report, &status);
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_STATUS;
    envelope.status = &status;
    return finish(&arena, &envelope, request_id, ret_frame);
}

static void encode_checks(Arena *arena, const ProfileReport *report, Tb__ProfileReport *message) {
    message->checks = arena_take(arena, report->n_checks, sizeof *message->checks);
    for (size_t i = 0; i < report->n_checks && !arena->failed; i++) {
        Tb__DoctorCheck *check = MAKE(arena, Tb__DoctorCheck, TB__DOCTOR_CHECK__INIT);
        if (!check) return;
        check->name = text(report->checks[i].name);
        check->expected = text(report->checks[i].expected);
        check->seen = text(report->checks[i].seen);
        check->ok = report->checks[i].ok;
        message->checks[message->n_checks++] = check;
    }
}

static Tb__ProfileReport *encode_report(Arena *arena, const ProfileReport *report) {
    Tb__ProfileReport *message = MAKE(arena, Tb__ProfileReport, TB__PROFILE_REPORT__INIT);
    if (!message) return NULL;
    message->profile = text(report->profile);
    message->healthy = report->healthy;
    message->diagnosis = text(report->diagnosis);
    message->interpreter = text(report->interpreter);
    message->version = text(report->version);
    message->enforced = report->enforced.items;
    message->n_enforced = report->enforced.n_items;
    message->missing = encode_missing(arena, &report->missing, &report->reasons);
    message->n_missing = report->missing.n_items;
    encode_checks(arena, report, message);
    return message;
}

int reply_doctor(uint64_t request_id, const ProfileReport *reports, size_t n_reports,
                 ReplyFrame *ret_frame) {
    CLEANUP(arena_deinit) Arena arena = {0};
    Tb__DoctorReport report = TB__DOCTOR_REPORT__INIT;
    report.healthy = n_reports > 0;
    report.profiles = arena_take(&arena, n_reports, sizeof *report.profiles);
    for (size_t i = 0; i < n_reports && !arena.failed; i++) {
        report.profiles[report.n_profiles++] = encode_report(&arena, &reports[i]);
        report.healthy = report.healthy && reports[i].healthy;
    }
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_DOCTOR_REPORT;
    envelope.doctor_report = &report;
    return finish(&arena, &envelope, request_id, ret_frame);
}
