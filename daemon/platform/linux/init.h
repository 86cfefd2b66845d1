/* Init: the first process of a PID namespace: it dies with its maker, everything else dies with it,
 * and it inherits and reaps what others leave behind. It holds no descriptor and no right, and
 * never executes anything. Linux only, not a contract. */
#pragma once

#include <sys/types.h>

#include "platform/linux/root.h"

typedef struct Init {
    pid_t pid; /* 0: none, or reaped */
    int pidfd;
} Init;

/* Makes a PID namespace that every later child of the caller is born into; `root` (may be NULL)
 * gets its proc/. 0, or 1 when *ret_failure says what was refused. */
int init_start(const Root *root, Init *ret_init, StepFailure *ret_failure);
