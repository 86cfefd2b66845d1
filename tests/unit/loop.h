/* Loop: an event base that a test turns until what it waits for is so, with one generous deadline
 * in place of any assumption about time. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

#include <check.h>
#include <event2/event.h>

#include "base/clock.h"

enum { LOOP_DEADLINE_MS = 45000, LOOP_TICK_MS = 5 };

typedef struct Loop {
    struct event_base *base;
    struct event *tick; /* so that a condition outside the loop is seen as well */
} Loop;

static inline void loop_on_tick(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    (void)data;
}

static inline void loop_init(Loop *loop) {
    const struct timeval tick = {.tv_usec = LOOP_TICK_MS * 1000};
    loop->base = event_base_new();
    ck_assert_ptr_nonnull(loop->base);
    loop->tick = event_new(loop->base, -1, EV_PERSIST, loop_on_tick, NULL);
    ck_assert_ptr_nonnull(loop->tick);
    event_add(loop->tick, &tick);
}

static inline void loop_deinit(Loop *loop) {
    event_free(loop->tick);
    event_base_free(loop->base);
}

static inline bool loop_turn(Loop *loop, uint64_t deadline_ms) {
    return event_base_loop(loop->base, EVLOOP_ONCE) == 0 && clock_mono_ms() < deadline_ms;
}

/* Turns the loop until `condition` holds; it is evaluated between turns. */
#define loop_until(loop, condition)                                                                \
    do {                                                                                           \
        const uint64_t until_ms_ = clock_mono_ms() + LOOP_DEADLINE_MS;                             \
        while (!(condition))                                                                       \
            ck_assert_msg(loop_turn((loop), until_ms_), "never came true: %s", #condition);        \
    } while (0)

/* Turns it a while, so that what must not happen had its chance. */
static inline void loop_idle(Loop *loop) {
    for (int i = 0; i < 20; i++) event_base_loop(loop->base, EVLOOP_ONCE);
}
