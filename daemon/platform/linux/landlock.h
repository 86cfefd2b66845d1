/* Landlock: a second wall around files, by the kernel's own rules on what may be done below which
 * directory; landlock(7). Linux only, not a contract. */
#pragma once

#include <stdbool.h>

/* Whether this kernel has it and it is switched on. */
bool landlock_is_there(void);
/* From now on the caller may read and execute what it sees, write to harmless devices, and do in
 * `work_fd` whatever a job needs: no sockets and no devices are ever made there. No new privileges
 * must be set. 0, or -1 with errno. Safe after fork. */
int landlock_enter(int work_fd);
