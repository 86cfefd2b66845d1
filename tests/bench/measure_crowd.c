/* Several clients. With a pool as large as the crowd, and all of it ready before anybody submits,
 * the figure is latency; with the default pool and no waiting it is how many jobs get through. */
#include "measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "caller.h"
#include "crowd.h"
#include "service.h"

enum { N_SIZES = 4, N_JOBS = 2, DEFAULT_MIN_READY = 2, DEFAULT_MAX = 4, NAME_BYTES = 96 };

static const unsigned sizes[N_SIZES] = {1, 2, 4, CROWD_MAX};

typedef struct CrowdJob {
    WorkloadKind kind;
    const char *profile;
    unsigned n_counted; /* jobs of one measurement of throughput */
} CrowdJob;

static const CrowdJob jobs[N_JOBS] = {{WORKLOAD_PANDAS, "pandas", 8},
                                      {WORKLOAD_STDLIB, "stdlib", 60}};

typedef struct Crowds {
    Service *service;
    Caller *caller;
    Crowd *crowds[N_JOBS][N_SIZES];
    Sample latency_ms[N_JOBS][N_SIZES];
    Sample jobs_per_s[N_JOBS][N_SIZES];
} Crowds;

static void close_all(Crowds *crowds) {
    for (unsigned job = 0; job < N_JOBS; job++)
        for (unsigned size = 0; size < N_SIZES; size++)
            crowds->crowds[job][size] = crowd_free(crowds->crowds[job][size]);
    crowds->caller = caller_close(crowds->caller);
    crowds->service = service_stop(crowds->service);
}

static void crowds_freep(Crowds **crowds) {
    if (*crowds) close_all(*crowds);
    free(*crowds);
}

static int open_all(const Bench *bench, Crowds *crowds, unsigned min_ready, unsigned max,
                    Trouble *trouble) {
    const ServiceProfile profiles[N_JOBS] = {{"pandas", SERVICE_PANDAS, false, min_ready, max},
                                             {"stdlib", SERVICE_STDLIB, false, min_ready, max}};
    int r = service_start(bench->build, profiles, N_JOBS, trouble, &crowds->service);
    if (r != 0) return r;
    const char *socket = service_socket(crowds->service);
    r = caller_open(socket, trouble, &crowds->caller);
    for (unsigned job = 0; job < N_JOBS; job++)
        for (unsigned size = 0; r == 0 && size < N_SIZES; size++)
            r = crowd_new(socket, sizes[size], jobs[job].kind, jobs[job].profile, trouble,
                          &crowds->crowds[job][size]);
    return r;
}

static int run_ready(const Bench *bench, Crowds *crowds, Trouble *trouble) {
    const unsigned n_rounds = bench->rounds / 4 > 0 ? bench->rounds / 4 : 1;
    int r = open_all(bench, crowds, CROWD_MAX, CROWD_MAX, trouble);
    for (unsigned round = 0; r == 0 && round < n_rounds; round++)
        for (unsigned i = 0; r == 0 && i < N_JOBS * N_SIZES; i++) {
            const unsigned job = i % N_JOBS, size = i / N_JOBS;
            r = caller_settle(crowds->caller, CROWD_MAX, trouble);
            if (r == 0)
                r = crowd_run_once(crowds->crowds[job][size], &crowds->latency_ms[job][size],
                                   trouble);
        }
    close_all(crowds);
    return r;
}

/* The first jobs find ready environments and do not count. */
static int run_busy(const Bench *bench, Crowds *crowds, Trouble *trouble) {
    const unsigned n_rounds = bench->rounds / 6 > 0 ? bench->rounds / 6 : 1;
    Sample *unused = calloc(1, sizeof *unused);
    if (!unused) return trouble_set(trouble, "%s", strerror(ENOMEM));
    int r = open_all(bench, crowds, DEFAULT_MIN_READY, DEFAULT_MAX, trouble);
    for (unsigned round = 0; r == 0 && round < n_rounds; round++)
        for (unsigned i = 0; r == 0 && i < N_JOBS * N_SIZES; i++) {
            const unsigned job = i % N_JOBS, size = i / N_JOBS;
            double jobs_per_s = 0;
            r = caller_settle(crowds->caller, DEFAULT_MIN_READY, trouble);
            if (r == 0)
                r = crowd_run_many(crowds->crowds[job][size], DEFAULT_MAX, jobs[job].n_counted,
                                   unused, trouble, &jobs_per_s);
            if (r == 0) sample_add(&crowds->jobs_per_s[job][size], jobs_per_s);
        }
    free(unused);
    close_all(crowds);
    return r;
}

static void report_all(const Bench *bench, Sample samples[N_JOBS][N_SIZES], const char *unit) {
    for (unsigned job = 0; job < N_JOBS; job++)
        for (unsigned size = 0; size < N_SIZES; size++) {
            char name[NAME_BYTES];
            snprintf(name, sizeof name, "%s job, %u client%s", jobs[job].profile, sizes[size],
                     sizes[size] == 1 ? "" : "s");
            report_samples(bench->report, name, unit, &samples[job][size], NO_BOUND);
        }
}

int measure_crowd(const Bench *bench, Trouble *trouble) {
    CLEANUP(crowds_freep) Crowds *crowds = calloc(1, sizeof *crowds);
    if (!crowds) return trouble_set(trouble, "%s", strerror(ENOMEM));
    report_section(bench->report, "Submit to verdict, all clients at once, an environment ready "
                                  "for each");
    int r = run_ready(bench, crowds, trouble);
    if (r != 0) return r;
    report_all(bench, crowds->latency_ms, "ms");
    report_section(bench->report, "Throughput without waiting, default pool (2 ready, at most 4)");
    r = run_busy(bench, crowds, trouble);
    if (r != 0) return r;
    report_all(bench, crowds->jobs_per_s, "jobs/s");
    return 0;
}
