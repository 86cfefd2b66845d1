/* Config defaults: what holds when the file says nothing. conf/tbsandboxd.yaml says the same in
 * YAML, and a test holds them together. */
#include "config/config_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "config/units.h"

static const char *const none[] = {NULL};

static const char *const refused_calls[] = {
    "eval",   "exec", "compile", "open",    "input",   "breakpoint", "__import__", "globals",
    "locals", "vars", "getattr", "setattr", "delattr", "memoryview", NULL,
};
static const char *const poisoned_modules[] = {
    "socket",  "ssl",       "http",       "urllib", "urllib3",         "requests",   "ftplib",
    "smtplib", "telnetlib", "subprocess", "ctypes", "multiprocessing", "webbrowser", NULL,
};

static const char *const pandas_preload[] = {"numpy", "pandas", NULL};
static const char *const pandas_imports[] = {"pandas", "numpy", "freshdata", NULL};
/* What most jobs do first, so that lazy imports and first-touch costs are paid before a job comes.
 */
static const char pandas_warmup[] =
    "import io\n"
    "import pandas as pd\n"
    "frame = pd.read_csv(io.StringIO(\"k,v\\na,1\\nb,2\\na,3\\n\"))\n"
    "print(frame.describe())\n"
    "print(frame.groupby(\"k\")[\"v\"].sum())\n";

static const char *const stdlib_preload[] = {
    "collections", "csv", "datetime", "decimal", "json", "math", "re", "statistics", NULL,
};
/* Data modules that neither reach files, processes or the network by purpose nor hold `os` or `io`
 * under a public name, as contextlib, secrets and uuid do. */
static const char *const stdlib_imports[] = {
    "__future__", "abc",         "array",     "base64",      "binascii",    "bisect",   "calendar",
    "cmath",      "collections", "copy",      "csv",         "dataclasses", "datetime", "decimal",
    "difflib",    "enum",        "fractions", "functools",   "graphlib",    "hashlib",  "heapq",
    "hmac",       "html",        "itertools", "json",        "math",        "numbers",  "operator",
    "pprint",     "random",      "re",        "statistics",  "string",      "struct",   "textwrap",
    "time",       "types",       "typing",    "unicodedata", "zlib",        NULL,
};

/* What sets the built-in profiles apart. */
typedef struct Builtin {
    const char *name;
    const char *const *preload;
    const char *const *allowed_imports;
    const char *warmup;
} Builtin;

enum { BUILTIN_STDLIB, BUILTIN_PANDAS, BUILTIN_COUNT };
static const Builtin builtins[BUILTIN_COUNT] = {
    [BUILTIN_STDLIB] = {"stdlib", stdlib_preload, stdlib_imports, ""},
    [BUILTIN_PANDAS] = {"pandas", pandas_preload, pandas_imports, pandas_warmup},
};
/* A profile of any other name. */
static const Builtin unnamed = {NULL, none, stdlib_imports, ""};

static const Config plain_defaults = {
    .n_refs = 1,
    .socket_mode = 0666,
    .max_connections = 256,
    .max_connections_per_peer = 128,
    .max_frame_bytes = MIB(64),
    .max_unsent_bytes = MIB(16),
    .hello_timeout_ms = 10000,
    .log_level = LOG_LEVEL_INFO,
    .log_format = LOG_FORMAT_TEXT,
    .queue_max_jobs = 1024,
    .queue_max_jobs_per_peer = 512,
    .queue_max_bytes = MIB(512),
    .environment_wait_ms = 60000,
    .keep_finished_jobs = 10000,
    .keep_finished_ms = 86400000,
    .keep_finished_bytes = MIB(256),
    .keep_output_bytes = KIB(64),
    .shutdown_grace_ms = 30000,
    .first_uid = 1879048192,
    .self_test = true,
    .circuit_failures = 3,
    .circuit_backoff_min_ms = 1000,
    .circuit_backoff_max_ms = 60000,
};

static const Profile plain_profile = {
    .start = START_SPAWN,
    .limits =
        {
            .wall_ms = 10000,
            .cpu_ms = 10000,
            .memory_bytes = GIB(1),
            .output_bytes = MIB(64),
            .disk_bytes = MIB(256),
            .processes = 64,
            .open_files = 256,
        },
    .min_ready = 2,
    .max_environments = 4,
    .ready_timeout_ms = 30000,
};

/* Walls behind the first ones, which many kernels and services do not have. */
static const char *const optional_layers[] = {"landlock", "cgroup", NULL};

static bool is_optional(const char *layer) {
    const char *const *found = optional_layers;
    while (*found && strcmp(*found, layer) != 0) found++;
    return *found != NULL;
}

static int set_layers(Profile *profile) {
    for (const char *const *layer = config_layers; *layer; layer++) {
        const int r = text_list_append(
            is_optional(*layer) ? &profile->optional_layers : &profile->required_layers, *layer);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int set_text(char **text, const char *value) {
    *text = strdup(value);
    return *text ? 0 : error_origin(-ENOMEM);
}

static int set_texts(TextList *list, const char *const *values) {
    for (; *values; values++) {
        const int r = text_list_append(list, *values);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static const Builtin *find_builtin(const char *name) {
    for (size_t i = 0; i < BUILTIN_COUNT; i++)
        if (strcmp(builtins[i].name, name) == 0) return &builtins[i];
    return &unnamed;
}

int profile_init_default(Profile *ret_profile, const char *name) {
    const Builtin *builtin = find_builtin(name);
    CLEANUP(profile_deinit) Profile profile = plain_profile;
    int r = set_text(&profile.name, name);
    if (r == 0) r = set_text(&profile.interpreter, "/usr/bin/python3");
    if (r == 0) r = set_text(&profile.warmup, builtin->warmup);
    if (r == 0) r = set_texts(&profile.preload, builtin->preload);
    if (r == 0) r = set_texts(&profile.allowed_imports, builtin->allowed_imports);
    if (r == 0) r = set_texts(&profile.refused_calls, refused_calls);
    if (r == 0) r = set_texts(&profile.poisoned_modules, poisoned_modules);
    if (r == 0) r = set_layers(&profile);
    if (r < 0) return error_fold(r);
    *ret_profile = profile;
    profile = (Profile){0};
    return 0;
}

static int set_profiles(Config *config) {
    config->profiles = calloc(BUILTIN_COUNT, sizeof *config->profiles);
    if (!config->profiles) return error_origin(-ENOMEM);
    for (size_t i = 0; i < BUILTIN_COUNT; i++) {
        const int r = profile_init_default(&config->profiles[i], builtins[i].name);
        if (r < 0) return error_fold(r);
        config->n_profiles++;
    }
    return 0;
}

int config_new_default(const ConfigPlaces *places, Config **ret_config) {
    CLEANUP(config_unrefp) Config *config = malloc(sizeof *config);
    if (!config) return error_origin(-ENOMEM);
    *config = plain_defaults;
    int r = set_text(&config->socket_path, places->socket_path);
    if (r == 0) r = set_text(&config->runtime_directory, places->runtime_directory);
    if (r == 0) r = set_text(&config->state_directory, places->state_directory);
    if (r == 0) r = set_text(&config->warden_path, places->warden_path);
    if (r == 0) r = set_profiles(config);
    if (r < 0) return error_fold(r);
    *ret_config = TAKE(config);
    return 0;
}
