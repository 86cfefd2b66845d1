/* Job query: asks about jobs one by one and shows each as the daemon describes it. */
#pragma once

#include "command.h"

typedef enum JobQuery {
    JOB_QUERY_GET,
    JOB_QUERY_CANCEL, /* ends it first */
} JobQuery;

/* For every operand. An ExitStatus (reported), or -errno. */
int job_query_run(const Invocation *invocation, JobQuery query);
