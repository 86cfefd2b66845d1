/* Memory: of the broker, and of everything below it, which is wardens, interpreters and their first
 * processes, divided by the environments that are ready. */
#include "measure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "caller.h"
#include "client/host.h"
#include "service.h"
#include "processes.h"

enum { REST_MS = 200, NAME_BYTES = 96, BROKER_MAX_MIB = 12, ENVIRONMENT_MAX_MIB = 12 };

static const double bytes_per_mib = 1 << 20;

static const ServiceProfile profiles[] = {
    {"stdlib", SERVICE_STDLIB, false, 2, 2},
    {"stdlib", SERVICE_STDLIB, false, 8, 8},
    {"pandas", SERVICE_PANDAS, false, 2, 2},
    {"pandas", SERVICE_PANDAS, false, 8, 8},
};

static int look(pid_t daemon, Trouble *trouble, ProcessMemory *broker,
                ProcessMemory *environments) {
    ProcessList list;
    int r = processes_add_memory(daemon, broker);
    if (r == 0) r = processes_below(daemon, &list);
    for (size_t i = 0; r == 0 && i < list.n_pids; i++)
        r = processes_add_memory(list.pids[i], environments);
    if (r == -EACCES || r == -EPERM)
        return trouble_set(trouble, "the memory of a warden is shown to root only: run it as root");
    return r == 0 ? 0 : trouble_set(trouble, "cannot see memory: %s", strerror(-r));
}

static void report_one(const Bench *bench, const ServiceProfile *profile,
                       const ProcessMemory *broker, const ProcessMemory *environments) {
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "broker RSS, %s, %u ready", profile->name, profile->min_ready);
    report_value(bench->report, name, "MiB", (double)broker->rss_bytes / bytes_per_mib,
                 (Bound){BOUND_AT_MOST, BROKER_MAX_MIB, false});
    snprintf(name, sizeof name, "environment RSS, %s, %u ready", profile->name, profile->min_ready);
    report_value(bench->report, name, "MiB",
                 (double)environments->rss_bytes / profile->min_ready / bytes_per_mib, NO_BOUND);
    snprintf(name, sizeof name, "environment PSS, %s, %u ready", profile->name, profile->min_ready);
    report_value(bench->report, name, "MiB",
                 (double)environments->pss_bytes / profile->min_ready / bytes_per_mib,
                 (Bound){BOUND_AT_MOST, ENVIRONMENT_MAX_MIB, false});
}

static int measure_one(const Bench *bench, const ServiceProfile *profile, Trouble *trouble) {
    CLEANUP(service_stopp) Service *service = NULL;
    CLEANUP(caller_closep) Caller *caller = NULL;
    ProcessMemory broker = {0}, environments = {0};
    int r = service_start(bench->build, profile, 1, trouble, &service);
    if (r == 0) r = caller_open(service_socket(service), trouble, &caller);
    if (r == 0) r = caller_settle(caller, profile->min_ready, trouble);
    if (r == 0 && host_sleep_ms(REST_MS) != 0) r = trouble_set(trouble, "interrupted");
    if (r == 0) r = look(service_pid(service), trouble, &broker, &environments);
    if (r == 0) report_one(bench, profile, &broker, &environments);
    return r;
}

int measure_footprint(const Bench *bench, Trouble *trouble) {
    report_section(bench->report, "Memory of a fresh daemon; of an environment: warden, "
                                  "interpreter and its init");
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof profiles / sizeof *profiles; i++)
        r = measure_one(bench, &profiles[i], trouble);
    return r;
}
