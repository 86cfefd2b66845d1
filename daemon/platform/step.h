/* Step: which of many steps of a set-up failed, and why. */
#pragma once

typedef struct StepFailure {
    const char *step; /* what was tried, as in "cannot ..."; static text */
    int error;        /* errno */
} StepFailure;
