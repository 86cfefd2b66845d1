/* Status while nothing is idle: every environment runs a job that never waits. */
#include "measure.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "caller.h"
#include "client/host.h"
#include "service.h"
#include "workload.h"

enum { N_ENVIRONMENTS = 4, N_SAMPLES = 400, POLL_MS = 2, BUSY_LIMIT_MS = 10000 };

static const ServiceProfile profile = {"stdlib", SERVICE_STDLIB, false, N_ENVIRONMENTS,
                                       N_ENVIRONMENTS};

static int occupy(Caller *caller, Trouble *trouble) {
    CLEANUP(arena_deinit) Arena arena = {0};
    Tb__Submit submit;
    if (workload_submission(WORKLOAD_SPINS, profile.name, &arena, &submit) < 0)
        return trouble_set(trouble, "%s", strerror(ENOMEM));
    int r = caller_settle(caller, N_ENVIRONMENTS, trouble);
    for (unsigned i = 0; r == 0 && i < N_ENVIRONMENTS; i++)
        r = caller_post(caller, &submit, trouble);
    return r;
}

/* Only what was answered while all were busy counts. */
static int ask(Caller *caller, Sample *ms, Trouble *trouble) {
    const uint64_t until_ms = clock_mono_ms() + BUSY_LIMIT_MS;
    bool was_busy = false;
    while (ms->n_items < N_SAMPLES && clock_mono_ms() < until_ms) {
        CallerStatus status;
        const int r = caller_status(caller, trouble, &status);
        if (r != 0) return r;
        if (status.busy == N_ENVIRONMENTS) sample_add(ms, (double)status.latency_ns / NS_PER_MS);
        if (was_busy && status.busy < N_ENVIRONMENTS) return 0;
        was_busy = status.busy == N_ENVIRONMENTS;
        if (host_sleep_ms(POLL_MS) != 0) return trouble_set(trouble, "interrupted");
    }
    return 0;
}

int measure_status(const Bench *bench, Trouble *trouble) {
    CLEANUP(service_stopp) Service *service = NULL;
    CLEANUP(caller_closep) Caller *caller = NULL;
    Sample ms = {.n_items = 0};
    report_section(bench->report, "Status while every environment is busy (4 that compute)");
    int r = service_start(bench->build, &profile, 1, trouble, &service);
    if (r == 0) r = caller_open(service_socket(service), trouble, &caller);
    if (r == 0) r = occupy(caller, trouble);
    if (r == 0) r = ask(caller, &ms, trouble);
    if (r == 0) r = caller_settle(caller, N_ENVIRONMENTS, trouble);
    if (r != 0) return r;
    report_samples(bench->report, "Status answered", "ms", &ms, (Bound){BOUND_AT_MOST, 5, true});
    return 0;
}
