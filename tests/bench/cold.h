/* Cold: a job done the usual way: a fresh `python3 -I -B` in a scrubbed environment, in a directory
 * with its input, without a harness. What the daemon is compared with. */
#pragma once

#include <stdint.h>

#include "client/trouble.h"
#include "workload.h"

/* From before its directory is made until it is reaped. 0, or TROUBLE_E_TOLD also when it does not
 * exit 0 or prints nothing. */
int cold_run(WorkloadKind kind, Trouble *trouble, uint64_t *ret_ns);
