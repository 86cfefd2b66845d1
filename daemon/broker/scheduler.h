/* Scheduler: takes jobs in, gives each an environment in its turn, judges what came back, runs
 * again what must run again, and sees that every accepted job gets exactly one verdict. Owns the
 * pools and the registry. Knows no connection: it tells its owner by callback. */
#pragma once

#include "broker/job.h"
#include "broker/marker.h"
#include "broker/pool.h"
#include "broker/refusal.h"
#include "broker/registry.h"

typedef struct Scheduler Scheduler;

/* Documented result: the refusal says why. */
enum { SCHEDULER_E_REFUSED = 1 };

typedef struct SchedulerTotals {
    uint64_t accepted, passed, failed, infrastructure, refused;
} SchedulerTotals;

typedef struct SchedulerOwner {
    void (*job_changed)(Job *job, void *data); /* state, or the verdict is there */
    void (*pool_changed)(Pool *pool, PoolEvent event, void *data);
    void (*idle)(void *data);                        /* no unfinished job is left */
    void (*left)(const char *directory, void *data); /* of a warden that did not remove it */
    void *data;
    const CgroupTree *cgroups; /* of all environments; NULL: there are none */
    const char *no_cgroups;    /* why not */
} SchedulerOwner;

struct Scheduler {
    struct event_base *base;
    SchedulerOwner owner;
    Config *config; /* a reference of its own */
    MarkerKey marker_key;
    Registry *registry;
    List pools;
    List retired; /* pools of removed profiles, until their last environment is gone */
    uint64_t next_environment;
    bool draining;
    size_t n_queued, n_running;
    size_t payload_bytes; /* of unfinished jobs */
    SchedulerTotals totals;
    List accounts;      /* of peers with unfinished jobs */
    struct event *pump; /* starts jobs from the loop, after the replies that accept them */
};

/* Sets it up in place; starts filling the pools. 0 or -errno. */
int scheduler_init(Scheduler *scheduler, struct event_base *base, Config *config,
                   const MarkerKey *key, SchedulerOwner owner);
/* All environments must be gone, see scheduler_n_environments. */
void scheduler_deinit(Scheduler *scheduler);

/* Takes over *spec and accepts it as a job of `peer`, or finds the one known under its key (then
 * *ret_known is true). 0, SCHEDULER_E_REFUSED (then *spec is untouched), or -errno. */
int scheduler_submit(Scheduler *scheduler, JobSpec *spec, const char *peer, Job **ret_job,
                     bool *ret_known, Refusal *ret_refusal);
/* Runs a job of the self-test on a pool, whatever its health. `finished` gets the job, which is
 * freed afterwards. Takes over *spec. 0 or -errno. */
int scheduler_probe(Scheduler *scheduler, Pool *pool, JobSpec *spec, JobFinished finished,
                    void *data);
/* Gives an unfinished job its verdict now. */
void scheduler_end(Scheduler *scheduler, Job *job, Code code, const char *message);
/* Gives every unfinished client's job its verdict now. */
void scheduler_end_all(Scheduler *scheduler, Code code, const char *message);

/* Takes up a new config: pools are made, changed and retired. 0 or -errno. */
int scheduler_configure(Scheduler *scheduler, Config *config);
/* Stops or starts accepting. */
void scheduler_drain(Scheduler *scheduler, bool draining);
bool scheduler_is_idle(const Scheduler *scheduler);
/* Ends every environment. */
void scheduler_abort(Scheduler *scheduler);
size_t scheduler_n_environments(const Scheduler *scheduler);
/* The pids of all live wardens; the caller frees the list. 0 or -ENOMEM. */
int scheduler_wardens(const Scheduler *scheduler, pid_t **ret_pids, size_t *ret_n_pids);
/* A child of ours ended: tells its environment. False when it was nobody's. */
bool scheduler_exited(Scheduler *scheduler, const ProcessExit *exit);
Pool *scheduler_pool(const Scheduler *scheduler, const char *profile);
