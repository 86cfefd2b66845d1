#include "warden/validate.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

static bool is_in_force(const ChildView *view, const char *name) {
    const ChildLayer layer = child_layer_from_name(name);
    return layer < CHILD_LAYER_COUNT && view->layers[layer];
}

int validate_layers(const Setup *setup, const ChildView *view, InvalidReport *ret_invalid) {
    for (size_t i = 0; i < setup->layers.n_items; i++) {
        const char *name = setup->layers.items[i];
        if (!is_in_force(view, name))
            return invalid_set(ret_invalid, CODE_LAYER_MISSING, "the layer %s is not in force",
                               name);
    }
    return 0;
}

/* "3.11.2": three numbers. */
static bool is_version(const char *text) {
    for (int i = 0; i < 3; i++) {
        if (i > 0 && *text++ != '.') return false;
        if (!isdigit((unsigned char)*text)) return false;
        while (isdigit((unsigned char)*text)) text++;
    }
    return *text == '\0';
}

static const char *find_variable(const ChildEnv *environment, const char *name) {
    for (size_t i = 0; i < environment->n_items; i++)
        if (strcmp(environment->items[i].name, name) == 0) return environment->items[i].value;
    return NULL;
}

static int check_environment(const ChildEnv *wanted, const ChildEnv *found,
                             InvalidReport *ret_invalid) {
    for (size_t i = 0; i < wanted->n_items; i++) {
        const EnvVariable *item = &wanted->items[i];
        const char *value = find_variable(found, item->name);
        if (!value)
            return invalid_set(ret_invalid, CODE_ENVIRONMENT_INVALID, "its environment lacks %s",
                               item->name);
        if (strcmp(value, item->value) != 0)
            return invalid_set(ret_invalid, CODE_ENVIRONMENT_INVALID,
                               "its environment has another value of %s", item->name);
    }
    for (size_t i = 0; i < found->n_items; i++)
        if (!find_variable(wanted, found->items[i].name))
            return invalid_set(ret_invalid, CODE_ENVIRONMENT_INVALID,
                               "its environment has %s, which nobody set", found->items[i].name);
    return 0;
}

static int check_imports(const Setup *setup, const HarnessReady *ready,
                         InvalidReport *ret_invalid) {
    for (size_t i = 0; i < setup->preload.n_items; i++)
        if (!text_list_contains(&ready->imports, setup->preload.items[i]))
            return invalid_set(ret_invalid, CODE_ENVIRONMENT_INVALID, "%s is not imported",
                               setup->preload.items[i]);
    return 0;
}

/* What is either right or wrong, in the order in which it is told. */
static int check_claims(const Workdir *workdir, const ChildView *view, const HarnessReady *ready,
                        InvalidReport *ret_invalid) {
    const struct {
        bool is_right;
        const char *complaint;
    } claims[] = {
        {is_version(ready->version), "its version is not three numbers"},
        {ready->is_isolated, "it does not run in isolated mode"},
        {ready->hash_randomization, "its hashes are not randomised"},
        {ready->has_hash_sample, "it gave no sample of its hashes"},
        {ready->has_urandom, "it gets no random bytes from the system"},
        {strcmp(ready->directory, workdir_real_path(workdir)) == 0,
         "it does not stand in its work directory"},
        {ready->n_entries == 0, "its work directory was not empty"},
        {ready->is_writable, "it cannot write to its work directory"},
        {view->layers[CHILD_LAYER_WORK_DIRECTORY],
         "the kernel does not see it in its work directory"},
        {view->layers[CHILD_LAYER_DESCRIPTORS], "its descriptors are not exactly 0 to 4"},
        {view->n_threads == 1, "it has more than one thread"},
    };
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
        if (!claims[i].is_right)
            return invalid_set(ret_invalid, CODE_ENVIRONMENT_INVALID, "%s", claims[i].complaint);
    return 0;
}

int validate_ready(const Setup *setup, const Workdir *workdir, const ChildView *view,
                   const HarnessReady *ready, InvalidReport *ret_invalid) {
    int r = check_claims(workdir, view, ready, ret_invalid);
    if (r == 0) r = check_environment(&setup->environment, &ready->environment, ret_invalid);
    if (r == 0) r = check_imports(setup, ready, ret_invalid);
    if (r != 0) return r;
    bool is_empty;
    r = workdir_is_empty(workdir, &is_empty);
    if (r < 0) return error_fold(r);
    if (is_empty) return 0;
    return invalid_set(ret_invalid, CODE_ENVIRONMENT_INVALID,
                       "its work directory is not empty after its set-up");
}
