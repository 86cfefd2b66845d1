/* Crowd: several clients at once, each with a connection and a thread of its own. */
#pragma once

#include "client/trouble.h"
#include "sample.h"
#include "workload.h"

enum { CROWD_MAX = 16 };

typedef struct Crowd Crowd;

/* Opens the connections. 0 or TROUBLE_E_TOLD, here and below. */
int crowd_new(const char *socket, unsigned n_clients, WorkloadKind kind, const char *profile,
              Trouble *trouble, Crowd **ret_crowd);
/* Takes NULL, returns NULL. */
Crowd *crowd_free(Crowd *crowd);

/* Each runs one job, all at the same time. */
int crowd_run_once(Crowd *crowd, Sample *latency_ms, Trouble *trouble);
/* All together run n_skipped + n_jobs jobs, each the next one as soon as its own is done; the rate
 * is that of the last n_jobs. */
int crowd_run_many(Crowd *crowd, unsigned n_skipped, unsigned n_jobs, Sample *latency_ms,
                   Trouble *trouble, double *ret_jobs_per_s);

static inline void crowd_freep(Crowd **crowd) {
    crowd_free(*crowd);
}
