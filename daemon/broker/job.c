#include "broker/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <sodium.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"

static void blob_deinit(Blob *blob) {
    if (blob->bytes) sodium_memzero(blob->bytes, blob->n_bytes);
    free(blob->bytes);
    *blob = (Blob){0};
}

static void drop_payload(JobSpec *spec) {
    blob_deinit(&spec->code);
    for (size_t i = 0; i < spec->n_inputs; i++) {
        free(spec->inputs[i].name);
        blob_deinit(&spec->inputs[i].content);
    }
    for (size_t i = 0; i < spec->n_canaries; i++) {
        free(spec->canaries[i].id);
        blob_deinit(&spec->canaries[i].value);
    }
    free(spec->inputs);
    free(spec->canaries);
    text_list_deinit(&spec->protected_columns);
    spec->inputs = NULL;
    spec->canaries = NULL;
    spec->n_inputs = spec->n_canaries = 0;
}

void job_spec_deinit(JobSpec *spec) {
    drop_payload(spec);
    for (size_t i = 0; i < spec->n_labels; i++) {
        free(spec->labels[i].key);
        free(spec->labels[i].value);
    }
    free(spec->labels);
    free(spec->idempotency_key);
    free(spec->file_name);
    free(spec->profile);
    *spec = (JobSpec){0};
}

size_t job_spec_bytes(const JobSpec *spec) {
    size_t bytes = spec->code.n_bytes;
    for (size_t i = 0; i < spec->n_inputs; i++) bytes += spec->inputs[i].content.n_bytes;
    for (size_t i = 0; i < spec->n_canaries; i++) bytes += spec->canaries[i].value.n_bytes;
    for (size_t i = 0; i < spec->protected_columns.n_items; i++)
        bytes += strlen(spec->protected_columns.items[i]);
    return bytes;
}

void environment_record_deinit(EnvironmentRecord *record) {
    free(record->interpreter);
    free(record->version);
    text_list_deinit(&record->enforced);
    *record = (EnvironmentRecord){0};
}

/* state and event → state; what is not listed is refused. */
static const struct {
    bool known;
    JobState next;
} transitions[JOB_STATE_COUNT][JOB_EVENT_COUNT] = {
    [JOB_QUEUED][JOB_EVENT_LEASED] = {true, JOB_RUNNING},
    [JOB_QUEUED][JOB_EVENT_VERDICT] = {true, JOB_FINISHED},
    [JOB_RUNNING][JOB_EVENT_AGAIN] = {true, JOB_QUEUED},
    [JOB_RUNNING][JOB_EVENT_VERDICT] = {true, JOB_FINISHED},
};

const char *job_state_name(JobState state) {
    static const char *const names[] = {"queued", "running", "finished"};
    return names[state];
}

bool job_enter(Job *job, JobEvent event) {
    if (!transitions[job->state][event].known) return false;
    job->state = transitions[job->state][event].next;
    log_write(LOG_LEVEL_DEBUG, (LogContext){job->id, NULL}, 0, "%s", job_state_name(job->state));
    return true;
}

int job_new(JobSpec *spec, const char *peer, Job **ret_job) {
    Job *job = calloc(1, sizeof *job);
    if (!job) return error_origin(-ENOMEM);
    uint8_t random[8];
    randombytes_buf(random, sizeof random);
    memcpy(job->id, "j-", 2);
    sodium_bin2hex(job->id + 2, sizeof job->id - 2, random, sizeof random);
    snprintf(job->peer, sizeof job->peer, "%s", peer);
    job->spec = *spec;
    *spec = (JobSpec){0};
    job->bytes = job_spec_bytes(&job->spec);
    job->submitted_ms = clock_wall_ms();
    list_init(&job->followers);
    list_init(&job->queue_link);
    list_init(&job->age_link);
    list_init(&job->peer_link);
    *ret_job = job;
    return 0;
}

static void drop_crashes(Job *job) {
    for (size_t i = 0; i < job->n_crashes; i++) {
        free(job->crashes[i].excerpt);
        free(job->crashes[i].environment_id);
    }
    free(job->crashes);
    job->crashes = NULL;
    job->n_crashes = 0;
}

Job *job_free(Job *job) {
    if (!job) return NULL;
    if (job->deadline) event_free(job->deadline);
    drop_crashes(job);
    facts_free(job->first_run);
    verdict_free(job->kept);
    verdict_free(job->verdict);
    environment_record_deinit(&job->record);
    job_spec_deinit(&job->spec);
    free(job);
    return NULL;
}

int job_add_crash(Job *job, const Facts *facts) {
    NativeCrash *crashes = realloc(job->crashes, (job->n_crashes + 1) * sizeof *crashes);
    if (!crashes) return error_origin(-ENOMEM);
    job->crashes = crashes;
    NativeCrash crash = {
        .attempt = job->attempts,
        .signal = facts->signal,
        .excerpt = strdup(facts->excerpt ? facts->excerpt : ""),
        .environment_id = strdup(facts->environment_id ? facts->environment_id : ""),
    };
    if (!crash.excerpt || !crash.environment_id) {
        free(crash.excerpt);
        free(crash.environment_id);
        return error_origin(-ENOMEM);
    }
    job->crashes[job->n_crashes++] = crash;
    job->run_crashes++;
    return 0;
}

void job_drop_payload(Job *job) {
    drop_payload(&job->spec);
    job->first_run = facts_free(job->first_run);
    job->kept = verdict_free(job->kept);
}
