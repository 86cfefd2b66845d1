/* Config table: the keys, their bounds and what their texts may be. Rules between keys are in
 * config_check.c, defaults in config_defaults.c. */
#include "config/config_table.h"

#include <string.h>

#include "base/text.h"
#include "config/units.h"

#define HOUR_MS UINT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)

enum {
    PATH_MAX_BYTES = 4095,
    SOCKET_PATH_MAX_BYTES = 107, /* sun_path and its NUL */
    MODULE_MAX_BYTES = 128,
    ENV_NAME_MAX_BYTES = 128,
    PRINCIPAL_MAX_BYTES = 256,
    LIST_MAX_ITEMS = 1024,
    WARMUP_MAX_BYTES = 65536,
};

#define DIGITS "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"

static const char *const log_level_names[] = {"error", "warning", "info", "debug", NULL};
static const char *const log_format_names[] = {"text", "json", NULL};
static const char *const start_names[] = {"spawn", NULL};
const char *const config_layers[] = {
    "session",           "death_signal",    "rlimits",
    "descriptors",       "work_directory",  "no_new_privileges",
    "user_namespace",    "mount_namespace", "pid_namespace",
    "network_namespace", "ipc_namespace",   "uts_namespace",
    "cgroup_namespace",  "own_root",        "unprivileged_user",
    "no_capabilities",   "not_dumpable",    "seccomp",
    "landlock",          "cgroup",          NULL,
};
const char *const config_enclosure_layers[] = {
    "user_namespace",
    "mount_namespace",
    "pid_namespace",
    "network_namespace",
    "ipc_namespace",
    "uts_namespace",
    "cgroup_namespace",
    "own_root",
    "unprivileged_user",
    "no_capabilities",
    NULL,
};

_Static_assert(sizeof log_level_names / sizeof *log_level_names == LOG_LEVEL_DEBUG + 2, "levels");
_Static_assert(sizeof log_format_names / sizeof *log_format_names == LOG_FORMAT_JSON + 2,
               "formats");
_Static_assert(sizeof(LogLevel) == sizeof(unsigned) && sizeof(LogFormat) == sizeof(unsigned) &&
                   sizeof(StartMode) == sizeof(unsigned),
               "FIELD_CHOICE stores an unsigned");

static const char *complain_path(const char *text) {
    return text[0] == '/' ? NULL : "expected an absolute path";
}

/* One identifier at *text; moves behind it. */
static bool skip_identifier(const char **text) {
    if (!**text || !strchr(LETTERS, **text)) return false;
    *text += strspn(*text, LETTERS DIGITS);
    return true;
}

static const char *complain_name(const char *text) {
    const size_t n = strlen(text);
    if (n <= MODULE_MAX_BYTES && skip_identifier(&text) && !*text) return NULL;
    return "expected one name such as pandas, without dots";
}

static const char *complain_module(const char *text) {
    const size_t n = strlen(text);
    bool good = n <= MODULE_MAX_BYTES && skip_identifier(&text);
    while (good && *text == '.') {
        text++;
        good = skip_identifier(&text);
    }
    return good && !*text ? NULL : "expected a module such as numpy or os.path";
}

static const char *complain_env_name(const char *text) {
    if (config_env_name_is_reserved(text))
        return "expected a variable that the daemon does not set itself";
    const size_t n = strlen(text);
    if (n <= ENV_NAME_MAX_BYTES && skip_identifier(&text) && !*text) return NULL;
    return "expected letters, digits and _ for the name of a variable";
}

/* User and group names are the system's business; what can be in none of them is refused. */
static const char *complain_principal(const char *text) {
    const size_t n = strlen(text);
    const bool good = n > 0 && n <= PRINCIPAL_MAX_BYTES && strcspn(text, " \t\r\n:/") == n;
    return good ? NULL : "expected a name, a numeric id or \"*\"";
}

#define END                                                                                        \
    { .key = NULL }
#define IN_CONFIG(member) .offset = offsetof(Config, member)
#define IN_PROFILE(member) .offset = offsetof(Profile, member)

static const Field access_rule_fields[] = {
    {"users", FIELD_TEXTS, offsetof(AccessRule, users), .max = LIST_MAX_ITEMS,
     .complain = complain_principal},
    {"groups", FIELD_TEXTS, offsetof(AccessRule, groups), .max = LIST_MAX_ITEMS,
     .complain = complain_principal},
    END,
};

