/* Document: a YAML text as a tree of nodes that know their place. The only user of libyaml.
 * Refuses what a config or a suite never needs and an attacker would like: aliases and anchors,
 * more than one document, tags, duplicate keys, deep nesting, huge counts. Knows no key. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/problem.h"

enum { DOCUMENT_MAX_DEPTH = 32, DOCUMENT_MAX_NODES = 200000 };

typedef enum NodeKind { NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING } NodeKind;

typedef struct Node Node;

struct Node {
    NodeKind kind;
    size_t line; /* from 1 */
    size_t column;
    char *text;   /* NODE_SCALAR: NUL-terminated, holds no NUL inside */
    bool quoted;  /* NODE_SCALAR: quoted or a block; then it is a string, never null or a number */
    Node **keys;  /* NODE_MAPPING: scalars, unique */
    Node **items; /* NODE_MAPPING: values; NODE_SEQUENCE: items */
    size_t n_items;
};

/* Parses bytes; the caller frees the tree. 0 (an empty text gives an empty mapping), 1 when
 * `problems` got at least one problem, or -ENOMEM. */
int document_parse(const void *bytes, size_t n_bytes, ProblemList *problems, Node **ret_root);
/* Reads a whole file of at most max_bytes and parses it. Results as document_parse; a file that
 * cannot be read is a problem too. */
int document_load(const char *path, size_t max_bytes, ProblemList *problems, Node **ret_root);
/* Frees the tree. Takes NULL, returns NULL. */
Node *node_free(Node *node);

/* Value of `key` in a mapping, or NULL. */
const Node *node_get(const Node *mapping, const char *key);
/* True for a plain scalar that YAML reads as null: empty, ~, null. */
bool node_is_null(const Node *node);

/* Readers. Each adds a problem under `key` and returns false when the node is not such a value; the
 * output is untouched then. */
bool node_read_text(const Node *node, const char *key, ProblemList *problems,
                    const char **ret_text);
bool node_read_bool(const Node *node, const char *key, ProblemList *problems, bool *ret_value);
/* Whole number within [min, max]. */
bool node_read_count(const Node *node, const char *key, ProblemList *problems, uint64_t min,
                     uint64_t max, uint64_t *ret_value);
/* Size in bytes: whole number with optional KiB, MiB, GiB. */
bool node_read_bytes(const Node *node, const char *key, ProblemList *problems, uint64_t min,
                     uint64_t max, uint64_t *ret_bytes);
/* Duration given in seconds (decimals allowed, e.g. 0.5), returned in milliseconds. */
bool node_read_seconds(const Node *node, const char *key, ProblemList *problems, uint64_t min_ms,
                       uint64_t max_ms, uint64_t *ret_ms);
