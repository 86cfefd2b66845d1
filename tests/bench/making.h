/* Making: makes and ends one environment, step by step as the warden does, with a trivial program
 * in the interpreter's place, so that what is left is the cost of the environment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/trouble.h"

typedef struct Making Making;

/* `program` (idle.c) is copied to a directory of its own. Of the layers that are optional
 * by default, those that the system does not let us have are left out. 0 or TROUBLE_E_TOLD. */
int making_new(const char *program, Trouble *trouble, Making **ret_making);
/* Takes NULL, returns NULL. */
Making *making_free(Making *making);

/* CPU time, user and system, of a process that makes and ends one environment, and of all that it
 * waited for. 0, or TROUBLE_E_TOLD also when a layer is not seen to be in force. */
int making_run(Making *making, bool with_layers, Trouble *trouble, uint64_t *ret_cpu_us);

/* Names of the layers that are left out, for people; empty when all are there. */
const char *making_left_out(const Making *making);

static inline void making_freep(Making **making) {
    making_free(*making);
}
