/* Field read: from nodes into the struct that a table describes. A value that breaks a rule adds a
 * problem and changes nothing. */
#include "config/field.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "config/config.h"

enum { JOINED_BYTES = 512, VALUE_MAX_BYTES = 4096 };

/* Where a value stands and where it goes. */
typedef struct Place {
    const Node *node;
    const char *path;
    ProblemList *problems;
} Place;

static void complain(const Place *place, const char *message) {
    problem_add(place->problems, place->node->line, place->node->column, place->path, "%s",
                message);
}

/* Appends `item` to a list for a message; what does not fit is cut. */
static void join(char joined[JOINED_BYTES], const char *item) {
    const size_t n = strlen(joined);
    snprintf(joined + n, JOINED_BYTES - n, "%s%s", n ? ", " : "", item);
}

static const char *const *find_choice(const char *const *choices, const char *text) {
    for (; *choices; choices++)
        if (strcmp(*choices, text) == 0) return choices;
    return NULL;
}

static void complain_choice(const Field *field, const Place *place, const char *text) {
    char joined[JOINED_BYTES] = "";
    for (const char *const *choice = field->choices; *choice; choice++) join(joined, *choice);
    problem_add(place->problems, place->node->line, place->node->column, place->path,
                "%s %s; found '%s'", field->choices_lead, joined, text);
}

/* Holds a text against the field's rules. */
static bool accept_text(const Field *field, const Place *place, const char *text) {
    const char *message = field->complain ? field->complain(text) : NULL;
    if (message) {
        problem_add(place->problems, place->node->line, place->node->column, place->path,
                    "%s, found '%s'", message, text);
        return false;
    }
    if (!field->choices || find_choice(field->choices, text)) return true;
    complain_choice(field, place, text);
    return false;
}

static int read_text(const Field *field, const Place *place, char **value) {
    const char *text;
    if (!node_read_text(place->node, place->path, place->problems, &text)) return 0;
    if (strlen(text) > field->max) {
        problem_add(place->problems, place->node->line, place->node->column, place->path,
                    "expected at most %zu bytes, found %zu", (size_t)field->max, strlen(text));
        return 0;
    }
    if (!accept_text(field, place, text)) return 0;
    char *copy = strdup(text);
    if (!copy) return error_origin(-ENOMEM);
    free(*value);
    *value = copy;
    return 0;
}

static void read_choice(const Field *field, const Place *place, unsigned *value) {
    const char *text;
    if (!node_read_text(place->node, place->path, place->problems, &text)) return;
    const char *const *choice = find_choice(field->choices, text);
    if (choice)
        *value = (unsigned)(choice - field->choices);
    else
        complain_choice(field, place, text);
}

static void read_count(const Field *field, const Place *place, uint32_t *value) {
    uint64_t count;
    if (node_read_count(place->node, place->path, place->problems, field->min, field->max, &count))
        *value = (uint32_t)count;
}

static void read_mode(const Place *place, uint32_t *value) {
    const char *text;
    if (!node_read_text(place->node, place->path, place->problems, &text)) return;
    const size_t n = strlen(text);
    if (strspn(text, "01234567") != n || n < 3 || n > 4 || (n == 4 && text[0] != '0'))
        complain(place, "expected three octal digits of permissions such as \"0660\"");
    else
        *value = (uint32_t)strtoul(text, NULL, 8);
}

static bool is_small_collection(const Field *field, const Place *place, NodeKind kind,
                                const char *expected) {
    if (place->node->kind != kind) {
        complain(place, expected);
        return false;
    }
    if (place->node->n_items <= field->max) return true;
    problem_add(place->problems, place->node->line, place->node->column, place->path,
                "expected at most %zu items, found %zu", (size_t)field->max, place->node->n_items);
    return false;
}

static int read_item(const Field *field, const Place *place, TextList *list) {
    const char *text;
    if (!node_read_text(place->node, place->path, place->problems, &text)) return 0;
    if (!accept_text(field, place, text)) return 0;
    if (text_list_contains(list, text)) {
        problem_add(place->problems, place->node->line, place->node->column, place->path,
                    "'%s' is there twice", text);
        return 0;
    }
    const int r = text_list_append(list, text);
    return r < 0 ? error_fold(r) : 0;
}

