#include "base/clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t id) {
    struct timespec now = {0};
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_mono_ns(void) {
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_mono_ms(void) {
    return clock_mono_ns() / NS_PER_MS;
}

uint64_t clock_wall_ms(void) {
    return read_ns(CLOCK_REALTIME) / NS_PER_MS;
}
