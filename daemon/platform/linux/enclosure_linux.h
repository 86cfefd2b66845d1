/* Enclosure on Linux: what it remembers of the outside, for comparison. Not a contract. */
#pragma once

#include "platform/enclosure.h"
#include "platform/linux/init.h"
#include "platform/linux/root.h"

typedef enum EnclosureNamespace {
    ENCLOSURE_NS_USER,
    ENCLOSURE_NS_MOUNT,
    ENCLOSURE_NS_PID,
    ENCLOSURE_NS_NETWORK,
    ENCLOSURE_NS_IPC,
    ENCLOSURE_NS_UTS,
    ENCLOSURE_NS_CGROUP,
    ENCLOSURE_NS_COUNT,
} EnclosureNamespace;

struct Enclosure {
    Root root; /* descriptors are -1 without a root of its own */
    Init init;
    ino_t outside[ENCLOSURE_NS_COUNT]; /* the namespaces that were left */
};

/* The name in /proc/<pid>/ns. */
const char *enclosure_namespace_name(EnclosureNamespace kind);
