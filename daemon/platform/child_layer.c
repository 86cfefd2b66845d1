#include "platform/child_layer.h"

#include <string.h>

const char *child_layer_name(ChildLayer layer) {
    static const char *const names[CHILD_LAYER_COUNT] = {
        [CHILD_LAYER_SESSION] = "session",
        [CHILD_LAYER_DEATH_SIGNAL] = "death_signal",
        [CHILD_LAYER_RLIMITS] = "rlimits",
        [CHILD_LAYER_DESCRIPTORS] = "descriptors",
        [CHILD_LAYER_WORK_DIRECTORY] = "work_directory",
        [CHILD_LAYER_NO_NEW_PRIVILEGES] = "no_new_privileges",
        [CHILD_LAYER_USER_NAMESPACE] = "user_namespace",
        [CHILD_LAYER_MOUNT_NAMESPACE] = "mount_namespace",
        [CHILD_LAYER_PID_NAMESPACE] = "pid_namespace",
        [CHILD_LAYER_NETWORK_NAMESPACE] = "network_namespace",
        [CHILD_LAYER_IPC_NAMESPACE] = "ipc_namespace",
        [CHILD_LAYER_UTS_NAMESPACE] = "uts_namespace",
        [CHILD_LAYER_CGROUP_NAMESPACE] = "cgroup_namespace",
        [CHILD_LAYER_OWN_ROOT] = "own_root",
        [CHILD_LAYER_UNPRIVILEGED_USER] = "unprivileged_user",
        [CHILD_LAYER_NO_CAPABILITIES] = "no_capabilities",
        [CHILD_LAYER_NOT_DUMPABLE] = "not_dumpable",
        [CHILD_LAYER_SECCOMP] = "seccomp",
        [CHILD_LAYER_LANDLOCK] = "landlock",
        [CHILD_LAYER_CGROUP] = "cgroup",
    };
    return names[layer];
}

ChildLayer child_layer_from_name(const char *name) {
    ChildLayer layer = 0;
    while (layer < CHILD_LAYER_COUNT && strcmp(child_layer_name(layer), name) != 0) layer++;
    return layer;
}

bool child_layer_is_enclosing(ChildLayer layer) {
    return layer >= CHILD_LAYER_USER_NAMESPACE && layer <= CHILD_LAYER_NO_CAPABILITIES;
}

bool child_layer_is_basic(ChildLayer layer) {
    return layer <= CHILD_LAYER_NO_NEW_PRIVILEGES;
}
