#include "platform/child_layer.h"

#include <string.h>

#include "config/config_table.h"
#include "suite.h"

typedef enum Kind { BASIC, ENCLOSING, SPECIAL } Kind;

/* The public contract: every layer, its name, what it comes with. */
static const struct {
    const char *name;
    Kind kind;
} layers[] = {
    [CHILD_LAYER_SESSION] = {"session", BASIC},
    [CHILD_LAYER_DEATH_SIGNAL] = {"death_signal", BASIC},
    [CHILD_LAYER_RLIMITS] = {"rlimits", BASIC},
    [CHILD_LAYER_DESCRIPTORS] = {"descriptors", BASIC},
    [CHILD_LAYER_WORK_DIRECTORY] = {"work_directory", BASIC},
    [CHILD_LAYER_NO_NEW_PRIVILEGES] = {"no_new_privileges", BASIC},
    [CHILD_LAYER_USER_NAMESPACE] = {"user_namespace", ENCLOSING},
    [CHILD_LAYER_MOUNT_NAMESPACE] = {"mount_namespace", ENCLOSING},
    [CHILD_LAYER_PID_NAMESPACE] = {"pid_namespace", ENCLOSING},
    [CHILD_LAYER_NETWORK_NAMESPACE] = {"network_namespace", ENCLOSING},
    [CHILD_LAYER_IPC_NAMESPACE] = {"ipc_namespace", ENCLOSING},
    [CHILD_LAYER_UTS_NAMESPACE] = {"uts_namespace", ENCLOSING},
    [CHILD_LAYER_CGROUP_NAMESPACE] = {"cgroup_namespace", ENCLOSING},
    [CHILD_LAYER_OWN_ROOT] = {"own_root", ENCLOSING},
    [CHILD_LAYER_UNPRIVILEGED_USER] = {"unprivileged_user", ENCLOSING},
    [CHILD_LAYER_NO_CAPABILITIES] = {"no_capabilities", ENCLOSING},
    [CHILD_LAYER_NOT_DUMPABLE] = {"not_dumpable", SPECIAL},
    [CHILD_LAYER_SECCOMP] = {"seccomp", SPECIAL},
    [CHILD_LAYER_LANDLOCK] = {"landlock", SPECIAL},
    [CHILD_LAYER_CGROUP] = {"cgroup", SPECIAL},
};

START_TEST(every_layer_has_its_name_and_kind) {
    ck_assert_uint_eq(sizeof layers / sizeof *layers, CHILD_LAYER_COUNT);
    for (ChildLayer layer = 0; layer < CHILD_LAYER_COUNT; layer++) {
        ck_assert_str_eq(child_layer_name(layer), layers[layer].name);
        ck_assert_int_eq(child_layer_from_name(layers[layer].name), layer);
        ck_assert_int_eq(child_layer_is_basic(layer), layers[layer].kind == BASIC);
        ck_assert_int_eq(child_layer_is_enclosing(layer), layers[layer].kind == ENCLOSING);
    }
}
END_TEST

START_TEST(other_names_have_no_layer) {
    static const char *const others[] = {"", "Session", "session ", "seccom", "seccompp", "moat"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_int_eq(child_layer_from_name(others[i]), CHILD_LAYER_COUNT);
    ck_assert(!child_layer_is_basic(CHILD_LAYER_COUNT));
    ck_assert(!child_layer_is_enclosing(CHILD_LAYER_COUNT));
}
END_TEST

/* The config names exactly these, and knows those that come together. */
START_TEST(the_config_has_the_same) {
    size_t n = 0, n_enclosing = 0;
    for (; config_layers[n]; n++) ck_assert_str_eq(config_layers[n], layers[n].name);
    ck_assert_uint_eq(n, CHILD_LAYER_COUNT);
    for (; config_enclosure_layers[n_enclosing]; n_enclosing++)
        ck_assert(
            child_layer_is_enclosing(child_layer_from_name(config_enclosure_layers[n_enclosing])));
    ck_assert_uint_eq(n_enclosing, CHILD_LAYER_NO_CAPABILITIES - CHILD_LAYER_USER_NAMESPACE + 1);
}
END_TEST

SUITE_MAIN("child_layer", every_layer_has_its_name_and_kind, other_names_have_no_layer,
           the_config_has_the_same)
