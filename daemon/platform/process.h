/* Process: the broker's hold on its wardens and on the helper that removes what killed ones left.
 * Starts, signals and reaps them; never runs anything else and never hands one of the broker's
 * descriptors on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/log.h"

typedef struct ProcessExit {
    pid_t pid;
    int code;   /* when signal is 0 */
    int signal; /* 0: exited by itself */
} ProcessExit;

/* Makes the calling process the one that inherits orphans, so that what a killed warden leaves
 * behind comes to us. 0 or -errno. */
int process_become_reaper(void);

/* True when this process may do what an administrator may. */
bool process_is_privileged(void);

/* Starts a warden with one end of a new channel; *ret_channel is the other end, non-blocking and
 * close-on-exec, the caller's. Nothing else of ours is inherited but standard error. 0 or -errno.
 */
int process_spawn_warden(const char *path, LogLevel level, LogFormat format, pid_t *ret_pid,
                         int *ret_channel);

/* Starts the warden's program to remove `directory` and all that is in it, and nothing else: it
 * exits 0 when nothing of it is left. 0 or -errno. */
int process_spawn_remover(const char *path, const char *directory, LogLevel level, LogFormat format,
                          pid_t *ret_pid);

/* Kills it at once; harmless when it is dead but not yet reaped. */
void process_kill(pid_t pid);

/* Collects one dead child without waiting. False when there is none. */
bool process_reap(ProcessExit *ret_exit);
