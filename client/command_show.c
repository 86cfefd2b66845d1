/* Command show: tells all that the daemon knows of jobs, finished or not. */
#include "commands.h"

#include "job_query.h"

static const Option options[] = {
    {NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

static int run(const Invocation *invocation) {
    return job_query_run(invocation, JOB_QUERY_GET);
}

const Command command_show = {
    .name = "show",
    .operands = "JOB...",
    .summary = "show all that is known of jobs",
    .notes = "The exit status does not depend on the jobs' verdicts.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .wait_ms = 30000,
    .run = run,
};
