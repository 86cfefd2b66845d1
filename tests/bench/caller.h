/* Caller: one client's connection, as tbclient has it, which measures what it asks. Everything here
 * is 0 or TROUBLE_E_TOLD, with the reason in `trouble`. */
#pragma once

#include <stdint.h>

#include "client/trouble.h"
#include "tbsandbox.pb-c.h"

typedef struct Caller Caller;

int caller_open(const char *socket, Trouble *trouble, Caller **ret_caller);
/* Takes NULL, returns NULL. */
Caller *caller_close(Caller *caller);

/* Submits and waits; a verdict of another kind than `expected` is trouble. The latency goes from
 * before the submission is packed until its verdict is unpacked. */
int caller_run(Caller *caller, Tb__Submit *submit, Tb__VerdictKind expected, Trouble *trouble,
               uint64_t *ret_latency_ns);
/* Submits and leaves it to itself. */
int caller_post(Caller *caller, Tb__Submit *submit, Trouble *trouble);

typedef struct CallerStatus {
    uint64_t latency_ns;
    uint32_t min_ready; /* the smallest of any profile */
    uint32_t starting;  /* of all profiles together, like the rest */
    uint32_t busy;
    uint32_t queued;
    uint64_t infrastructure_total;
} CallerStatus;

/* A profile that is not fit to serve is trouble. */
int caller_status(Caller *caller, Trouble *trouble, CallerStatus *ret_status);
/* Waits until each profile has so many ready environments and nothing else goes on. */
int caller_settle(Caller *caller, uint32_t n_ready, Trouble *trouble);

static inline void caller_closep(Caller **caller) {
    caller_close(*caller);
}
