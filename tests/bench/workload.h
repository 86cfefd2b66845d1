/* Workload: the jobs that are measured: code, inputs, and the verdict that each must get. What is
 * measured is worth nothing when a job did something else. */
#pragma once

#include "base/arena.h"
#include "tbsandbox.pb-c.h"

typedef enum WorkloadKind {
    WORKLOAD_PANDAS,   /* reads a small CSV, sums by group */
    WORKLOAD_NUMPY,    /* no input */
    WORKLOAD_FAILS,    /* the first, with a column that is not there */
    WORKLOAD_CANARIES, /* the first, with twenty canaries and a protected column */
    WORKLOAD_STDLIB,   /* no input */
    WORKLOAD_INPUT_1MB,
    WORKLOAD_INPUT_10MB,
    WORKLOAD_OUTPUT_1MB,
    WORKLOAD_RAISES, /* of the standard library alone */
    WORKLOAD_LEAKS,  /* prints a canary */
    WORKLOAD_SPINS,  /* for two seconds */
    WORKLOAD_COUNT,
} WorkloadKind;

const char *workload_code(WorkloadKind kind);
/* As large as its job needs; the caller frees *ret_content. 0 or -ENOMEM. */
int workload_input(WorkloadKind kind, char **ret_content, size_t *ret_n_bytes);
Tb__VerdictKind workload_expected(WorkloadKind kind);

/* Fills *ret_submit for `profile`, without a key; all memory is the arena's. 0 or -ENOMEM. */
int workload_submission(WorkloadKind kind, const char *profile, Arena *arena,
                        Tb__Submit *ret_submit);
