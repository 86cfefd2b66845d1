#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "config/config_table.h"

#define SHIPPED_FILE "conf/tbsandboxd.yaml"

static const ConfigPlaces places = {
    .socket_path = "/run/tbsandboxd/tbsandboxd.sock",
    .runtime_directory = "/run/tbsandboxd",
    .state_directory = "/var/lib/tbsandboxd",
    .warden_path = "/usr/local/libexec/tbsandboxd/tbwarden",
};

static const ConfigPlaces other_places = {
    .socket_path = "/other/socket",
    .runtime_directory = "/other/run",
    .state_directory = "/other/state",
    .warden_path = "/other/warden",
};

static Config *parse_at(const char *text, const ConfigPlaces *where) {
    ProblemList problems;
    Config *config = NULL;
    ck_assert_int_eq(problem_list_init(&problems, "f"), 0);
    const int r = config_parse(text, strlen(text), where, &problems, &config);
    if (r) problem_list_print(&problems, stderr);
    ck_assert_int_eq(r, 0);
    ck_assert(problem_list_empty(&problems));
    problem_list_deinit(&problems);
    return config;
}

static Config *parse(const char *text) {
    return parse_at(text, &places);
}

static Config *defaults(void) {
    Config *config = NULL;
    ck_assert_int_eq(config_new_default(&places, &config), 0);
    return config;
}

/* Says which profile or section differs. */
static void expect_equal(const Config *a, const Config *b) {
    for (const Field *field = config_fields; field->key; field++) {
        const Field single[] = {*field, {.key = NULL}};
        ck_assert_msg(fields_equal(single, a, b), "%s differs", field->key);
    }
    ck_assert_uint_eq(a->n_profiles, b->n_profiles);
    for (size_t i = 0; i < a->n_profiles; i++) {
        ck_assert_str_eq(a->profiles[i].name, b->profiles[i].name);
        for (const Field *field = profile_fields; field->key; field++) {
            const Field single[] = {*field, {.key = NULL}};
            ck_assert_msg(fields_equal(single, &a->profiles[i], &b->profiles[i]), "%s.%s differs",
                          a->profiles[i].name, field->key);
        }
    }
}

static void expect_list(const TextList *list, const char *const *expected) {
    size_t n = 0;
    for (; expected[n]; n++) {
        ck_assert_uint_lt(n, list->n_items);
        ck_assert_str_eq(list->items[n], expected[n]);
    }
    ck_assert_uint_eq(list->n_items, n);
}

START_TEST(defaults_hold_their_values) {
    Config *config = defaults();
    ck_assert_ptr_null(config->file);
    ck_assert_str_eq(config->socket_path, places.socket_path);
    ck_assert_uint_eq(config->socket_mode, 0666);
    ck_assert_uint_eq(config->max_connections, 256);
    ck_assert_uint_eq(config->max_connections_per_peer, 128);
    ck_assert_uint_eq(config->max_frame_bytes, 64 << 20);
    ck_assert_uint_eq(config->max_unsent_bytes, 16 << 20);
    ck_assert_uint_eq(config->hello_timeout_ms, 10000);
    ck_assert_uint_eq(config->submit.users.n_items + config->submit.groups.n_items, 0);
    ck_assert_uint_eq(config->admin.users.n_items + config->admin.groups.n_items, 0);
    ck_assert_str_eq(config->runtime_directory, places.runtime_directory);
    ck_assert_str_eq(config->state_directory, places.state_directory);
    ck_assert_str_eq(config->warden_path, places.warden_path);
    ck_assert_int_eq(config->log_level, LOG_LEVEL_INFO);
    ck_assert_int_eq(config->log_format, LOG_FORMAT_TEXT);
    ck_assert_uint_eq(config->queue_max_jobs, 1024);
    ck_assert_uint_eq(config->queue_max_jobs_per_peer, 512);
    ck_assert_uint_eq(config->queue_max_bytes, 512 << 20);
    ck_assert_uint_eq(config->environment_wait_ms, 60000);
    ck_assert_uint_eq(config->keep_finished_jobs, 10000);
    ck_assert_uint_eq(config->keep_finished_ms, 86400000);
    ck_assert_uint_eq(config->keep_finished_bytes, 256 << 20);
    ck_assert_uint_eq(config->keep_output_bytes, 65536);
    ck_assert_uint_eq(config->first_uid, 1879048192);
    ck_assert_uint_eq(config->shutdown_grace_ms, 30000);
    ck_assert(config->self_test);
    ck_assert_uint_eq(config->circuit_failures, 3);
    ck_assert_uint_eq(config->circuit_backoff_min_ms, 1000);
    ck_assert_uint_eq(config->circuit_backoff_max_ms, 60000);
    ck_assert_uint_eq(config->n_profiles, 2);
    config_unref(config);
}
END_TEST

