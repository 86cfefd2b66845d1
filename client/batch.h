/* Batch: many jobs over one link, so many at a time, each until its verdict or until it is known
 * why there is none. Tries again when the daemon is full. Prints nothing but progress and makes no
 * verdict out of a doubt. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link.h"

/* Code of the one failure in a verdict that the client made itself, because it got none. */
#define BATCH_NO_VERDICT "no_verdict"

typedef enum BatchState {
    BATCH_PENDING,  /* to be sent, or sent again */
    BATCH_SENT,     /* not answered yet */
    BATCH_ACCEPTED, /* the daemon has it */
    BATCH_DONE,
} BatchState;

typedef struct BatchJob {
    const char *name;   /* borrowed: what the user calls it */
    Tb__Submit *submit; /* borrowed; NULL: wait for the job `job_id` */
    char *job_id;       /* owned; NULL until the daemon says it */
    BatchState state;
    uint64_t request_id;
    bool known;           /* the daemon had it already */
    char *refusal;        /* owned: what a full daemon said last */
    Tb__Verdict *verdict; /* owned; set once it is done, but for a detached one that was accepted */
    bool is_from_daemon;  /* false: `verdict` says why there is none */
} BatchJob;

typedef struct BatchOptions {
    uint64_t deadline_ms; /* monotonic */
    uint64_t wait_ms;     /* what the deadline was made of, for messages */
    bool detach;          /* done when accepted */
    /* Called for each job in their order, once it and all before it are done; its verdict is freed
     * afterwards. */
    void (*report)(const BatchJob *job, void *context);
    void *context;
} BatchOptions;

/* 0 when every job was reported, TROUBLE_E_INTERRUPTED, or -errno. */
int batch_run(Link *link, const BatchOptions *options, BatchJob *jobs, size_t n_jobs);
/* Frees what the jobs own. */
void batch_jobs_deinit(BatchJob *jobs, size_t n_jobs);

/* Names on standard error the jobs that go on without us. */
void batch_tell_unfinished(const BatchJob *jobs, size_t n_jobs);
