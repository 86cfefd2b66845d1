/* Command cancel: ends jobs that nobody wants any more; what is finished stays as it is. */
#include "commands.h"

#include "job_query.h"

static const Option options[] = {
    {NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

static int run(const Invocation *invocation) {
    return job_query_run(invocation, JOB_QUERY_CANCEL);
}

const Command command_cancel = {
    .name = "cancel",
    .operands = "JOB...",
    .summary = "end jobs without a verdict on their code",
    .notes =
        "Prints each job as it is afterwards; one that had finished keeps its verdict. The exit\n"
        "status does not depend on verdicts.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .wait_ms = 30000,
    .run = run,
};
