/* Config: what the daemon runs with: defaults, then the file, then validation. Plain data, shared
 * by reference and never changed once loaded. Knows how to read, check, print and compare itself;
 * never opens a socket or starts a process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/log.h"
#include "base/text.h"
#include "config/problem.h"

/* What one job may use. In a profile: the bounds, and the values for a job that names none. */
typedef struct Limits {
    uint64_t wall_ms;
    uint64_t cpu_ms;
    uint64_t memory_bytes; /* beyond what the validated interpreter already has */
    uint64_t output_bytes; /* stdout and stderr together */
    uint64_t disk_bytes;   /* all files in the work directory together */
    uint32_t processes;
    uint32_t open_files;
} Limits;

typedef enum StartMode { START_SPAWN } StartMode;

typedef struct EnvVariable {
    char *name;
    char *value;
} EnvVariable;

typedef struct EnvVariableList {
    EnvVariable *items;
    size_t n_items;
} EnvVariableList;

/* Appends a copy. 0 or -ENOMEM. */
int env_variable_list_append(EnvVariableList *list, const char *name, const char *value);
/* Frees the variables and empties the list. */
void env_variable_list_deinit(EnvVariableList *list);

typedef struct Profile {
    char *name;
    char *interpreter; /* absolute path */
    StartMode start;
    TextList preload;          /* imported before an environment is ready */
    TextList allowed_imports;  /* top-level packages generated code may import */
    TextList refused_calls;    /* names it may not call */
    TextList poisoned_modules; /* modules that fail to import once the preload is done */
    EnvVariableList env;       /* added to the child's environment */
    char *warmup;              /* Python source, may be empty */
    Limits limits;
    uint32_t min_ready;
    uint32_t max_environments;
    uint64_t ready_timeout_ms; /* from spawn to READY */
    TextList required_layers;
    TextList optional_layers;
    TextList readable; /* absolute paths that code sees in a root of its own, beside the needed */
} Profile;

typedef struct AccessRule {
    TextList users;  /* names or numeric ids; "*" is everyone */
    TextList groups; /* names or numeric ids */
} AccessRule;

typedef struct Config {
    unsigned n_refs;
    char *file; /* absolute path it came from, or NULL for the built-in one */

    char *socket_path;
    uint32_t socket_mode; /* permission bits, e.g. 0660 */
    uint32_t max_connections;
    uint32_t max_connections_per_peer;
    uint64_t max_frame_bytes;
    uint64_t max_unsent_bytes; /* per connection; a client that reads slower is closed */
    uint64_t hello_timeout_ms;

    AccessRule submit; /* may use the daemon */
    AccessRule admin;  /* may see every job and Drain, Resume, Reload */

    char *runtime_directory; /* work directories and the lock; emptied at start */
    char *state_directory;   /* what outlives a restart */
    char *warden_path;       /* tbwarden */

    LogLevel log_level;
    LogFormat log_format;

    uint32_t queue_max_jobs;
    uint32_t queue_max_jobs_per_peer;
    uint64_t queue_max_bytes;     /* code and inputs of all unfinished jobs */
    uint64_t environment_wait_ms; /* a job that gets no environment within it: infrastructure */
    uint32_t keep_finished_jobs;
    uint64_t keep_finished_ms;
    uint64_t keep_finished_bytes; /* outputs and file lists of all finished jobs */
    uint64_t keep_output_bytes;   /* of the head, and again of the tail, of each output */
    uint64_t shutdown_grace_ms;
    uint32_t first_uid; /* of the users that own nothing; the daemon takes them when it is root */

    bool self_test;
    uint32_t circuit_failures; /* in a row, until the circuit opens */
    uint64_t circuit_backoff_min_ms;
    uint64_t circuit_backoff_max_ms;

    Profile *profiles;
    size_t n_profiles;
} Config;

/* Where defaults that depend on the user and host come from; made by platform/paths. Strings are
 * borrowed during the call. */
typedef struct ConfigPlaces {
    const char *socket_path;
    const char *runtime_directory;
    const char *state_directory;
    const char *warden_path;
} ConfigPlaces;

/* The built-in config: profiles `stdlib` and `pandas`. The reference is the caller's. 0 or -ENOMEM.
 */
int config_new_default(const ConfigPlaces *places, Config **ret_config);
/* Defaults, then `path`, then validation. 0, 1 when `problems` says what is wrong, or -ENOMEM. */
int config_load(const char *path, const ConfigPlaces *places, ProblemList *problems,
                Config **ret_config);
/* The same for bytes in memory (`problems` carries the name). */
int config_parse(const void *bytes, size_t n_bytes, const ConfigPlaces *places,
                 ProblemList *problems, Config **ret_config);

Config *config_ref(Config *config);
/* Drops a reference. Takes NULL, returns NULL. */
Config *config_unref(Config *config);

/* The profile called `name`, or NULL. Borrowed from the config. */
const Profile *config_profile(const Config *config, const char *name);
/* True when environments made for `a` serve `b` as well. */
bool profile_equal(const Profile *a, const Profile *b);

/* True for a name, in whatever case, that the daemon gives every child itself; no profile may. */
bool config_env_name_is_reserved(const char *name);

/* Prints the effective config as YAML that config_parse reads back to the same config. */
void config_print(const Config *config, FILE *stream);

static inline void config_unrefp(Config **config) {
    config_unref(*config);
}
