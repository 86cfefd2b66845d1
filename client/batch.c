#include "batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "config/units.h"
#include "printable.h"
#include "progress.h"

enum { MAX_IN_FLIGHT = 64, RETRY_MIN_MS = 10, RETRY_MAX_MS = 5000 };

typedef struct Batch {
    Link *link;
    const BatchOptions *options;
    BatchJob *jobs;
    size_t n_jobs;
    size_t n_reported;
    size_t first_pending; /* none before it is pending */
    BatchJob *in_flight[MAX_IN_FLIGHT];
    size_t n_in_flight;
    uint64_t retry_at_ms; /* nothing is sent before; 0: at once */
    Progress progress;
} Batch;

/* ---- the end of a job ---- */

/* The verdict that stands for a missing one, so that every job ends in the same shape. */
static Tb__Verdict *make_no_verdict(const BatchJob *job, const char *message) {
    Tb__Verdict *verdict = calloc(1, sizeof *verdict);
    Tb__Failure *failure = calloc(1, sizeof *failure);
    Tb__Failure **failures = calloc(1, sizeof *failures);
    char *code = strdup(BATCH_NO_VERDICT), *text = strdup(message);
    char *job_id = strdup(job->job_id ? job->job_id : "");
    if (!verdict || !failure || !failures || !code || !text || !job_id) {
        free(verdict), free(failure), free(failures), free(code), free(text), free(job_id);
        return NULL;
    }
    *verdict = (Tb__Verdict)TB__VERDICT__INIT;
    *failure = (Tb__Failure)TB__FAILURE__INIT;
    failure->code = code;
    failure->message = text;
    failures[0] = failure;
    verdict->job_id = job_id;
    verdict->kind = TB__VERDICT_KIND__INFRASTRUCTURE_FAILURE;
    verdict->failures = failures;
    verdict->n_failures = 1;
    return verdict;
}

static void leave_flight(Batch *batch, const BatchJob *job) {
    for (size_t i = 0; i < batch->n_in_flight; i++)
        if (batch->in_flight[i] == job) {
            batch->in_flight[i] = batch->in_flight[--batch->n_in_flight];
            return;
        }
}

static void verdict_free(Tb__Verdict *verdict) {
    if (verdict) tb__verdict__free_unpacked(verdict, NULL);
}

static void report_done(Batch *batch) {
    progress_clear(&batch->progress);
    for (; batch->n_reported < batch->n_jobs; batch->n_reported++) {
        BatchJob *job = &batch->jobs[batch->n_reported];
        if (job->state != BATCH_DONE) break;
        batch->options->report(job, batch->options->context);
        verdict_free(TAKE(job->verdict));
    }
    if (batch->n_reported < batch->n_jobs) progress_show(&batch->progress);
}

static void finish(Batch *batch, BatchJob *job) {
    leave_flight(batch, job);
    job->state = BATCH_DONE;
    progress_count(&batch->progress,
                   job->verdict ? job->verdict->kind : TB__VERDICT_KIND__VERDICT_UNSPECIFIED);
    report_done(batch);
}

static int finish_without(Batch *batch, BatchJob *job, const char *message) {
    job->verdict = make_no_verdict(job, message);
    if (!job->verdict) return error_origin(-ENOMEM);
    finish(batch, job);
    return 0;
}

/* `why` is about the link; a job that was accepted goes on, and its id is the way back to it. */
static int abandon(Batch *batch, BatchJob *job, const char *why) {
    CLEANUP(freep) char *message = NULL;
    int r;
    if (job->state == BATCH_PENDING && job->refusal)
        r = text_format(&message, "%s; %s", job->refusal, why);
    else if (job->state == BATCH_ACCEPTED || job->job_id)
        r = text_format(&message, "%s; the job goes on if tbsandboxd does, see: tbclient wait %s",
                        why, job->job_id);
    else
        r = text_format(&message, "%s", why);
    return r < 0 ? error_fold(r) : finish_without(batch, job, message);
}

