/* Clock: monotonic and wall time in the units the tree uses. Never sleeps. */
#pragma once

#include <stdint.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define MS_PER_S UINT64_C(1000)

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t clock_mono_ns(void);
/* CLOCK_MONOTONIC in milliseconds. */
uint64_t clock_mono_ms(void);
/* Milliseconds since the epoch, for records that people read. Never used for deadlines. */
uint64_t clock_wall_ms(void);
