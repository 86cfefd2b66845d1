/* Child env: the whole environment of an interpreter. A pure function of the system's family, the
 * daemon's own environment and the profile, so that the rules of each family are tested on any.
 * Never reads `environ`, and lets nothing of it through but what a family cannot do without. */
#pragma once

#include "config/config.h"

typedef enum OsFamily {
    OS_FAMILY_POSIX,
    OS_FAMILY_WINDOWS,
#ifdef _WIN32
    OS_FAMILY_HOST = OS_FAMILY_WINDOWS,
#else
    OS_FAMILY_HOST = OS_FAMILY_POSIX,
#endif
} OsFamily;

typedef EnvVariableList ChildEnv;

/* Documented result. */
enum {
    /* Windows only: the parent has no SystemRoot, or an empty one, without which an interpreter may
     * not start. *ret_env holds the rest. */
    CHILD_ENV_E_NO_SYSTEM_ROOT = 1,
};

/* Makes the variables in a fixed order: the daemon's, SystemRoot on Windows, the profile's.
 * `parent_environ` is NULL-terminated `NAME=value`. The caller calls child_env_deinit.
 * 0, CHILD_ENV_E_NO_SYSTEM_ROOT, or -ENOMEM. */
int child_env_make(OsFamily family, const char *const *parent_environ, const Profile *profile,
                   const char *work_directory, ChildEnv *ret_env);
void child_env_deinit(ChildEnv *env);
