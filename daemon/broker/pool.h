/* Pool: the environments of one profile: keeps min_ready validated ones, accepts only those that
 * differ from every other interpreter start, counts and remembers failures, and opens the circuit
 * when nothing valid comes. Never runs a job; see scheduler.h. */
#pragma once

#include "broker/environment.h"
#include "broker/health.h"

typedef struct Queue Queue;
typedef struct Pool Pool;
struct DoctorRun;

enum { POOL_SAMPLES = 64 };

typedef enum PoolEvent {
    POOL_READY,  /* an environment waits for a job */
    POOL_HEALTH, /* the health state changed */
} PoolEvent;

/* What the pool tells its owner: its own changes, and what environments with a job report. */
typedef struct PoolOwner {
    void (*changed)(Pool *pool, PoolEvent event, void *data);
    void (*reported)(Pool *pool, Environment *environment, const EnvironmentReport *report,
                     void *data);
    /* An ended environment may have left this directory behind. */
    void (*left)(Pool *pool, const char *directory, void *data);
    void *data;
    const CgroupTree *cgroups; /* NULL: there are none, and no_cgroups says why */
    const char *no_cgroups;
} PoolOwner;

typedef struct PoolCounts {
    unsigned starting, ready, busy, closing;
} PoolCounts;

struct Pool {
    struct event_base *base;
    PoolOwner owner;
    Config *config; /* a reference of its own */
    const Profile *profile;
    Health health;
    char *diagnosis; /* of the last failure or failed self-test; NULL when there was none */
    char *version;   /* of the last validated interpreter */
    TextList enforced;
    bool is_surveyed; /* `survey` and `layers` hold what environments are made with */
    Survey survey;
    TextList layers;
    Code refusal;      /* what jobs are told while the circuit is open */
    List environments; /* every one that is not gone */
    Queue *probes;     /* jobs of the self-test */
    Queue *jobs;       /* of clients */
    struct event *retry;
    struct event *refill;
    uint64_t *next_number; /* of environments, shared by all pools */
    uint64_t fill_failures_total;
    uint64_t samples[POOL_SAMPLES]; /* of the latest interpreter starts */
    size_t n_samples, next_sample;
    bool stopping;  /* makes no more environments */
    unsigned epoch; /* counts changes of the profile: a self-test of an older one says nothing */
    struct DoctorRun *doctor; /* the self-test that is running, or NULL */
    List link;
};

/* 0 or -ENOMEM. The pool makes environments once pool_start is called. */
int pool_new(struct event_base *base, Config *config, const Profile *profile, PoolOwner owner,
             uint64_t *next_number, Pool **ret_pool);
/* Of a stopped, empty pool without jobs. Takes NULL, returns NULL. */
Pool *pool_free(Pool *pool);

/* Makes environments until there are enough for min_ready and for the jobs that wait. */
void pool_fill(Pool *pool);
/* The next ready environment, or NULL. It stays in the pool. */
Environment *pool_ready(Pool *pool);
PoolCounts pool_count(const Pool *pool);
/* Clients' jobs that wait for an environment. */
size_t pool_n_waiting(const Pool *pool);

/* Tells the circuit what a run or a self-test showed; `diagnosis` (copied) may be NULL. */
void pool_note(Pool *pool, HealthEvent event, const char *diagnosis);
/* Takes up a new config. Environments of a changed profile go and the self-test starts again. 0 or
 * -ENOMEM. */
int pool_configure(Pool *pool, Config *config, const Profile *profile);
/* Ends every environment that runs no job; makes no more. */
void pool_stop(Pool *pool);
/* The environment whose warden has this pid, or NULL. */
Environment *pool_find(const Pool *pool, pid_t pid);
