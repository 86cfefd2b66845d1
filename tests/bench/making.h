/* Making: what making and ending one environment costs the processors, with all layers and with
 * none, by a process that does what a warden does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The time of the processor that one took, all its processes together. 0 or -errno. */
int making_measure(bool has_layers, uint64_t *ret_cpu_us);