START_TEST(builtin_pandas_holds_its_values) {
    static const char *const layers[] = {"session",
                                         "death_signal",
                                         "rlimits",
                                         "descriptors",
                                         "work_directory",
                                         "no_new_privileges",
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
                                         "not_dumpable",
                                         "seccomp",
                                         NULL};
    static const char *const refused[] = {
        "eval",   "exec", "compile", "open",    "input",   "breakpoint", "__import__", "globals",
        "locals", "vars", "getattr", "setattr", "delattr", "memoryview", NULL};
    static const char *const poisoned[] = {
        "socket",  "ssl",       "http",       "urllib", "urllib3",         "requests",   "ftplib",
        "smtplib", "telnetlib", "subprocess", "ctypes", "multiprocessing", "webbrowser", NULL};
    Config *config = defaults();
    const Profile *profile = config_profile(config, "pandas");
    ck_assert_ptr_nonnull(profile);
    ck_assert_str_eq(profile->interpreter, "/usr/bin/python3");
    ck_assert_int_eq(profile->start, START_SPAWN);
    expect_list(&profile->preload, (const char *const[]){"numpy", "pandas", NULL});
    expect_list(&profile->allowed_imports,
                (const char *const[]){"pandas", "numpy", "freshdata", NULL});
    expect_list(&profile->refused_calls, refused);
    expect_list(&profile->poisoned_modules, poisoned);
    ck_assert_ptr_nonnull(strstr(profile->warmup, "read_csv"));
    ck_assert_uint_eq(profile->env.n_items, 0);
    ck_assert_uint_eq(profile->limits.wall_ms, 10000);
    ck_assert_uint_eq(profile->limits.cpu_ms, 10000);
    ck_assert_uint_eq(profile->limits.memory_bytes, 1 << 30);
    ck_assert_uint_eq(profile->limits.output_bytes, 64 << 20);
    ck_assert_uint_eq(profile->limits.disk_bytes, 256 << 20);
    ck_assert_uint_eq(profile->limits.processes, 64);
    ck_assert_uint_eq(profile->limits.open_files, 256);
    ck_assert_uint_eq(profile->min_ready, 2);
    ck_assert_uint_eq(profile->max_environments, 4);
    ck_assert_uint_eq(profile->ready_timeout_ms, 30000);
    expect_list(&profile->required_layers, layers);
    expect_list(&profile->optional_layers, (const char *const[]){"landlock", "cgroup", NULL});
    ck_assert_uint_eq(profile->readable.n_items, 0);
    config_unref(config);
}
END_TEST

static const char *const reaches_out[] = {
    "os",     "sys",      "io",        "pathlib", "shutil",  "tempfile", "glob",       "subprocess",
    "socket", "ctypes",   "pickle",    "shelve",  "sqlite3", "logging",  "importlib",  "inspect",
    "uuid",   "builtins", "threading", "signal",  "pandas",  "codecs",   "contextlib", "secrets",
};

START_TEST(builtin_stdlib_allows_nothing_that_reaches_out) {
    Config *config = defaults();
    const Profile *profile = config_profile(config, "stdlib");
    ck_assert(text_list_contains(&profile->allowed_imports, "json"));
    ck_assert(!text_list_contains(&profile->allowed_imports, reaches_out[_i]));
    for (size_t i = 0; i < profile->preload.n_items; i++)
        ck_assert(text_list_contains(&profile->allowed_imports, profile->preload.items[i]));
    config_unref(config);
}
END_TEST

START_TEST(an_empty_file_is_the_defaults) {
    Config *expected = defaults();
    Config *config = parse("# nothing\nlisten:\nlog: {}\n");
    expect_equal(config, expected);
    config_unref(config);
    config_unref(expected);
}
END_TEST

/* The shipped file with its `#:` lines made active. */
static char *read_shipped(void) {
    FILE *file = fopen(SHIPPED_FILE, "re");
    ck_assert_msg(file != NULL, "run from the top of the tree: no " SHIPPED_FILE);
    char *text = calloc(1, 1 << 16);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_lt(fread(text, 1, (1 << 16) - 1, file), (1 << 16) - 1);
    fclose(file);
    for (char *mark = text; (mark = strstr(mark, "#: "));) {
        /* The rest of the line moves to where the mark was. */
        char *end = strchr(mark, '\n');
        memmove(mark, mark + 3, (size_t)(end - mark - 3));
        memset(end - 3, ' ', 3);
    }
    return text;
}

