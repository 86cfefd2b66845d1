/* Identity: who the calling process is. Linux only, not a contract. */
#pragma once

#include <stdint.h>

#include "platform/step.h"

/* The one user and the one group that exist inside. */
enum { IDENTITY_INSIDE = 1000 };

/* Becomes the only user of a new user namespace, with every right over the other new namespaces
 * (mount, network, IPC, UTS, cgroup) and none outside. Root becomes `uid` first; another user stays
 * who it is. 0, 1 when *ret_failure says what was refused. */
int identity_enclose(uint32_t uid, StepFailure *ret_failure);

typedef enum IdentityRights {
    IDENTITY_NOBODY,
    IDENTITY_MAY_LOOK_INSIDE, /* at processes of its own user namespace, and nothing else */
} IdentityRights;

/* Gives up every capability but for `rights`, and the ways to any: bounding set, ambient set, what
 * root could do. May be called again with less. Safe after fork. 0, or -1 with errno. */
int identity_drop(IdentityRights rights);
