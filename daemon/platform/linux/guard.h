/* Guard: answers the calls that a child's filter reports: lets pass what is within the job's
 * limits, and says which call or limit was breached. Runs in the warden. It reads numbers that the
 * kernel gives, never memory of the child. Linux only, not a contract. */
#pragma once

#include "platform/child.h"
#include "platform/enclosure.h"

typedef enum GuardMode {
    GUARD_PREPARING, /* our own code and the interpreter's set-up: refused calls simply fail */
    GUARD_RUNNING,   /* generated code: the first breach is the last */
} GuardMode;

typedef struct Guard {
    int listener; /* -1: none */
    int proc_fd;  /* of the PID namespace of the warden */
    GuardMode mode;
    const Enclosure *enclosure; /* NULL: tasks are not counted */
    const Cgroup *cgroup;       /* NULL: memory is counted by the process */
    bool has_executed;          /* the one program there is to execute */
    uint64_t max_address_bytes; /* while running; of any process */
    uint64_t max_memory_bytes;  /* of all together */
    uint32_t max_tasks;
    uint32_t max_descriptors;
} Guard;

/* Documented result: *ret_breach says what; the caller of the kernel stays where it is. */
enum { GUARD_E_BREACH = 1 };

/* Takes and answers one report, if there is one. 0, GUARD_E_BREACH, or -errno. */
int guard_answer(Guard *guard, ChildBreach *ret_breach);

/* How many descriptors the kernel must allow so that one more than `limit` leaves a trace: its
 * tables grow in powers of two. *ret_table is the largest table that breaches nothing. */
uint32_t guard_descriptor_limit(uint32_t limit, uint32_t *ret_table);
