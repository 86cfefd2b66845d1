/* Filter: the system calls a child may make, as a program for the kernel (seccomp(2)) that the
 * child loads before the interpreter runs. Calls that must be looked at are reported to a listener;
 * see guard.h. Linux only, not a contract. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    /* Address space asked for at once: what is smaller is not reported. Malloc and Python's arenas
     * ask for at least this when they cannot grow in smaller steps any more. */
    FILTER_REPORTED_BYTES = 256 << 10,
};

/* Loads it in the calling process, for ever; no new privileges must be set. Returns the listener's
 * descriptor, or -1 with errno. Safe after fork. */
int filter_load(void);

/* True for a call by an ABI that the filter's table does not speak of. */
bool filter_is_foreign(unsigned architecture, int number);
/* The name of a reported call of this machine, for people; the caller's buffer. */
void filter_call_name(int number, char *buffer, size_t buffer_bytes);
