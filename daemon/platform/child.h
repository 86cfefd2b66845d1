/* Child: one interpreter and the pipes to it. Starts it with every layer that is wanted, says which
 * of them are in force, and hands out what happens one event at a time, so that its user decides
 * without ever waiting for a pipe. After the code started everything it sends is hostile:
 * it is passed on as bytes and never read for meaning here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "platform/cgroup.h"
#include "platform/child_env.h"
#include "platform/child_layer.h"
#include "platform/enclosure.h"
#include "platform/step.h"
#include "platform/workdir.h"

typedef struct Child Child;

/* Borrowed during child_spawn only. */
typedef struct ChildSpec {
    const char *interpreter;
    const ChildEnv *environment; /* all of it */
    const Workdir *workdir;
    const Limits *limits; /* the largest that any job may get */
    int channel;          /* watched on behalf of the user; stays the caller's */
    int proc_fd;          /* the host's processes; stays the caller's, and longer than the child */
    Enclosure *enclosure; /* in which the caller stands, or NULL; longer than the child */
    const Cgroup *cgroup; /* in which the caller is, or NULL; longer than the child */
    const TextList *hidden;         /* paths that must not be there in a root of its own */
    bool layers[CHILD_LAYER_COUNT]; /* wanted; those of an enclosure and the basic ones are there */
} ChildSpec;

/* Documented results. */
enum {
    CHILD_E_NOT_STARTED = 1, /* child_spawn: *ret_failure says why */
    CHILD_E_DRAINED = 1,     /* child_next_rest: there is nothing more */
    CHILD_E_ALIVE = 1,       /* child_reap: it does not die */
    CHILD_E_GONE = 1,        /* child_observe, child_limit: it is dead */
};

/* Starts the interpreter with the bootstrap that reads frames. 0, CHILD_E_NOT_STARTED, or -errno.
 */
int child_spawn(const ChildSpec *spec, StepFailure *ret_failure, Child **ret_child);
/* Kills and reaps it if that was not done. Takes NULL, returns NULL. */
Child *child_free(Child *child);

typedef enum ChildEventKind {
    CHILD_STOP,     /* our own process was told to end */
    CHILD_CHANNEL,  /* the channel has bytes or has ended */
    CHILD_DEADLINE, /* the deadline has come */
    CHILD_BREACH,   /* a job did what it must not; the task that did is held until it is killed */
    CHILD_EXITED,   /* the interpreter is dead; its descendants may live */
    CHILD_MARKER,   /* bytes on the marker pipe */
    CHILD_STDOUT,
    CHILD_STDERR,
} ChildEventKind;

typedef enum ChildBreachKind {
    CHILD_BREACH_CALL,       /* a system call that nothing in a job may make */
    CHILD_BREACH_MEMORY,     /* asked for `amount` bytes more than there are; 0: many small ones */
    CHILD_BREACH_PROCESSES,  /* wanted more than `amount` processes and threads */
    CHILD_BREACH_OPEN_FILES, /* had more than `amount` descriptors open */
} ChildBreachKind;

enum { CHILD_CALL_BYTES = 32 };

typedef struct ChildBreach {
    ChildBreachKind kind;
    char call[CHILD_CALL_BYTES]; /* its name */
    uint64_t amount;
} ChildBreach;

typedef struct ChildEvent {
    ChildEventKind kind;
    const uint8_t *bytes; /* of the last three kinds; valid until the next event */
    size_t n_bytes;
    ChildBreach breach;
} ChildEvent;

/* Appends a copy to what goes to the child's job pipe while events are waited for. 0 or -ENOMEM. */
int child_feed(Child *child, const void *bytes, size_t n_bytes);
/* Waits for the next event, at most until deadline_ns (CLOCK_MONOTONIC). The earlier kinds are not
 * held up by floods of the later ones. 0 or -errno. */
int child_next(Child *child, uint64_t deadline_ns, ChildEvent *ret_event);
/* What is left in the pipes once nobody writes any more, without waiting for their end.
 * 0, CHILD_E_DRAINED, or -errno. */
int child_next_rest(Child *child, ChildEvent *ret_event);

typedef struct ChildExit {
    int code;
    int signal; /* 0: it exited by itself, with code */
    uint64_t cpu_us;
    uint64_t peak_memory_bytes;
} ChildExit;

/* Kills the interpreter, not its descendants; harmless when it is dead. */
void child_kill(Child *child);
/* Takes its status, waiting at most limit_ms for its death. 0, CHILD_E_ALIVE, or -errno. */
int child_reap(Child *child, uint64_t limit_ms, ChildExit *ret_exit);

/* What the kernel says of the live child. */
typedef struct ChildView {
    bool layers[CHILD_LAYER_COUNT]; /* in force */
    unsigned long n_threads;
} ChildView;

/* 0, CHILD_E_GONE, or -errno. */
int child_observe(const Child *child, ChildView *ret_view);
/* Gives the child the limits of its job, those on memory, CPU and processes on top of what is in
 * use already. From now on it may commit a breach. 0, CHILD_E_GONE, or -errno. */
int child_limit(Child *child, const Limits *limits);
/* CPU time it has used so far; 0 once it is reaped. */
uint64_t child_cpu_ns(const Child *child);
/* For how long some task of this host has had to wait for a processor, ever; 0: not known. */
uint64_t child_cpu_pressure_us(const Child *child);

static inline void child_freep(Child **child) {
    child_free(*child);
}
