/* Timer: milliseconds, the unit of the whole tree, to libevent's deadlines. */
#pragma once

#include <stdint.h>

#include <event2/event.h>

#include "base/clock.h"

static inline struct timeval timer_value(uint64_t ms) {
    return (struct timeval){
        .tv_sec = (time_t)(ms / MS_PER_S),
        .tv_usec = (suseconds_t)(ms % MS_PER_S * 1000),
    };
}

/* Fires once, in_ms from now; a timer that is armed already is set anew. 0 or -1. */
static inline int timer_arm(struct event *timer, uint64_t in_ms) {
    const struct timeval delay = timer_value(in_ms);
    return event_add(timer, &delay);
}
