#include "platform/child_env.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/error.h"

static const char system_root[] = "SystemRoot";

/* A NULL value stands for the work directory. Each name is reserved in config/env_variable.c. */
static const struct {
    const char *name;
    const char *value;
} fixed[] = {
    {"PYTHONDONTWRITEBYTECODE", "1"},
    {"PYTHONNOUSERSITE", "1"},
    {"HOME", NULL},
    {"TMPDIR", NULL},
    /* Libraries that start threads cannot be checked for a lone one. */
    {"OMP_NUM_THREADS", "1"},
    {"OPENBLAS_NUM_THREADS", "1"},
    {"MKL_NUM_THREADS", "1"},
    {"POLARS_MAX_THREADS", "1"},
    {"RAYON_NUM_THREADS", "1"},
    {"LANG", "C.UTF-8"},
};

static int append_fixed(ChildEnv *env, const char *work_directory) {
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const char *value = fixed[i].value ? fixed[i].value : work_directory;
        const int r = env_variable_list_append(env, fixed[i].name, value);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

/* Windows does not mind the case of a name; the value under the first spelling that has one. */
static const char *find_system_root(const char *const *parent_environ) {
    const size_t n = sizeof system_root - 1;
    for (; *parent_environ; parent_environ++)
        if (strncasecmp(*parent_environ, system_root, n) == 0 && (*parent_environ)[n] == '=' &&
            (*parent_environ)[n + 1])
            return *parent_environ + n + 1;
    return NULL;
}

static int append_profile(ChildEnv *env, const Profile *profile) {
    for (size_t i = 0; i < profile->env.n_items; i++) {
        const EnvVariable *variable = &profile->env.items[i];
        const int r = env_variable_list_append(env, variable->name, variable->value);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

int child_env_make(OsFamily family, const char *const *parent_environ, const Profile *profile,
                   const char *work_directory, ChildEnv *ret_env) {
    const bool wants_root = family == OS_FAMILY_WINDOWS;
    const char *root = wants_root ? find_system_root(parent_environ) : NULL;
    CLEANUP(child_env_deinit) ChildEnv env = {0};
    int r = append_fixed(&env, work_directory);
    if (r == 0 && root) r = env_variable_list_append(&env, system_root, root);
    if (r == 0) r = append_profile(&env, profile);
    if (r < 0) return error_fold(r);
    *ret_env = env;
    env = (ChildEnv){0};
    return wants_root && !root ? CHILD_ENV_E_NO_SYSTEM_ROOT : 0;
}

void child_env_deinit(ChildEnv *env) {
    env_variable_list_deinit(env);
}
