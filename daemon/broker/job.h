/* Job: what a client asked for, how far it has come, and its verdict. Moves only along its own
 * table; never touches an environment or a connection. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/text.h"
#include "config/config.h"
#include "platform/peer.h"
#include "verdict/verdict.h"

enum { JOB_ID_BYTES = 19 }; /* "j-", 16 hex digits, NUL */

typedef struct Blob {
    uint8_t *bytes;
    size_t n_bytes;
} Blob;

typedef struct JobInput {
    char *name;
    Blob content;
} JobInput;

typedef struct JobCanary {
    char *id;
    Blob value;
} JobCanary;

typedef struct JobLabel {
    char *key;
    char *value;
} JobLabel;

/* A validated submission. Owns what it points to. A limit of 0 means the profile's. */
typedef struct JobSpec {
    char *idempotency_key;
    Blob code;
    char *file_name;
    char *profile;
    JobInput *inputs;
    size_t n_inputs;
    TextList protected_columns;
    JobCanary *canaries;
    size_t n_canaries;
    JobLabel *labels;
    size_t n_labels;
    Limits limits;
    unsigned repeats; /* at least 1 */
} JobSpec;

void job_spec_deinit(JobSpec *spec);
/* Bytes of code, inputs, canaries and columns: what the job holds until its verdict. */
size_t job_spec_bytes(const JobSpec *spec);

/* The environment of a job's last run, kept for its records. Owns its texts. */
typedef struct EnvironmentRecord {
    char id[64];
    char *interpreter;
    char *version;
    bool hash_randomized;
    uint64_t hash_sample;
    uint64_t validated_ms; /* since the epoch */
    TextList enforced;
} EnvironmentRecord;

void environment_record_deinit(EnvironmentRecord *record);

typedef enum JobState { JOB_QUEUED, JOB_RUNNING, JOB_FINISHED, JOB_STATE_COUNT } JobState;
typedef enum JobEvent {
    JOB_EVENT_LEASED,
    JOB_EVENT_AGAIN,
    JOB_EVENT_VERDICT,
    JOB_EVENT_COUNT
} JobEvent;

const char *job_state_name(JobState state);

struct event;
struct Environment;
struct Pool;
struct Scheduler;
typedef struct Job Job;

/* Called once, when the verdict is there. */
typedef void (*JobFinished)(Job *job, void *data);

struct Job {
    char id[JOB_ID_BYTES];
    char peer[PEER_ID_BYTES];
    JobSpec spec;
    size_t bytes; /* job_spec_bytes when it was submitted */
    JobState state;
    uint64_t submitted_ms; /* since the epoch */
    uint64_t finished_ms;

    struct Scheduler *scheduler; /* whose job it is; borrowed, as is the pool */
    struct Pool *pool;
    bool is_probe; /* of the self-test: seen by no client */
    JobFinished finished;
    void *finished_data;

    unsigned attempts;
    bool received;         /* the start marker of the attempt that is on was seen */
    unsigned undispatched; /* leases of environments that had died meanwhile */
    unsigned runs_done;    /* of spec.repeats */
    NativeCrash *crashes;
    size_t n_crashes;
    unsigned run_crashes; /* native crashes of the run that is on */
    Verdict *kept;        /* of the repeats so far: the first that failed, or the first */
    Facts *first_run;     /* what later runs are compared with, when `kept` does not hold it */

    Verdict *verdict;
    struct Environment *environment; /* while running */
    EnvironmentRecord record;        /* id empty before the first run */

    List followers;         /* of Follower, see session.h */
    List queue_link;        /* in its pool's queue while queued */
    List age_link;          /* in the registry: every job, newest first */
    List peer_link;         /* in the registry: those of its peer, newest first */
    size_t kept_bytes;      /* what the registry counts for it once it is finished */
    struct event *deadline; /* while queued: no environment in time */
};

/* A queued job with a new random id. Takes over *spec. The caller frees it. 0 or -ENOMEM. */
int job_new(JobSpec *spec, const char *peer, Job **ret_job);
Job *job_free(Job *job); /* takes NULL, returns NULL */

/* Moves the job by the table; false (and no change) for an event that its state does not know. */
bool job_enter(Job *job, JobEvent event);

/* Notes a native crash. 0 or -ENOMEM. */
int job_add_crash(Job *job, const Facts *facts);
/* Drops code, inputs and canaries, and runs that led to the verdict: a finished job holds no
 * canary's value. */
void job_drop_payload(Job *job);
