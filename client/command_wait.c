/* Command wait: waits for the verdicts of jobs that were submitted before. */
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "verdicts.h"

typedef struct Settings {
    bool show_output;
} Settings;

static const Option options[] = {
    {"show-output", OPTION_FLAG, offsetof(Settings, show_output), NULL,
     "print outputs whole, of passed jobs too", 0, 0, NULL},
    {NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

static int run(const Invocation *invocation) {
    const Settings *settings = invocation->settings;
    const TextList *ids = invocation->operands;
    CLEANUP(freep) BatchJob *jobs = calloc(ids->n_items, sizeof *jobs);
    if (!jobs) return error_origin(-ENOMEM);
    int r = 0;
    for (size_t i = 0; i < ids->n_items; i++) {
        jobs[i].name = ids->items[i];
        jobs[i].job_id = strdup(ids->items[i]);
        if (!jobs[i].job_id) r = error_origin(-ENOMEM);
    }
    if (r == 0)
        r = verdicts_run(&invocation->common, settings->show_output, false, jobs, ids->n_items);
    batch_jobs_deinit(jobs, ids->n_items);
    return r;
}

const Command command_wait = {
    .name = "wait",
    .operands = "JOB...",
    .summary = "wait for the verdicts of submitted jobs",
    .options = options,
    .settings_bytes = sizeof(Settings),
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .wait_ms = 300000,
    .run = run,
};