START_TEST(the_shipped_file_is_the_defaults) {
    Config *expected = defaults(), *config = NULL;
    ProblemList problems;
    ck_assert_int_eq(problem_list_init(&problems, SHIPPED_FILE), 0);
    const int r = config_load(SHIPPED_FILE, &places, &problems, &config);
    problem_list_print(&problems, stderr);
    ck_assert_int_eq(r, 0);
    expect_equal(config, expected);
    config_unref(config);
    problem_list_deinit(&problems);
    config_unref(expected);
}
END_TEST

/* With other places to start from, only what the file says itself can make it equal. */
START_TEST(the_shipped_file_shows_the_places_of_root) {
    Config *expected = defaults();
    char *text = read_shipped();
    Config *config = parse_at(text, &other_places);
    expect_equal(config, expected);
    config_unref(config);
    free(text);
    config_unref(expected);
}
END_TEST

static void expect_every_key(const Field *fields, const Node *node, const char *path) {
    for (const Field *field = fields; field->key; field++) {
        const Node *value = node_get(node, field->key);
        ck_assert_msg(value != NULL, "%s.%s is not in " SHIPPED_FILE, path, field->key);
        if (field->kind == FIELD_SECTION) expect_every_key(field->section, value, field->key);
    }
}

START_TEST(the_shipped_file_has_every_key) {
    ProblemList problems;
    Node *root = NULL;
    char *text = read_shipped();
    ck_assert_int_eq(problem_list_init(&problems, SHIPPED_FILE), 0);
    ck_assert_int_eq(document_parse(text, strlen(text), &problems, &root), 0);
    expect_every_key(config_fields, root, "");
    const Node *profiles = node_get(root, "profiles");
    expect_every_key(profile_fields, node_get(profiles, "pandas"), "pandas");
    expect_every_key(profile_fields, node_get(profiles, "stdlib"), "stdlib");
    node_free(root);
    free(text);
    problem_list_deinit(&problems);
}
END_TEST

/* No value is a default. */
static const char custom[] =
    "listen: {socket: /s, socket_mode: '0600', max_connections: 7, max_connections_per_peer: 3,\n"
    "         max_frame: 1MiB, max_unsent: 2MiB, hello_timeout_s: 0.25}\n"
    "access:\n"
    "  submit: {users: [alice, '1000'], groups: ['*']}\n"
    "  admin: {users: ['*'], groups: [wheel]}\n"
    "paths: {runtime_directory: /r, state_directory: /st, warden: \"/w \\u00e9\\t\\\"q\\\\\"}\n"
    "log: {level: debug, format: json}\n"
    "queue: {max_jobs: 5, max_jobs_per_peer: 4, max_bytes: 3MiB, environment_wait_s: 1.5}\n"
    "jobs: {keep_finished: 9, keep_finished_s: 77.125, keep_finished_size: 5MiB,\n"
    "       keep_output: 1500, first_uid: 70000}\n"
    "shutdown_grace_s: 0\n"
    "self_test: false\n"
    "circuit: {failures: 8, backoff_min_s: 0.01, backoff_max_s: 0.02}\n"
    "profiles:\n"
    "  pandas: {}\n"
    "  my.own_1:\n"
    "    interpreter: /opt/python\n"
    "    start: spawn\n"
    "    preload: [os.path]\n"
    "    allowed_imports: []\n"
    "    refused_calls: [id]\n"
    "    poisoned_modules: [xml.dom]\n"
    "    env: {TZ: UTC, EMPTY: '', null: \"a\\nb\"}\n"
    "    warmup: \"print(1)\\n\\n  # \\u0085 caf\\u00e9 \\U0001F600 \\x7f end\"\n"
    "    limits: {wall_s: 1, cpu_s: 2, memory: 3MiB, output: 4KiB, disk: 65536, processes: 6,\n"
    "             open_files: 17}\n"
    "    pool: {min_ready: 3, max: 3, ready_timeout_s: 4}\n"
    "    isolation: {required: [rlimits], optional: [session], readable: [/data, /usr/share/x]}\n"
    "  block:\n"
    "    warmup: |\n"
    "      if True:\n"
    "        print('x: #y')\n"
    "\n"
    "      print(2)\n";

