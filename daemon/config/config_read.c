/* Config read: from a document to a config. Never looks at a key by name but `profiles`; the tables
 * do. */
#include "config/config_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

enum { FILE_MAX_BYTES = 1 << 20 };

static void node_freep(Node **node) {
    node_free(*node);
}

static int read_profile(const Node *key, const Node *node, ProblemList *problems,
                        Profile *ret_profile) {
    char path[FIELD_PATH_BYTES];
    field_path("profiles", key->text, path);
    if (!text_is_token(key->text, CONFIG_MAX_NAME_BYTES))
        problem_add(problems, key->line, key->column, path,
                    "expected 1 to %d letters, digits, '.', '_' and '-' for a profile's name",
                    CONFIG_MAX_NAME_BYTES);
    CLEANUP(profile_deinit) Profile profile = {0};
    int r = profile_init_default(&profile, key->text);
    if (r < 0) return error_fold(r);
    r = fields_read(profile_fields, node, path, problems, &profile);
    if (r < 0) return error_fold(r);
    profile_check(&profile, node, path, problems);
    *ret_profile = profile;
    profile = (Profile){0};
    return 0;
}

/* The section replaces the built-in profiles. */
static int read_profiles(Config *config, const Node *section, ProblemList *problems) {
    if (section->kind != NODE_MAPPING || section->n_items == 0 ||
        section->n_items > CONFIG_MAX_PROFILES) {
        problem_add(problems, section->line, section->column, "profiles",
                    "expected a mapping of 1 to %d profiles", CONFIG_MAX_PROFILES);
        return 0;
    }
    config_drop_profiles(config);
    config->profiles = calloc(section->n_items, sizeof *config->profiles);
    if (!config->profiles) return error_origin(-ENOMEM);
    for (size_t i = 0; i < section->n_items; i++) {
        const int r = read_profile(section->keys[i], section->items[i], problems,
                                   &config->profiles[i]);
        if (r < 0) return error_fold(r);
        config->n_profiles++;
    }
    return 0;
}

/* 0, 1 when there are problems, or -ENOMEM. */
static int config_from_document(const Node *root, const ConfigPlaces *places, ProblemList *problems,
                                Config **ret_config) {
    CLEANUP(config_unrefp) Config *config = NULL;
    int r = config_new_default(places, &config);
    if (r < 0) return error_fold(r);
    r = fields_read(config_fields, root, "", problems, config);
    if (r < 0) return error_fold(r);
    const Node *profiles = node_get(root, "profiles");
    if (profiles) {
        r = read_profiles(config, profiles, problems);
        if (r < 0) return error_fold(r);
    }
    config_check(config, root, problems);
    if (!problem_list_empty(problems)) return 1;
    *ret_config = TAKE(config);
    return 0;
}

int config_parse(const void *bytes, size_t n_bytes, const ConfigPlaces *places,
                 ProblemList *problems, Config **ret_config) {
    CLEANUP(node_freep) Node *root = NULL;
    const int r = document_parse(bytes, n_bytes, problems, &root);
    if (r) return r;
    return config_from_document(root, places, problems, ret_config);
}

/* The daemon may change its directory before it reads the file again. Links are not resolved: the
 * next reading shall find what they lead to then. */
static int absolute_path(const char *path, char **ret_path) {
    if (path[0] == '/') {
        const int r = text_format(ret_path, "%s", path);
        return r < 0 ? error_fold(r) : 0;
    }
    CLEANUP(freep) char *directory = getcwd(NULL, 0);
    if (!directory) return error_origin(-errno);
    const int r = text_format(ret_path, "%s/%s", directory, path);
    return r < 0 ? error_fold(r) : 0;
}

int config_load(const char *path, const ConfigPlaces *places, ProblemList *problems,
                Config **ret_config) {
    CLEANUP(node_freep) Node *root = NULL;
    int r = document_load(path, FILE_MAX_BYTES, problems, &root);
    if (r) return r;
    CLEANUP(config_unrefp) Config *config = NULL;
    r = config_from_document(root, places, problems, &config);
    if (r) return r;
    r = absolute_path(path, &config->file);
    if (r < 0) return error_fold(r);
    *ret_config = TAKE(config);
    return 0;
}
