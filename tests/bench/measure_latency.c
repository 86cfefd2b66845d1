/* One job at a time. Everything that is compared runs once in each round, forwards and backwards by
 * turns, so that a slow moment hits all alike. */
#include "measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "caller.h"
#include "cold.h"
#include "service.h"

enum { MIN_READY = 2 };

static const ServiceProfile profiles[] = {
    {"pandas", SERVICE_PANDAS, false, MIN_READY, 4},
    {"pandas-bare", SERVICE_PANDAS, true, MIN_READY, 4},
    {"stdlib", SERVICE_STDLIB, false, MIN_READY, 4},
    {"stdlib-bare", SERVICE_STDLIB, true, MIN_READY, 4},
};

typedef enum Series {
    COLD_PANDAS,
    COLD_STDLIB,
    PANDAS,
    PANDAS_BARE,
    STDLIB,
    STDLIB_BARE,
    NUMPY,
    FAILS,
    CANARIES,
    INPUT_1MB,
    INPUT_10MB,
    OUTPUT_1MB,
    N_SERIES,
} Series;

/* What runs, and where; without a profile: cold. */
typedef struct Plan {
    WorkloadKind kind;
    const char *profile;
} Plan;

static const Plan plans[N_SERIES] = {
    [COLD_PANDAS] = {WORKLOAD_PANDAS, NULL},
    [COLD_STDLIB] = {WORKLOAD_STDLIB, NULL},
    [PANDAS] = {WORKLOAD_PANDAS, "pandas"},
    [PANDAS_BARE] = {WORKLOAD_PANDAS, "pandas-bare"},
    [STDLIB] = {WORKLOAD_STDLIB, "stdlib"},
    [STDLIB_BARE] = {WORKLOAD_STDLIB, "stdlib-bare"},
    [NUMPY] = {WORKLOAD_NUMPY, "pandas"},
    [FAILS] = {WORKLOAD_FAILS, "pandas"},
    [CANARIES] = {WORKLOAD_CANARIES, "pandas"},
    [INPUT_1MB] = {WORKLOAD_INPUT_1MB, "stdlib"},
    [INPUT_10MB] = {WORKLOAD_INPUT_10MB, "stdlib"},
    [OUTPUT_1MB] = {WORKLOAD_OUTPUT_1MB, "stdlib"},
};

typedef struct Latency {
    Arena arena;
    Service *service;
    Caller *caller;
    Tb__Submit submits[N_SERIES];
    Sample latency_ms[N_SERIES];
} Latency;

static void latency_freep(Latency **latency) {
    if (!*latency) return;
    caller_close((*latency)->caller);
    service_stop((*latency)->service);
    arena_deinit(&(*latency)->arena);
    free(*latency);
}

static int run_one(Latency *latency, Series series, bool is_counted, Trouble *trouble) {
    const Plan *plan = &plans[series];
    uint64_t latency_ns = 0;
    int r = caller_settle(latency->caller, MIN_READY, trouble);
    if (r == 0)
        r = plan->profile ? caller_run(latency->caller, &latency->submits[series],
                                       workload_expected(plan->kind), trouble, &latency_ns)
                          : cold_run(plan->kind, trouble, &latency_ns);
    if (r == 0 && is_counted)
        sample_add(&latency->latency_ms[series], (double)latency_ns / NS_PER_MS);
    return r;
}

static int prepare(const Bench *bench, Latency *latency, Trouble *trouble) {
    for (Series series = 0; series < N_SERIES; series++) {
        const Plan *plan = &plans[series];
        if (plan->profile && workload_submission(plan->kind, plan->profile, &latency->arena,
                                                 &latency->submits[series]) < 0)
            return trouble_set(trouble, "%s", strerror(ENOMEM));
    }
    int r = service_start(bench->build, profiles, sizeof profiles / sizeof *profiles, trouble,
                          &latency->service);
    if (r == 0) r = caller_open(service_socket(latency->service), trouble, &latency->caller);
    return r;
}

static void report_usual_way(const Bench *bench, Latency *latency) {
    Report *report = bench->report;
    Sample *ms = latency->latency_ms;
    report_section(report, "The usual way and a warm verdict: one client, pool ready");
    report_samples(report, "cold python3 -I -B, pandas job", "ms", &ms[COLD_PANDAS], NO_BOUND);
    report_samples(report, "submit to verdict, pandas job", "ms", &ms[PANDAS], NO_BOUND);
    report_value(report, "cold / warm, pandas job", "times",
                 sample_median(&ms[COLD_PANDAS]) / sample_median(&ms[PANDAS]),
                 (Bound){BOUND_AT_LEAST, 60, false});
    report_samples(report, "cold python3 -I -B, stdlib job", "ms", &ms[COLD_STDLIB], NO_BOUND);
    report_samples(report, "submit to verdict, stdlib job", "ms", &ms[STDLIB], NO_BOUND);
}

static void report_layers(const Bench *bench, Latency *latency) {
    const Bound bound = {BOUND_AT_MOST, 1, false};
    Report *report = bench->report;
    Sample *ms = latency->latency_ms;
    report_section(report, "Layers off and on: one client, pool ready");
    report_samples(report, "pandas job, no layers", "ms", &ms[PANDAS_BARE], NO_BOUND);
    report_samples(report, "pandas job, all layers", "ms", &ms[PANDAS], NO_BOUND);
    report_value(report, "layers add to a pandas job", "ms",
                 sample_median(&ms[PANDAS]) - sample_median(&ms[PANDAS_BARE]), bound);
    report_samples(report, "stdlib job, no layers", "ms", &ms[STDLIB_BARE], NO_BOUND);
    report_samples(report, "stdlib job, all layers", "ms", &ms[STDLIB], NO_BOUND);
    report_value(report, "layers add to a stdlib job", "ms",
                 sample_median(&ms[STDLIB]) - sample_median(&ms[STDLIB_BARE]), bound);
}

static void report_others(const Bench *bench, Latency *latency) {
    Report *report = bench->report;
    Sample *ms = latency->latency_ms;
    report_section(report, "Other jobs: one client, pool ready");
    report_samples(report, "stdlib job, 1 MB input", "ms", &ms[INPUT_1MB], NO_BOUND);
    report_samples(report, "stdlib job, 10 MB input", "ms", &ms[INPUT_10MB], NO_BOUND);
    report_samples(report, "stdlib job, 1 MB output", "ms", &ms[OUTPUT_1MB], NO_BOUND);
    report_samples(report, "numpy alone", "ms", &ms[NUMPY], NO_BOUND);
    report_samples(report, "pandas job that fails", "ms", &ms[FAILS], NO_BOUND);
    report_samples(report, "pandas job, 20 canaries, protected column", "ms", &ms[CANARIES],
                   NO_BOUND);
}

int measure_latency(const Bench *bench, Trouble *trouble) {
    CLEANUP(latency_freep) Latency *latency = calloc(1, sizeof *latency);
    if (!latency) return trouble_set(trouble, "%s", strerror(ENOMEM));
    int r = prepare(bench, latency, trouble);
    /* The first round fills the caches of the system and is not counted. */
    for (unsigned round = 0; r == 0 && round <= bench->rounds; round++)
        for (unsigned i = 0; r == 0 && i < N_SERIES; i++)
            r = run_one(latency, round % 2 == 0 ? i : N_SERIES - 1 - i, round > 0, trouble);
    if (r != 0) return r;
    report_usual_way(bench, latency);
    report_layers(bench, latency);
    report_others(bench, latency);
    return 0;
}