START_TEST(a_custom_file_is_read) {
    Config *config = parse(custom);
    ck_assert_str_eq(config->socket_path, "/s");
    ck_assert_uint_eq(config->socket_mode, 0600);
    ck_assert_uint_eq(config->max_connections, 7);
    ck_assert_uint_eq(config->max_connections_per_peer, 3);
    ck_assert_uint_eq(config->max_frame_bytes, 1 << 20);
    ck_assert_uint_eq(config->max_unsent_bytes, 2 << 20);
    ck_assert_uint_eq(config->hello_timeout_ms, 250);
    expect_list(&config->submit.users, (const char *const[]){"alice", "1000", NULL});
    expect_list(&config->submit.groups, (const char *const[]){"*", NULL});
    expect_list(&config->admin.users, (const char *const[]){"*", NULL});
    expect_list(&config->admin.groups, (const char *const[]){"wheel", NULL});
    ck_assert_str_eq(config->runtime_directory, "/r");
    ck_assert_str_eq(config->state_directory, "/st");
    ck_assert_str_eq(config->warden_path, "/w \xc3\xa9\t\"q\\");
    ck_assert_int_eq(config->log_level, LOG_LEVEL_DEBUG);
    ck_assert_int_eq(config->log_format, LOG_FORMAT_JSON);
    ck_assert_uint_eq(config->queue_max_jobs, 5);
    ck_assert_uint_eq(config->queue_max_jobs_per_peer, 4);
    ck_assert_uint_eq(config->queue_max_bytes, 3 << 20);
    ck_assert_uint_eq(config->environment_wait_ms, 1500);
    ck_assert_uint_eq(config->keep_finished_jobs, 9);
    ck_assert_uint_eq(config->keep_finished_ms, 77125);
    ck_assert_uint_eq(config->keep_finished_bytes, 5 << 20);
    ck_assert_uint_eq(config->keep_output_bytes, 1500);
    ck_assert_uint_eq(config->first_uid, 70000);
    ck_assert_uint_eq(config->shutdown_grace_ms, 0);
    ck_assert(!config->self_test);
    ck_assert_uint_eq(config->circuit_failures, 8);
    ck_assert_uint_eq(config->circuit_backoff_min_ms, 10);
    ck_assert_uint_eq(config->circuit_backoff_max_ms, 20);
    ck_assert_uint_eq(config->n_profiles, 3);
    config_unref(config);
}
END_TEST

START_TEST(a_custom_profile_is_read) {
    Config *config = parse(custom);
    const Profile *profile = config_profile(config, "my.own_1");
    ck_assert_ptr_nonnull(profile);
    ck_assert_str_eq(profile->interpreter, "/opt/python");
    expect_list(&profile->preload, (const char *const[]){"os.path", NULL});
    ck_assert_uint_eq(profile->allowed_imports.n_items, 0);
    expect_list(&profile->refused_calls, (const char *const[]){"id", NULL});
    expect_list(&profile->poisoned_modules, (const char *const[]){"xml.dom", NULL});
    ck_assert_uint_eq(profile->env.n_items, 3);
    ck_assert_str_eq(profile->env.items[1].name, "EMPTY");
    ck_assert_str_eq(profile->env.items[1].value, "");
    ck_assert_str_eq(profile->env.items[2].value, "a\nb");
    ck_assert_str_eq(profile->warmup,
                     "print(1)\n\n  # \xc2\x85 caf\xc3\xa9 \xf0\x9f\x98\x80 \x7f end");
    ck_assert_uint_eq(profile->limits.wall_ms, 1000);
    ck_assert_uint_eq(profile->limits.cpu_ms, 2000);
    ck_assert_uint_eq(profile->limits.memory_bytes, 3 << 20);
    ck_assert_uint_eq(profile->limits.output_bytes, 4096);
    ck_assert_uint_eq(profile->limits.disk_bytes, 65536);
    ck_assert_uint_eq(profile->limits.processes, 6);
    ck_assert_uint_eq(profile->limits.open_files, 17);
    ck_assert_uint_eq(profile->min_ready, 3);
    ck_assert_uint_eq(profile->max_environments, 3);
    ck_assert_uint_eq(profile->ready_timeout_ms, 4000);
    expect_list(&profile->required_layers, (const char *const[]){"rlimits", NULL});
    expect_list(&profile->optional_layers, (const char *const[]){"session", NULL});
    expect_list(&profile->readable, (const char *const[]){"/data", "/usr/share/x", NULL});
    config_unref(config);
}
END_TEST

static const char *const printable[] = {"", custom};

START_TEST(what_is_printed_reads_back) {
    Config *config = parse(printable[_i]);
    char *text = NULL;
    size_t n_bytes;
    FILE *stream = open_memstream(&text, &n_bytes);
    config_print(config, stream);
    fclose(stream);
    Config *again = parse_at(text, &other_places);
    expect_equal(again, config);
    config_unref(again);
    config_unref(config);
    free(text);
}
END_TEST

