/* Growth: jobs of several kinds, and what is more afterwards than after the first hundred of them,
 * when every buffer has its size. */
#include "measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "caller.h"
#include "client/host.h"
#include "crowd.h"
#include "service.h"
#include "processes.h"

enum { MIN_READY = 2, N_CLIENTS = 4, N_KINDS = 4, CHUNK = 25, REST_MS = 500, KIB = 1024 };

static const ServiceProfile profile = {"stdlib", SERVICE_STDLIB, false, MIN_READY, 4};

static const WorkloadKind kinds[N_KINDS] = {WORKLOAD_STDLIB, WORKLOAD_RAISES, WORKLOAD_LEAKS,
                                            WORKLOAD_OUTPUT_1MB};

typedef struct Growth {
    Service *service;
    Caller *caller;
    Crowd *crowds[N_KINDS];
    Sample unused;
} Growth;

/* How much there is of it. */
typedef struct Extent {
    uint64_t rss_bytes;
    uint64_t n_descriptors;
    uint64_t n_processes;
    uint64_t n_files;
} Extent;

static void growth_freep(Growth **growth) {
    if (!*growth) return;
    for (unsigned i = 0; i < N_KINDS; i++) crowd_free((*growth)->crowds[i]);
    caller_close((*growth)->caller);
    service_stop((*growth)->service);
    free(*growth);
}

static int prepare(const Bench *bench, Growth *growth, Trouble *trouble) {
    int r = service_start(bench->build, &profile, 1, trouble, &growth->service);
    if (r == 0) r = caller_open(service_socket(growth->service), trouble, &growth->caller);
    for (unsigned i = 0; r == 0 && i < N_KINDS; i++)
        r = crowd_new(service_socket(growth->service), N_CLIENTS, kinds[i], profile.name, trouble,
                      &growth->crowds[i]);
    return r;
}

static int look(Growth *growth, Trouble *trouble, Extent *ret_extent) {
    ProcessMemory memory = {0};
    ProcessList list = {.n_pids = 0};
    const pid_t pid = service_pid(growth->service);
    int r = caller_settle(growth->caller, MIN_READY, trouble);
    if (r == 0 && host_sleep_ms(REST_MS) != 0) r = trouble_set(trouble, "interrupted");
    if (r != 0) return r;
    r = processes_add_memory(pid, &memory);
    if (r == 0) r = processes_below(pid, &list);
    if (r == 0) r = processes_count_descriptors(pid, &ret_extent->n_descriptors);
    if (r == 0) r = processes_count_files(service_directory(growth->service), &ret_extent->n_files);
    if (r != 0) return trouble_set(trouble, "cannot see the daemon: %s", strerror(-r));
    ret_extent->rss_bytes = memory.rss_bytes;
    ret_extent->n_processes = list.n_pids;
    return 0;
}

/* So many jobs, kind after kind. */
static int run_jobs(Growth *growth, unsigned n_jobs, Trouble *trouble) {
    for (unsigned i = 0; n_jobs > 0; i++) {
        double unused;
        const unsigned n = n_jobs < CHUNK ? n_jobs : CHUNK;
        growth->unused.n_items = 0;
        const int r = crowd_run_many(growth->crowds[i % N_KINDS], 0, n, &growth->unused, trouble,
                                     &unused);
        if (r != 0) return r;
        n_jobs -= n;
    }
    return 0;
}

static void report_growth(const Bench *bench, const Extent *before, const Extent *after,
                          double seconds) {
    const Bound none = {BOUND_AT_MOST, 0, false};
    Report *report = bench->report;
    report_value(report, "jobs", "jobs", bench->n_jobs, NO_BOUND);
    report_value(report, "rate", "jobs/s", bench->n_jobs / seconds, NO_BOUND);
    report_value(report, "broker RSS before", "KiB", (double)before->rss_bytes / KIB, NO_BOUND);
    report_value(report, "growth of broker RSS", "KiB",
                 ((double)after->rss_bytes - (double)before->rss_bytes) / KIB, none);
    report_value(report, "growth of broker descriptors", "",
                 (double)after->n_descriptors - (double)before->n_descriptors, none);
    report_value(report, "growth of processes", "",
                 (double)after->n_processes - (double)before->n_processes, none);
    report_value(report, "growth of files", "", (double)after->n_files - (double)before->n_files,
                 none);
}

int measure_growth(const Bench *bench, Trouble *trouble) {
    CLEANUP(growth_freep) Growth *growth = calloc(1, sizeof *growth);
    if (!growth) return trouble_set(trouble, "%s", strerror(ENOMEM));
    Extent before = {0}, after = {0};
    report_section(bench->report, "Growth over jobs of four kinds, 4 clients (BENCH_JOBS)");
    int r = prepare(bench, growth, trouble);
    if (r == 0) r = run_jobs(growth, N_KINDS * CHUNK, trouble);
    if (r == 0) r = look(growth, trouble, &before);
    if (r != 0) return r;
    const uint64_t started_ns = clock_mono_ns();
    r = run_jobs(growth, bench->n_jobs, trouble);
    const double seconds = (double)(clock_mono_ns() - started_ns) / NS_PER_S;
    if (r == 0) r = look(growth, trouble, &after);
    if (r == 0) report_growth(bench, &before, &after, seconds);
    return r;
}
