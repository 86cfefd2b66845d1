/* Phase: the steps one environment and its job go through, in the order of the ledger. */
#pragma once

#include <stdbool.h>

typedef enum Phase {
    PHASE_SPAWNED,    /* the interpreter process exists */
    PHASE_CONFINED,   /* every required layer is on */
    PHASE_VALIDATED,  /* observed to be fit for a job */
    PHASE_DISPATCHED, /* the job was handed over */
    PHASE_RECEIVED,   /* start marker: the interpreter has the job */
    PHASE_PARSED,
    PHASE_ALLOWED,
    PHASE_COMPILED,
    PHASE_STARTED, /* from here on the interpreter is the adversary */
    PHASE_ENDED,   /* the code ran to its end */
    PHASE_REAPED,  /* every process of the job is dead */
    PHASE_CHECKED, /* the post-run checks are done */
    PHASE_COUNT,
} Phase;

/* Lower-case name for records; never NULL for a phase below PHASE_COUNT. */
const char *phase_name(Phase phase);