START_TEST(profiles_replace_the_builtin_ones) {
    Config *expected = defaults();
    Config *config = parse("profiles: {pandas: , mine: {env: {A: b}}}");
    ck_assert_uint_eq(config->n_profiles, 2);
    ck_assert_ptr_null(config_profile(config, "stdlib"));
    ck_assert(profile_equal(config_profile(config, "pandas"), config_profile(expected, "pandas")));
    const Profile *mine = config_profile(config, "mine");
    const Profile *stdlib = config_profile(expected, "stdlib");
    ck_assert_uint_eq(mine->preload.n_items, 0);
    ck_assert(text_list_equal(&mine->allowed_imports, &stdlib->allowed_imports));
    ck_assert(text_list_equal(&mine->poisoned_modules, &stdlib->poisoned_modules));
    ck_assert_str_eq(mine->warmup, "");
    ck_assert_str_eq(mine->env.items[0].value, "b");
    config_unref(config);
    config_unref(expected);
}
END_TEST

static const struct {
    const char *change;
    bool equal;
} changes[] = {
    {"pool: {min_ready: 1}", true},
    {"pool: {max: 9}", true},
    {"pool: {ready_timeout_s: 5}", true},
    {"interpreter: /usr/bin/python3", true},
    {"interpreter: /usr/bin/python", false},
    {"preload: [numpy]", false},
    {"allowed_imports: [numpy, pandas, freshdata]", false},
    {"refused_calls: []", false},
    {"poisoned_modules: []", false},
    {"env: {A: b}", false},
    {"warmup: ''", false},
    {"limits: {open_files: 257}", false},
    {"isolation: {required: [session]}", false},
    {"isolation: {optional: []}", false},
    {"isolation: {readable: [/usr/share/x]}", false},
};

START_TEST(equal_profiles_make_the_same_environments) {
    char text[256];
    snprintf(text, sizeof text, "profiles:\n  pandas:\n    %s\n", changes[_i].change);
    Config *config = parse(text), *expected = defaults();
    ck_assert_int_eq(
        profile_equal(config_profile(config, "pandas"), config_profile(expected, "pandas")),
        changes[_i].equal);
    config_unref(config);
    config_unref(expected);
}
END_TEST

START_TEST(profiles_of_different_names_differ) {
    Config *config = parse("profiles: {a: {}, b: {}}");
    ck_assert(!profile_equal(&config->profiles[0], &config->profiles[1]));
    ck_assert(profile_equal(&config->profiles[0], &config->profiles[0]));
    config_unref(config);
}
END_TEST

#define ALL_LAYERS                                                                                 \
    "session, death_signal, rlimits, descriptors, work_directory, no_new_privileges, "             \
    "user_namespace, mount_namespace, pid_namespace, network_namespace, ipc_namespace, "           \
    "uts_namespace, cgroup_namespace, own_root, unprivileged_user, no_capabilities, "              \
    "not_dumpable, seccomp, landlock, cgroup"
#define ENCLOSING                                                                                  \
    "user_namespace, mount_namespace, pid_namespace, network_namespace, ipc_namespace, "           \
    "uts_namespace, cgroup_namespace, own_root, unprivileged_user"
#define TOGETHER                                                                                   \
    ": the namespaces, own_root, unprivileged_user and no_capabilities come together, so list "    \
    "all "                                                                                         \
    "of them or none"

