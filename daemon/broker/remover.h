/* Remover: takes what a dead warden left in the work directory out of the way, in one step, and has
 * it removed by a helper process, one at a time: how much a job left delays nobody. Never walks a
 * directory itself. What could not be removed goes with the next start of the daemon. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "config/config.h"
#include "platform/process.h"

struct event_base;
typedef struct Remover Remover;

/* Makes the work directory of `config` anew; what an earlier daemon left there is the first to be
 * removed. SIGCHLD is watched already. The caller holds the lock of the runtime directory. 0, or
 * -errno (was logged). */
int remover_new(struct event_base *base, Config *config, Remover **ret_remover);
/* Kills the helper. Takes NULL, returns NULL. */
Remover *remover_free(Remover *remover);

/* Has `directory`, which lies in the work directory, removed; it is out of the way on return. A
 * failure is logged. */
void remover_take(Remover *remover, const char *directory);
/* Takes up a new config; the work directory stays. Takes NULL. */
void remover_configure(Remover *remover, Config *config);

/* A child of ours ended. False when it was not the helper. */
bool remover_exited(Remover *remover, const ProcessExit *exit);
/* The helper, or 0. */
pid_t remover_pid(const Remover *remover);
/* True when nothing is left to do, or nothing can be done. */
bool remover_is_idle(const Remover *remover);