static const Field listen_fields[] = {
    {"socket", FIELD_TEXT, IN_CONFIG(socket_path), .max = SOCKET_PATH_MAX_BYTES,
     .complain = complain_path},
    {"socket_mode", FIELD_MODE, IN_CONFIG(socket_mode)},
    {"max_connections", FIELD_COUNT, IN_CONFIG(max_connections), .min = 1, .max = 65536},
    {"max_connections_per_peer", FIELD_COUNT, IN_CONFIG(max_connections_per_peer), .min = 1,
     .max = 65536},
    {"max_frame", FIELD_BYTES, IN_CONFIG(max_frame_bytes), .min = KIB(64), .max = GIB(1)},
    {"max_unsent", FIELD_BYTES, IN_CONFIG(max_unsent_bytes), .min = MIB(1), .max = GIB(1)},
    {"hello_timeout_s", FIELD_SECONDS, IN_CONFIG(hello_timeout_ms), .min = 100, .max = HOUR_MS},
    END,
};

static const Field access_fields[] = {
    {"submit", FIELD_SECTION, IN_CONFIG(submit), .section = access_rule_fields},
    {"admin", FIELD_SECTION, IN_CONFIG(admin), .section = access_rule_fields},
    END,
};

static const Field path_fields[] = {
    {"runtime_directory", FIELD_TEXT, IN_CONFIG(runtime_directory), .max = PATH_MAX_BYTES,
     .complain = complain_path},
    {"state_directory", FIELD_TEXT, IN_CONFIG(state_directory), .max = PATH_MAX_BYTES,
     .complain = complain_path},
    {"warden", FIELD_TEXT, IN_CONFIG(warden_path), .max = PATH_MAX_BYTES,
     .complain = complain_path},
    END,
};

static const Field log_fields[] = {
    {"level", FIELD_CHOICE, IN_CONFIG(log_level), .choices = log_level_names,
     .choices_lead = "expected one of"},
    {"format", FIELD_CHOICE, IN_CONFIG(log_format), .choices = log_format_names,
     .choices_lead = "expected one of"},
    END,
};

static const Field queue_fields[] = {
    {"max_jobs", FIELD_COUNT, IN_CONFIG(queue_max_jobs), .min = 1, .max = 1000000},
    {"max_jobs_per_peer", FIELD_COUNT, IN_CONFIG(queue_max_jobs_per_peer), .min = 1,
     .max = 1000000},
    {"max_bytes", FIELD_BYTES, IN_CONFIG(queue_max_bytes), .min = KIB(64), .max = TIB(1)},
    {"environment_wait_s", FIELD_SECONDS, IN_CONFIG(environment_wait_ms), .min = 100,
     .max = DAY_MS},
    END,
};

static const Field job_fields[] = {
    {"keep_finished", FIELD_COUNT, IN_CONFIG(keep_finished_jobs), .min = 1, .max = 10000000},
    {"keep_finished_s", FIELD_SECONDS, IN_CONFIG(keep_finished_ms), .min = 1000,
     .max = 3650 * DAY_MS},
    {"keep_finished_size", FIELD_BYTES, IN_CONFIG(keep_finished_bytes), .min = MIB(1),
     .max = TIB(1)},
    {"keep_output", FIELD_BYTES, IN_CONFIG(keep_output_bytes), .min = KIB(1), .max = MIB(16)},
    {"first_uid", FIELD_COUNT, IN_CONFIG(first_uid), .min = 1, .max = UINT32_MAX - 131072},
    END,
};

static const Field circuit_fields[] = {
    {"failures", FIELD_COUNT, IN_CONFIG(circuit_failures), .min = 1, .max = 1000},
    {"backoff_min_s", FIELD_SECONDS, IN_CONFIG(circuit_backoff_min_ms), .min = 10, .max = DAY_MS},
    {"backoff_max_s", FIELD_SECONDS, IN_CONFIG(circuit_backoff_max_ms), .min = 10, .max = DAY_MS},
    END,
};