static const struct {
    const char *text;
    size_t line;
    size_t column;
    const char *key;
    const char *message;
} wrong[] = {
    {"sockets: 1\n", 1, 1, "sockets",
     "unknown key; known here: listen, access, paths, log, queue, jobs, shutdown_grace_s, "
     "self_test, circuit, profiles"},
    {"log:\n  colour: red\n", 2, 3, "log.colour", "unknown key; known here: level, format"},
    {"- a\n", 1, 1, "", "expected a mapping of keys to values"},
    {"log: loud\n", 1, 6, "log", "expected a mapping of keys to values"},
    {"log: {level: loud}\n", 1, 14, "log.level",
     "expected one of error, warning, info, debug; found 'loud'"},
    {"log: {level: }\n", 1, 14, "log.level", "expected a text, found nothing"},
    {"listen: {socket: rel}\n", 1, 18, "listen.socket", "expected an absolute path, found 'rel'"},
    {"listen: {socket: /"
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
     "x"
     "xxxxxxxxxxxxx}\n",
     1, 18, "listen.socket", "expected at most 107 bytes, found 108"},
    {"listen: {socket_mode: 0999}\n", 1, 23, "listen.socket_mode",
     "expected three octal digits of permissions such as \"0660\""},
    {"listen: {socket_mode: '4755'}\n", 1, 23, "listen.socket_mode",
     "expected three octal digits of permissions such as \"0660\""},
    {"listen: {max_connections: 0}\n", 1, 27, "listen.max_connections",
     "expected 1 to 65536, found '0'"},
    {"listen: {max_frame: lots}\n", 1, 21, "listen.max_frame",
     "expected a size such as 64MiB, found 'lots'"},
    {"listen: {hello_timeout_s: 0}\n", 1, 27, "listen.hello_timeout_s",
     "expected 0.1 to 3600, found '0'"},
    {"listen: {max_unsent: 1MiB}\n", 1, 22, "listen.max_unsent",
     "must be at least 1280KiB: four times jobs.keep_output and 1MiB, or a verdict could not be "
     "sent"},
    {"jobs: {keep_output: 16MiB}\n", 1, 1, "listen.max_unsent",
     "must be at least 65MiB: four times jobs.keep_output and 1MiB, or a verdict could not be "
     "sent"},
    {"queue:\n  max_bytes: 63MiB\n", 2, 14, "queue.max_bytes",
     "must be at least listen.max_frame, or the largest job could never be accepted"},
    {"circuit:\n  backoff_min_s: 61\n", 2, 18, "circuit.backoff_min_s",
     "must not exceed circuit.backoff_max_s"},
    {"circuit: {backoff_max_s: 0.5}\n", 1, 10, "circuit.backoff_min_s",
     "must not exceed circuit.backoff_max_s"},
    {"access: {submit: {users: alice}}\n", 1, 26, "access.submit.users",
     "expected a list such as [a, b] or []"},
    {"access: {submit: {users: [a, b, a]}}\n", 1, 33, "access.submit.users", "'a' is there twice"},
    {"access: {admin: {groups: ['a b']}}\n", 1, 27, "access.admin.groups",
     "expected a name, a numeric id or \"*\", found 'a b'"},
    {"self_test: on\n", 1, 12, "self_test", "expected true or false, found 'on'"},
    {"profiles: {}\n", 1, 11, "profiles", "expected a mapping of 1 to 64 profiles"},
    {"profiles:\n", 1, 10, "profiles", "expected a mapping of 1 to 64 profiles"},
    {"profiles: [a]\n", 1, 11, "profiles", "expected a mapping of 1 to 64 profiles"},
    {"profiles: {a b: {}}\n", 1, 12, "profiles.a b",
     "expected 1 to 64 letters, digits, '.', '_' and '-' for a profile's name"},
    {"profiles: {a: {start: fork}}\n", 1, 23, "profiles.a.start",
     "this version has start: spawn; found 'fork'"},
    {"profiles: {a: {interpreter: python3}}\n", 1, 29, "profiles.a.interpreter",
     "expected an absolute path, found 'python3'"},
    {"profiles: {a: {preload: [a..b]}}\n", 1, 26, "profiles.a.preload",
     "expected a module such as numpy or os.path, found 'a..b'"},
    {"profiles: {a: {preload: ['']}}\n", 1, 26, "profiles.a.preload",
     "expected a module such as numpy or os.path, found ''"},
    {"profiles: {a: {allowed_imports: [os.path]}}\n", 1, 34, "profiles.a.allowed_imports",
     "expected one name such as pandas, without dots, found 'os.path'"},
    {"profiles: {a: {allowed_imports: [json, ssl]}}\n", 1, 33, "profiles.a.allowed_imports",
     "ssl is among poisoned_modules as well"},
    {"profiles: {a: {refused_calls: [1a]}}\n", 1, 32, "profiles.a.refused_calls",
     "expected one name such as pandas, without dots, found '1a'"},
    {"profiles: {a: {env: [A]}}\n", 1, 21, "profiles.a.env",
     "expected a mapping such as {NAME: value}"},
    {"profiles: {a: {env: {A=B: c}}}\n", 1, 22, "profiles.a.env.A=B",
     "expected letters, digits and _ for the name of a variable, found 'A=B'"},
    {"profiles: {a: {env: {HOME: /x}}}\n", 1, 22, "profiles.a.env.HOME",
     "expected a variable that the daemon does not set itself, found 'HOME'"},
    {"profiles: {a: {env: {SYSTEMROOT: /x}}}\n", 1, 22, "profiles.a.env.SYSTEMROOT",
     "expected a variable that the daemon does not set itself, found 'SYSTEMROOT'"},
    {"profiles: {a: {env: {A: [b]}}}\n", 1, 25, "profiles.a.env.A",
     "expected a text, found a list"},
    {"profiles: {a: {limits: {wall_s: 0}}}\n", 1, 33, "profiles.a.limits.wall_s",
     "expected 0.01 to 86400, found '0'"},
    {"profiles: {a: {limits: {cpu_s: 86401}}}\n", 1, 32, "profiles.a.limits.cpu_s",
     "expected 0.01 to 86400, found '86401'"},
    {"profiles: {a: {limits: {memory: 1}}}\n", 1, 33, "profiles.a.limits.memory",
     "expected 1MiB to 1024GiB, found '1'"},
    {"profiles: {a: {pool: {min_ready: 0}}}\n", 1, 34, "profiles.a.pool.min_ready",
     "expected 1 to 256, found '0'"},
    {"profiles: {a: {pool: {max: 257}}}\n", 1, 28, "profiles.a.pool.max",
     "expected 1 to 256, found '257'"},
    {"profiles: {a: {pool: {min_ready: 5}}}\n", 1, 34, "profiles.a.pool.min_ready",
     "must not exceed pool.max, which is 4"},
    {"profiles: {a: {isolation: {required: [moat]}}}\n", 1, 39, "profiles.a.isolation.required",
     "this version has the layers " ALL_LAYERS "; found 'moat'"},
    {"profiles: {a: {isolation: {readable: [data]}}}\n", 1, 39, "profiles.a.isolation.readable",
     "expected an absolute path, found 'data'"},
    {"profiles: {a: {isolation: {required: [own_root]}}}\n", 1, 38, "profiles.a.isolation.required",
     "has own_root without user_namespace" TOGETHER},
    {"profiles: {a: {isolation: {required: [" ENCLOSING "]}}}\n", 1, 38,
     "profiles.a.isolation.required", "has user_namespace without no_capabilities" TOGETHER},
    {"profiles: {a: {isolation: {required: [" ENCLOSING "], optional: [session]}}}\n", 1, 38,
     "profiles.a.isolation.required", "has user_namespace without no_capabilities" TOGETHER},
    {"profiles: {a: {isolation: {required: [], optional: [pid_namespace]}}}\n", 1, 38,
     "profiles.a.isolation.required", "has pid_namespace without user_namespace" TOGETHER},
    {"jobs: {first_uid: 0}\n", 1, 19, "jobs.first_uid", "expected 1 to 4294836223, found '0'"},
    {"jobs: {first_uid: 4294836224}\n", 1, 19, "jobs.first_uid",
     "expected 1 to 4294836223, found '4294836224'"},
    {"profiles: {a: {isolation: {optional: [session]}}}\n", 1, 38, "profiles.a.isolation.optional",
     "session is required as well"},
    {"a: [\n", 2, 1, "", NULL},
};