static int abandon_all(Batch *batch, const char *why) {
    for (size_t i = batch->n_reported; i < batch->n_jobs; i++) {
        if (batch->jobs[i].state == BATCH_DONE) continue;
        const int r = abandon(batch, &batch->jobs[i], why);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int abandon_late(Batch *batch) {
    char seconds[UNITS_TEXT_BYTES];
    Trouble trouble;
    units_format_seconds(batch->options->wait_ms, seconds);
    trouble_set(&trouble, "no %s within %s s (--wait-s)",
                batch->options->detach ? "answer" : "verdict", seconds);
    return abandon_all(batch, trouble.text);
}

/* ---- sending ---- */

static int send_job(Batch *batch, BatchJob *job) {
    Tb__Wait wait = TB__WAIT__INIT;
    Tb__Envelope request = TB__ENVELOPE__INIT;
    if (job->submit) {
        job->submit->follow = !batch->options->detach;
        request.body_case = TB__ENVELOPE__BODY_SUBMIT;
        request.submit = job->submit;
    } else {
        wait.job_id = job->job_id;
        request.body_case = TB__ENVELOPE__BODY_WAIT;
        request.wait = &wait;
    }
    Trouble trouble;
    const int r = link_send(batch->link, &request, &trouble, &job->request_id);
    if (r == TROUBLE_E_TOLD) return finish_without(batch, job, trouble.text);
    if (r < 0) return error_fold(r);
    job->state = BATCH_SENT;
    batch->in_flight[batch->n_in_flight++] = job;
    return 0;
}

static BatchJob *next_pending(Batch *batch) {
    for (; batch->first_pending < batch->n_jobs; batch->first_pending++)
        if (batch->jobs[batch->first_pending].state == BATCH_PENDING)
            return &batch->jobs[batch->first_pending];
    return NULL;
}

/* One frame waits at most, so that the memory for frames is bounded by the largest of them. */
static int send_pending(Batch *batch) {
    if (clock_mono_ms() < batch->retry_at_ms) return 0;
    while (batch->n_in_flight < MAX_IN_FLIGHT && !link_is_sending(batch->link)) {
        BatchJob *job = next_pending(batch);
        if (!job) return 0;
        const int r = send_job(batch, job);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

/* ---- replies ---- */

static int on_accepted(Batch *batch, BatchJob *job, const Tb__Accepted *accepted) {
    char *job_id = strdup(accepted->job_id);
    if (!job_id) return error_origin(-ENOMEM);
    free(job->job_id);
    job->job_id = job_id;
    job->known = accepted->known;
    job->state = BATCH_ACCEPTED;
    if (batch->options->detach) finish(batch, job);
    return 0;
}

/* A verdict is taken for one only when it holds together. */
static bool is_sound(const Tb__Verdict *verdict) {
    switch (verdict->kind) {
    case TB__VERDICT_KIND__PASSED:
        return verdict->child_started && verdict->n_failures == 0;
    case TB__VERDICT_KIND__FAILED:
    case TB__VERDICT_KIND__INFRASTRUCTURE_FAILURE:
        return verdict->n_failures > 0;
    default:
        return false;
    }
}

static int on_verdict(Batch *batch, BatchJob *job, Tb__Envelope *envelope) {
    if (!is_sound(envelope->verdict))
        return finish_without(batch, job, "the daemon's verdict contradicts itself");
    job->verdict = TAKE(envelope->verdict);
    envelope->body_case = TB__ENVELOPE__BODY__NOT_SET;
    job->is_from_daemon = true;
    if (!job->job_id) job->job_id = strdup(job->verdict->job_id);
    if (!job->job_id) return error_origin(-ENOMEM);
    finish(batch, job);
    return 0;
}

static uint64_t retry_delay_ms(const Tb__Error *error) {
    if (error->retry_after_ms < RETRY_MIN_MS) return RETRY_MIN_MS;
    return error->retry_after_ms > RETRY_MAX_MS ? RETRY_MAX_MS : error->retry_after_ms;
}

/* A full daemon is asked again; every other refusal is final. */
static int on_error(Batch *batch, BatchJob *job, const Tb__Error *error) {
    Trouble trouble = {""};
    link_explain_error(error, &trouble);
    if (error->code != TB__ERROR_CODE__RESOURCE_EXHAUSTED)
        return finish_without(batch, job, trouble.text);
    char *refusal = strdup(trouble.text);
    if (!refusal) return error_origin(-ENOMEM);
    free(job->refusal);
    job->refusal = refusal;
    job->state = BATCH_PENDING;
    leave_flight(batch, job);
    const size_t index = (size_t)(job - batch->jobs);
    if (index < batch->first_pending) batch->first_pending = index;
    batch->retry_at_ms = clock_mono_ms() + retry_delay_ms(error);
    return 0;
}

static BatchJob *find_in_flight(const Batch *batch, uint64_t request_id) {
    for (size_t i = 0; i < batch->n_in_flight; i++)
        if (batch->in_flight[i]->request_id == request_id) return batch->in_flight[i];
    return NULL;
}

static int on_message(Batch *batch, Tb__Envelope *envelope) {
    BatchJob *job = find_in_flight(batch, envelope->request_id);
    if (!job) return 0;
    switch (envelope->body_case) {
    case TB__ENVELOPE__BODY_ACCEPTED:
        return on_accepted(batch, job, envelope->accepted);
    case TB__ENVELOPE__BODY_EVENT:
        return 0;
    case TB__ENVELOPE__BODY_VERDICT:
        return on_verdict(batch, job, envelope);
    case TB__ENVELOPE__BODY_ERROR:
        return on_error(batch, job, envelope->error);
    default:
        return finish_without(batch, job, "the daemon answers with something else than a verdict");
    }
}

/* ---- the loop ---- */

/* Until when to wait for a message: with jobs to send again, not longer than that. */
static uint64_t wake_at_ms(Batch *batch) {
    const uint64_t deadline_ms = batch->options->deadline_ms;
    if (batch->n_in_flight == MAX_IN_FLIGHT || !next_pending(batch)) return deadline_ms;
    if (batch->retry_at_ms <= clock_mono_ms()) return deadline_ms;
    return batch->retry_at_ms < deadline_ms ? batch->retry_at_ms : deadline_ms;
}

static int receive_one(Batch *batch) {
    CLEANUP(link_message_freep) Tb__Envelope *envelope = NULL;
    Trouble trouble;
    const int r = link_receive(batch->link, wake_at_ms(batch), &trouble, &envelope);
    if (r == TROUBLE_E_TIMEOUT) return 0;
    if (r == TROUBLE_E_TOLD) return abandon_all(batch, trouble.text);
    return r ? r : on_message(batch, envelope);
}

static int run(Batch *batch) {
    progress_show(&batch->progress);
    while (batch->n_reported < batch->n_jobs) {
        if (clock_mono_ms() >= batch->options->deadline_ms) return abandon_late(batch);
        int r = send_pending(batch);
        if (r < 0) return error_fold(r);
        if (batch->n_reported == batch->n_jobs) return 0;
        r = receive_one(batch);
        if (r) return r;
    }
    return 0;
}

int batch_run(Link *link, const BatchOptions *options, BatchJob *jobs, size_t n_jobs) {
    Batch batch = {
        .link = link,
        .options = options,
        .jobs = jobs,
        .n_jobs = n_jobs,
        .progress = progress_start(n_jobs),
    };
    const int r = run(&batch);
    progress_clear(&batch.progress);
    return r;
}

void batch_jobs_deinit(BatchJob *jobs, size_t n_jobs) {
    for (size_t i = 0; i < n_jobs; i++) {
        free(jobs[i].job_id);
        free(jobs[i].refusal);
        verdict_free(jobs[i].verdict);
        jobs[i] = (BatchJob){0};
    }
}

void batch_tell_unfinished(const BatchJob *jobs, size_t n_jobs) {
    bool any = false;
    for (size_t i = 0; i < n_jobs; i++) {
        if (jobs[i].state != BATCH_ACCEPTED && !(jobs[i].state == BATCH_SENT && jobs[i].job_id))
            continue;
        fputs(any ? " " : "tbclient: these jobs go on; see: tbclient wait ", stderr);
        printable_text(stderr, jobs[i].job_id);
        any = true;
    }
    if (any) fputc('\n', stderr);
}
