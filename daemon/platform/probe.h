/* Probe: which layers this system lets us have, found out by trying. */
#pragma once

#include <stdint.h>

#include "platform/child.h"

/* Tries in a process of its own. `uid` is the user that owns nothing. Sets ret_missing[layer].step
 * for each layer that cannot be had, NULL for the others. 0 or -errno. */
int probe_layers(uint32_t uid, StepFailure ret_missing[CHILD_LAYER_COUNT]);