START_TEST(what_is_wrong_is_named_and_placed) {
    ProblemList problems;
    Config *config = NULL;
    ck_assert_int_eq(problem_list_init(&problems, "f"), 0);
    const char *text = wrong[_i].text;
    ck_assert_int_eq(config_parse(text, strlen(text), &places, &problems, &config), 1);
    ck_assert_ptr_null(config);
    ck_assert_uint_eq(problems.n_items, 1);
    if (wrong[_i].message) ck_assert_str_eq(problems.items[0].message, wrong[_i].message);
    ck_assert_str_eq(problems.items[0].key, wrong[_i].key);
    ck_assert_uint_eq(problems.items[0].line, wrong[_i].line);
    ck_assert_uint_eq(problems.items[0].column, wrong[_i].column);
    problem_list_deinit(&problems);
}
END_TEST

/* All of an enclosure in either list, or in both together, or none of it. */
static const char *const whole_enclosures[] = {
    "profiles: {a: {isolation: {required: [" ENCLOSING ", no_capabilities], optional: []}}}\n",
    "profiles: {a: {isolation: {required: [], optional: [" ENCLOSING ", no_capabilities]}}}\n",
    "profiles: {a: {isolation: {required: [no_capabilities], optional: [" ENCLOSING "]}}}\n",
    "profiles: {a: {isolation: {required: [session, seccomp, landlock, not_dumpable], optional: "
    "[]}}}\n",
    "profiles: {a: {isolation: {required: [], optional: []}}}\n",
    "jobs: {first_uid: 1}\n",
    "jobs: {first_uid: 4294836223}\n",
};

START_TEST(what_comes_together_is_taken_whole) {
    config_unref(parse(whole_enclosures[_i]));
}
END_TEST

START_TEST(all_problems_are_shown_at_once) {
    static const char text[] = "self_test: 1\nlog: {level: x, format: y}\nextra: 1\n"
                               "profiles: {a: {start: x, pool: {min_ready: 0}}}\n";
    ProblemList problems;
    Config *config = NULL;
    ck_assert_int_eq(problem_list_init(&problems, "f"), 0);
    ck_assert_int_eq(config_parse(text, sizeof text - 1, &places, &problems, &config), 1);
    ck_assert_uint_eq(problems.n_items, 6);
    problem_list_deinit(&problems);
}
END_TEST

