/* Exit status: the numbers that scripts rely on, and which of two wins. */
#pragma once

#include "tbsandbox.pb-c.h"

typedef enum ExitStatus {
    EXIT_STATUS_PASSED = 0,         /* every verdict passed, or the command did its work */
    EXIT_STATUS_FAILED = 1,         /* at least one failed, and all are verdicts */
    EXIT_STATUS_INFRASTRUCTURE = 2, /* at least one is not a verdict on the code */
    EXIT_STATUS_USAGE = 64,         /* asked for wrongly; nothing was sent */
    EXIT_STATUS_INTERRUPTED = 130,
} ExitStatus;

/* The one that wins: the larger. */
ExitStatus exit_status_worse(ExitStatus a, ExitStatus b);
/* Anything but a clear verdict is EXIT_STATUS_INFRASTRUCTURE. */
ExitStatus exit_status_of_kind(Tb__VerdictKind kind);
