/* Child layers: what keeps an interpreter apart from all else, by name. */
#pragma once

#include <stdbool.h>

/* What keeps a child apart. Names are part of the public contract. */
typedef enum ChildLayer {
    CHILD_LAYER_SESSION,           /* no terminal and no process group but its own */
    CHILD_LAYER_DEATH_SIGNAL,      /* dies with its supervisor */
    CHILD_LAYER_RLIMITS,           /* limits of the kernel on files, descriptors, core dumps */
    CHILD_LAYER_DESCRIPTORS,       /* holds its five descriptors and no other */
    CHILD_LAYER_WORK_DIRECTORY,    /* stands in its private work directory */
    CHILD_LAYER_NO_NEW_PRIVILEGES, /* no file it executes can raise it */
    /* Those of an enclosure; they come together. */
    CHILD_LAYER_USER_NAMESPACE,
    CHILD_LAYER_MOUNT_NAMESPACE,
    CHILD_LAYER_PID_NAMESPACE,
    CHILD_LAYER_NETWORK_NAMESPACE,
    CHILD_LAYER_IPC_NAMESPACE,
    CHILD_LAYER_UTS_NAMESPACE,
    CHILD_LAYER_CGROUP_NAMESPACE,
    CHILD_LAYER_OWN_ROOT,          /* sees no file but the interpreter's and its own */
    CHILD_LAYER_UNPRIVILEGED_USER, /* is nobody that owns something */
    CHILD_LAYER_NO_CAPABILITIES,   /* in no set */
    /* Those that need none. */
    CHILD_LAYER_NOT_DUMPABLE, /* its memory is hidden from others */
    CHILD_LAYER_SECCOMP,      /* system calls are filtered */
    CHILD_LAYER_LANDLOCK,     /* a second wall around files */
    CHILD_LAYER_CGROUP,       /* memory and tasks of the job as a whole are bounded */
    CHILD_LAYER_COUNT,
} ChildLayer;

const char *child_layer_name(ChildLayer layer);
/* CHILD_LAYER_COUNT when there is none of that name. */
ChildLayer child_layer_from_name(const char *name);
/* True for those that an enclosure brings, all at once. */
bool child_layer_is_enclosing(ChildLayer layer);
/* True for those that every system has. */
bool child_layer_is_basic(ChildLayer layer);
