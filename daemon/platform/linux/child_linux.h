/* Child on Linux: what its files share. Not a contract. */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include "platform/child.h"
#include "platform/linux/guard.h"

enum { CHILD_BUFFER_BYTES = 1 << 16 };

/* The child's descriptors, by number. */
enum {
    CHILD_FD_STDIN,
    CHILD_FD_STDOUT,
    CHILD_FD_STDERR,
    CHILD_FD_JOB,
    CHILD_FD_MARKER,
    CHILD_FD_COUNT,
};

struct Child {
    pid_t pid;                    /* 0 once it is reaped */
    int pidfd;                    /* valid while pid is not 0 */
    int channel;                  /* borrowed */
    int stop_fd;                  /* signalfd */
    int pipes[CHILD_FD_COUNT];    /* our ends; -1: none, or at its end */
    ino_t inodes[CHILD_FD_COUNT]; /* of the pipes */
    uint8_t *pending;             /* not yet written to the job pipe */
    size_t pending_bytes;
    size_t pending_done;
    bool has_death_signal; /* as the child itself saw before the interpreter ran */
    bool has_heard;        /* the markers were read since the filter reported */
    bool is_proven;        /* it ran against every wall, and none gave way */
    unsigned n_events;     /* makes readers take turns */
    struct stat work;      /* identity of work/ */
    int proc_fd;           /* borrowed */
    Guard guard;
    bool layers[CHILD_LAYER_COUNT]; /* wanted */
    const Cgroup *cgroup;           /* borrowed; NULL: none */
    const Enclosure *enclosure;     /* borrowed; NULL: none */
    ChildExit exit;                 /* once pid is 0 */
    Limits limits;                  /* what the kernel was told at the start */
    uint8_t buffer[CHILD_BUFFER_BYTES];
};