static int read_texts(const Field *field, const Place *place, TextList *value) {
    if (!is_small_collection(field, place, NODE_SEQUENCE, "expected a list such as [a, b] or []"))
        return 0;
    CLEANUP(text_list_deinit) TextList list = {0};
    for (size_t i = 0; i < place->node->n_items; i++) {
        const Place item = {place->node->items[i], place->path, place->problems};
        const int r = read_item(field, &item, &list);
        if (r < 0) return error_fold(r);
    }
    const TextList old = *value;
    *value = list;
    list = old;
    return 0;
}

static int read_variable(const Field *field, const Place *name, const Place *value,
                         EnvVariableList *list) {
    const char *text;
    if (!accept_text(field, name, name->node->text)) return 0;
    if (!node_read_text(value->node, value->path, value->problems, &text)) return 0;
    if (strlen(text) > VALUE_MAX_BYTES) {
        complain(value, "expected a value of at most 4096 bytes");
        return 0;
    }
    const int r = env_variable_list_append(list, name->node->text, text);
    return r < 0 ? error_fold(r) : 0;
}

static int read_variables(const Field *field, const Place *place, EnvVariableList *value) {
    if (!is_small_collection(field, place, NODE_MAPPING,
                             "expected a mapping such as {NAME: value}"))
        return 0;
    CLEANUP(env_variable_list_deinit) EnvVariableList list = {0};
    for (size_t i = 0; i < place->node->n_items; i++) {
        char path[FIELD_PATH_BYTES];
        field_path(place->path, place->node->keys[i]->text, path);
        const Place name = {place->node->keys[i], path, place->problems};
        const Place text = {place->node->items[i], path, place->problems};
        const int r = read_variable(field, &name, &text, &list);
        if (r < 0) return error_fold(r);
    }
    const EnvVariableList old = *value;
    *value = list;
    list = old;
    return 0;
}

static int read_field(const Field *field, const Place *place, void *value) {
    switch (field->kind) {
    case FIELD_SECTION:
        return fields_read(field->section, place->node, place->path, place->problems, value);
    case FIELD_ELSEWHERE:
        return 0;
    case FIELD_BOOL:
        node_read_bool(place->node, place->path, place->problems, value);
        return 0;
    case FIELD_COUNT:
        read_count(field, place, value);
        return 0;
    case FIELD_MODE:
        read_mode(place, value);
        return 0;
    case FIELD_CHOICE:
        read_choice(field, place, value);
        return 0;
    case FIELD_BYTES:
        node_read_bytes(place->node, place->path, place->problems, field->min, field->max, value);
        return 0;
    case FIELD_SECONDS:
        node_read_seconds(place->node, place->path, place->problems, field->min, field->max, value);
        return 0;
    case FIELD_TEXT:
        return read_text(field, place, value);
    case FIELD_TEXTS:
        return read_texts(field, place, value);
    case FIELD_VARIABLES:
        return read_variables(field, place, value);
    }
    return error_origin(-EINVAL);
}

static const Field *find_field(const Field *fields, const char *key) {
    for (; fields->key; fields++)
        if (strcmp(fields->key, key) == 0) return fields;
    return NULL;
}

static void complain_unknown(const Field *fields, const Place *place) {
    char joined[JOINED_BYTES] = "";
    for (; fields->key; fields++) join(joined, fields->key);
    problem_add(place->problems, place->node->line, place->node->column, place->path,
                "unknown key; known here: %s", joined);
}

int fields_read(const Field *fields, const Node *mapping, const char *path, ProblemList *problems,
                void *base) {
    const Place section = {mapping, path, problems};
    if (node_is_null(mapping)) return 0;
    if (mapping->kind != NODE_MAPPING) {
        complain(&section, "expected a mapping of keys to values");
        return 0;
    }
    for (size_t i = 0; i < mapping->n_items; i++) {
        char key_path[FIELD_PATH_BYTES];
        field_path(path, mapping->keys[i]->text, key_path);
        const Place key = {mapping->keys[i], key_path, problems};
        const Place value = {mapping->items[i], key_path, problems};
        const Field *field = find_field(fields, mapping->keys[i]->text);
        if (!field) {
            complain_unknown(fields, &key);
            continue;
        }
        const int r = read_field(field, &value, (char *)base + field->offset);
        if (r < 0) return error_fold(r);
    }
    return 0;
}
