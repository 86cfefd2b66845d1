/* Produced: what a job left in its work directory: listed, measured, hashed and searched for
 * canaries, within bounds. What lies beyond a bound was not searched, and that is a finding. */
#pragma once

#include <stdbool.h>

#include "platform/workdir.h"
#include "verdict/facts.h"
#include "warden/order.h"
#include "warden/scan.h"

enum {
    PRODUCED_MAX_ENTRIES = 1000,
    PRODUCED_MAX_NAME_BYTES = 1024, /* of a path as it is shown; the rest is left out */
};

/* Lists everything in work/ but the unchanged inputs in facts->produced, sets facts->disk_bytes,
 * and appends findings. `scanner` NULL: there are no canaries. 0 or -errno. */
int produced_check(const Order *order, const Workdir *workdir, const Scanner *scanner,
                   const bool *unchanged, Facts *facts);
