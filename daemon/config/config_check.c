/* Config check: the rules between keys. Rules of one key are in config_table.c. Never changes the
 * config. */
#include "config/config_table.h"

#include "config/units.h"

/* Beside its outputs a verdict holds failures, names of files and excerpts. */
#define VERDICT_REST_BYTES MIB(1)

/* Where the file gives `section.key`, or the nearest mapping around it. */
static const Node *place(const Node *root, const char *section, const char *key) {
    const Node *outer = node_get(root, section);
    if (!outer) return root;
    const Node *inner = node_get(outer, key);
    return inner ? inner : outer;
}

/* The head and the tail of two outputs must fit into what may wait for a client. */
static void check_unsent(const Config *config, const Node *root, ProblemList *problems) {
    const uint64_t needed_bytes = 4 * config->keep_output_bytes + VERDICT_REST_BYTES;
    if (config->max_unsent_bytes >= needed_bytes) return;
    char needed[UNITS_TEXT_BYTES];
    units_format_bytes(needed_bytes, needed);
    const Node *node = place(root, "listen", "max_unsent");
    problem_add(problems, node->line, node->column, "listen.max_unsent",
                "must be at least %s: four times jobs.keep_output and 1MiB, or a verdict could not "
                "be sent",
                needed);
}

static void check_queue(const Config *config, const Node *root, ProblemList *problems) {
    if (config->queue_max_bytes >= config->max_frame_bytes) return;
    const Node *node = place(root, "queue", "max_bytes");
    problem_add(problems, node->line, node->column, "queue.max_bytes",
                "must be at least listen.max_frame, or the largest job could never be accepted");
}

static void check_circuit(const Config *config, const Node *root, ProblemList *problems) {
    if (config->circuit_backoff_min_ms <= config->circuit_backoff_max_ms) return;
    const Node *node = place(root, "circuit", "backoff_min_s");
    problem_add(problems, node->line, node->column, "circuit.backoff_min_s",
                "must not exceed circuit.backoff_max_s");
}

void config_check(const Config *config, const Node *root, ProblemList *problems) {
    check_unsent(config, root, problems);
    check_queue(config, root, problems);
    check_circuit(config, root, problems);
}

static void check_disjoint(const TextList *list, const TextList *other, const Node *node,
                           const char *path, const char *message, ProblemList *problems) {
    for (size_t i = 0; i < list->n_items; i++)
        if (text_list_contains(other, list->items[i]))
            problem_add(problems, node->line, node->column, path, "%s %s", list->items[i], message);
}

/* The first one that is listed, or NULL. */
static const char *find_enclosing(const Profile *profile, bool listed) {
    for (const char *const *layer = config_enclosure_layers; *layer; layer++)
        if ((text_list_contains(&profile->required_layers, *layer) ||
             text_list_contains(&profile->optional_layers, *layer)) == listed)
            return *layer;
    return NULL;
}

/* One step makes them all, so one cannot be there without the others. */
static void check_enclosure(const Profile *profile, const Node *node, const char *path,
                            ProblemList *problems) {
    const char *listed = find_enclosing(profile, true), *absent = find_enclosing(profile, false);
    if (!listed || !absent) return;
    const Node *at = place(node, "isolation", "required");
    char key[FIELD_PATH_BYTES];
    field_path(path, "isolation.required", key);
    problem_add(problems, at->line, at->column, key,
                "has %s without %s: the namespaces, own_root, unprivileged_user and "
                "no_capabilities come together, so list all of them or none",
                listed, absent);
}

void profile_check(const Profile *profile, const Node *node, const char *path,
                   ProblemList *problems) {
    char key[FIELD_PATH_BYTES];
    if (profile->min_ready > profile->max_environments) {
        const Node *at = place(node, "pool", "min_ready");
        field_path(path, "pool.min_ready", key);
        problem_add(problems, at->line, at->column, key, "must not exceed pool.max, which is %u",
                    (unsigned)profile->max_environments);
    }
    field_path(path, "isolation.optional", key);
    check_disjoint(&profile->optional_layers, &profile->required_layers,
                   place(node, "isolation", "optional"), key, "is required as well", problems);
    check_enclosure(profile, node, path, problems);
    const Node *allowed = node_get(node, "allowed_imports");
    field_path(path, "allowed_imports", key);
    check_disjoint(&profile->allowed_imports, &profile->poisoned_modules, allowed ? allowed : node,
                   key, "is among poisoned_modules as well", problems);
}