START_TEST(too_many_profiles_are_refused) {
    char text[4096] = "profiles: {";
    for (int i = 0; i <= CONFIG_MAX_PROFILES; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "p%d: {}, ", i);
    snprintf(text + strlen(text), sizeof text - strlen(text), "}");
    ProblemList problems;
    Config *config = NULL;
    ck_assert_int_eq(problem_list_init(&problems, "f"), 0);
    ck_assert_int_eq(config_parse(text, strlen(text), &places, &problems, &config), 1);
    ck_assert_str_eq(problems.items[0].message, "expected a mapping of 1 to 64 profiles");
    problem_list_deinit(&problems);
}
END_TEST

START_TEST(load_remembers_the_absolute_path) {
    char directory[] = "/tmp/test-config-XXXXXX";
    ProblemList problems;
    Config *config = NULL;
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_eq(chdir(directory), 0);
    FILE *file = fopen("own.yaml", "we");
    ck_assert_ptr_nonnull(file);
    fputs("self_test: false\n", file);
    fclose(file);
    ck_assert_int_eq(problem_list_init(&problems, "own.yaml"), 0);
    ck_assert_int_eq(config_load("own.yaml", &places, &problems, &config), 0);
    char expected[64];
    snprintf(expected, sizeof expected, "%s/own.yaml", directory);
    ck_assert_str_eq(config->file, expected);
    ck_assert(!config->self_test);
    config_unref(config);
    problem_list_deinit(&problems);
    unlink("own.yaml");
    rmdir(directory);
}
END_TEST

START_TEST(load_of_a_missing_file_is_a_problem) {
    ProblemList problems;
    Config *config = NULL;
    ck_assert_int_eq(problem_list_init(&problems, "/nonexistent"), 0);
    ck_assert_int_eq(config_load("/nonexistent", &places, &problems, &config), 1);
    ck_assert_ptr_null(config);
    ck_assert_str_eq(problems.items[0].message, "cannot be opened: No such file or directory");
    problem_list_deinit(&problems);
}
END_TEST

START_TEST(references_are_counted) {
    Config *config = defaults();
    ck_assert_ptr_eq(config_ref(config), config);
    ck_assert_ptr_null(config_unref(config));
    ck_assert_str_eq(config->state_directory, places.state_directory);
    ck_assert_ptr_null(config_unref(config));
    ck_assert_ptr_null(config_unref(NULL));
}
END_TEST

START_TEST(choices_follow_their_enums) {
    static const LogLevel levels[] = {LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO,
                                      LOG_LEVEL_DEBUG};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        char text[64];
        snprintf(text, sizeof text, "log: {level: %s}", log_level_name(levels[i]));
        Config *config = parse(text);
        ck_assert_int_eq(config->log_level, levels[i]);
        config_unref(config);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("config");
    TCase *tests = tcase_create("config");
    tcase_add_test(tests, defaults_hold_their_values);
    tcase_add_test(tests, builtin_pandas_holds_its_values);
    tcase_add_loop_test(tests, builtin_stdlib_allows_nothing_that_reaches_out, 0,
                        sizeof reaches_out / sizeof *reaches_out);
    tcase_add_test(tests, an_empty_file_is_the_defaults);
    tcase_add_test(tests, the_shipped_file_is_the_defaults);
    tcase_add_test(tests, the_shipped_file_shows_the_places_of_root);
    tcase_add_test(tests, the_shipped_file_has_every_key);
    tcase_add_test(tests, a_custom_file_is_read);
    tcase_add_test(tests, a_custom_profile_is_read);
    tcase_add_loop_test(tests, what_is_printed_reads_back, 0, sizeof printable / sizeof *printable);
    tcase_add_test(tests, profiles_replace_the_builtin_ones);
    tcase_add_loop_test(tests, equal_profiles_make_the_same_environments, 0,
                        sizeof changes / sizeof *changes);
    tcase_add_test(tests, profiles_of_different_names_differ);
    tcase_add_loop_test(tests, what_is_wrong_is_named_and_placed, 0, sizeof wrong / sizeof *wrong);
    tcase_add_loop_test(tests, what_comes_together_is_taken_whole, 0,
                        sizeof whole_enclosures / sizeof *whole_enclosures);
    tcase_add_test(tests, all_problems_are_shown_at_once);
    tcase_add_test(tests, too_many_profiles_are_refused);
    tcase_add_test(tests, load_remembers_the_absolute_path);
    tcase_add_test(tests, load_of_a_missing_file_is_a_problem);
    tcase_add_test(tests, references_are_counted);
    tcase_add_test(tests, choices_follow_their_enums);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