const Field config_fields[] = {
    {"listen", FIELD_SECTION, .section = listen_fields},
    {"access", FIELD_SECTION, .section = access_fields},
    {"paths", FIELD_SECTION, .section = path_fields},
    {"log", FIELD_SECTION, .section = log_fields},
    {"queue", FIELD_SECTION, .section = queue_fields},
    {"jobs", FIELD_SECTION, .section = job_fields},
    {"shutdown_grace_s", FIELD_SECONDS, IN_CONFIG(shutdown_grace_ms), .min = 0, .max = HOUR_MS},
    {"self_test", FIELD_BOOL, IN_CONFIG(self_test)},
    {"circuit", FIELD_SECTION, .section = circuit_fields},
    {"profiles", FIELD_ELSEWHERE, .offset = 0},
    END,
};

static const Field limit_fields[] = {
    {"wall_s", FIELD_SECONDS, offsetof(Limits, wall_ms), .min = 10, .max = DAY_MS},
    {"cpu_s", FIELD_SECONDS, offsetof(Limits, cpu_ms), .min = 10, .max = DAY_MS},
    {"memory", FIELD_BYTES, offsetof(Limits, memory_bytes), .min = MIB(1), .max = TIB(1)},
    {"output", FIELD_BYTES, offsetof(Limits, output_bytes), .min = KIB(1), .max = TIB(1)},
    {"disk", FIELD_BYTES, offsetof(Limits, disk_bytes), .min = KIB(64), .max = TIB(1)},
    {"processes", FIELD_COUNT, offsetof(Limits, processes), .min = 1, .max = 65536},
    {"open_files", FIELD_COUNT, offsetof(Limits, open_files), .min = 16, .max = 1048576},
    END,
};

/* How many environments there are, not what they are. */
static const Field pool_fields[] = {
    {"min_ready", FIELD_COUNT, IN_PROFILE(min_ready), .min = 1, .max = 256},
    {"max", FIELD_COUNT, IN_PROFILE(max_environments), .min = 1, .max = 256},
    {"ready_timeout_s", FIELD_SECONDS, IN_PROFILE(ready_timeout_ms), .min = 100, .max = HOUR_MS},
    END,
};

#define LAYER_LIST                                                                                 \
    .max = LIST_MAX_ITEMS, .choices = config_layers, .choices_lead = "this version has the layers"

static const Field isolation_fields[] = {
    {"required", FIELD_TEXTS, IN_PROFILE(required_layers), LAYER_LIST},
    {"optional", FIELD_TEXTS, IN_PROFILE(optional_layers), LAYER_LIST},
    {"readable", FIELD_TEXTS, IN_PROFILE(readable), .max = LIST_MAX_ITEMS,
     .complain = complain_path},
    END,
};

const Field profile_fields[] = {
    {"interpreter", FIELD_TEXT, IN_PROFILE(interpreter), .max = PATH_MAX_BYTES,
     .complain = complain_path},
    {"start", FIELD_CHOICE, IN_PROFILE(start), .choices = start_names,
     .choices_lead = "this version has start:"},
    {"preload", FIELD_TEXTS, IN_PROFILE(preload), .max = LIST_MAX_ITEMS,
     .complain = complain_module},
    {"allowed_imports", FIELD_TEXTS, IN_PROFILE(allowed_imports), .max = LIST_MAX_ITEMS,
     .complain = complain_name},
    {"refused_calls", FIELD_TEXTS, IN_PROFILE(refused_calls), .max = LIST_MAX_ITEMS,
     .complain = complain_name},
    {"poisoned_modules", FIELD_TEXTS, IN_PROFILE(poisoned_modules), .max = LIST_MAX_ITEMS,
     .complain = complain_module},
    {"env", FIELD_VARIABLES, IN_PROFILE(env), .max = 64, .complain = complain_env_name},
    {"warmup", FIELD_TEXT, IN_PROFILE(warmup), .max = WARMUP_MAX_BYTES},
    {"limits", FIELD_SECTION, IN_PROFILE(limits), .section = limit_fields},
    {"pool", FIELD_SECTION, .section = pool_fields},
    {"isolation", FIELD_SECTION, .section = isolation_fields},
    END,
};

bool profile_equal(const Profile *a, const Profile *b) {
    if (strcmp(a->name, b->name) != 0) return false;
    for (const Field *field = profile_fields; field->key; field++) {
        if (field->section == pool_fields) continue;
        const Field single[] = {*field, END};
        if (!fields_equal(single, a, b)) return false;
    }
    return true;
}
