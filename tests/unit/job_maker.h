/* Makes plain jobs for tests of what borrows or owns them. */
#pragma once

#include <string.h>

#include <check.h>

#include "broker/job.h"

static inline Job *make_job(const char *peer, const char *key) {
    JobSpec spec = {.repeats = 1};
    spec.idempotency_key = strdup(key);
    spec.file_name = strdup("generated.py");
    spec.profile = strdup("stdlib");
    Job *job;
    ck_assert_int_eq(job_new(&spec, peer, &job), 0);
    return job;
}
