/* Node: looks into a document's tree and reads single values, saying what was expected and what was
 * found. Knows no key and never changes the tree. */
#include "config/document.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/units.h"

enum { FOUND_BYTES = 80, SHOWN_BYTES = 48 };

const Node *node_get(const Node *mapping, const char *key) {
    if (mapping->kind != NODE_MAPPING) return NULL;
    for (size_t i = 0; i < mapping->n_items; i++)
        if (strcmp(mapping->keys[i]->text, key) == 0) return mapping->items[i];
    return NULL;
}

bool node_is_null(const Node *node) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    if (node->kind != NODE_SCALAR || node->quoted) return false;
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
        if (strcmp(node->text, nulls[i]) == 0) return true;
    return false;
}

/* What the file has there, for a message. */
static const char *found(const Node *node, char buffer[FOUND_BYTES]) {
    if (node->kind == NODE_SEQUENCE) return "a list";
    if (node->kind == NODE_MAPPING) return "a mapping";
    if (node_is_null(node)) return "nothing";
    snprintf(buffer, FOUND_BYTES, "%s'%.*s'%s", node->quoted ? "the quoted text " : "", SHOWN_BYTES,
             node->text, strlen(node->text) > SHOWN_BYTES ? "..." : "");
    return buffer;
}

static bool refuse(const Node *node, const char *key, ProblemList *problems, const char *expected) {
    char buffer[FOUND_BYTES];
    problem_add(problems, node->line, node->column, key, "expected %s, found %s", expected,
                found(node, buffer));
    return false;
}

static bool refuse_range(const Node *node, const char *key, ProblemList *problems, const char *min,
                         const char *max) {
    char buffer[FOUND_BYTES];
    problem_add(problems, node->line, node->column, key, "expected %s to %s, found %s", min, max,
                found(node, buffer));
    return false;
}

/* A quoted number is a text. */
static bool is_plain(const Node *node) {
    return node->kind == NODE_SCALAR && !node->quoted;
}

bool node_read_text(const Node *node, const char *key, ProblemList *problems,
                    const char **ret_text) {
    if (node->kind != NODE_SCALAR || node_is_null(node))
        return refuse(node, key, problems, "a text");
    *ret_text = node->text;
    return true;
}

bool node_read_bool(const Node *node, const char *key, ProblemList *problems, bool *ret_value) {
    const bool is_true = is_plain(node) && strcmp(node->text, "true") == 0;
    const bool is_false = is_plain(node) && strcmp(node->text, "false") == 0;
    if (!is_true && !is_false) return refuse(node, key, problems, "true or false");
    *ret_value = is_true;
    return true;
}

bool node_read_count(const Node *node, const char *key, ProblemList *problems, uint64_t min,
                     uint64_t max, uint64_t *ret_value) {
    uint64_t value;
    if (!is_plain(node) || !units_parse_count(node->text, &value))
        return refuse(node, key, problems, "a whole number such as 8");
    if (value < min || value > max) {
        char low[UNITS_TEXT_BYTES], high[UNITS_TEXT_BYTES];
        snprintf(low, sizeof low, "%" PRIu64, min);
        snprintf(high, sizeof high, "%" PRIu64, max);
        return refuse_range(node, key, problems, low, high);
    }
    *ret_value = value;
    return true;
}

bool node_read_bytes(const Node *node, const char *key, ProblemList *problems, uint64_t min,
                     uint64_t max, uint64_t *ret_bytes) {
    uint64_t bytes;
    if (!is_plain(node) || !units_parse_bytes(node->text, &bytes))
        return refuse(node, key, problems, "a size such as 64MiB");
    if (bytes < min || bytes > max) {
        char low[UNITS_TEXT_BYTES], high[UNITS_TEXT_BYTES];
        units_format_bytes(min, low);
        units_format_bytes(max, high);
        return refuse_range(node, key, problems, low, high);
    }
    *ret_bytes = bytes;
    return true;
}

bool node_read_seconds(const Node *node, const char *key, ProblemList *problems, uint64_t min_ms,
                       uint64_t max_ms, uint64_t *ret_ms) {
    uint64_t ms;
    if (!is_plain(node) || !units_parse_seconds(node->text, &ms))
        return refuse(node, key, problems, "seconds such as 10 or 0.5");
    if (ms < min_ms || ms > max_ms) {
        char low[UNITS_TEXT_BYTES], high[UNITS_TEXT_BYTES];
        units_format_seconds(min_ms, low);
        units_format_seconds(max_ms, high);
        return refuse_range(node, key, problems, low, high);
    }
    *ret_ms = ms;
    return true;
}
