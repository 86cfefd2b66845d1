#include "config/document.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/cleanup.h"
#include "base/error.h"

enum { FIRST_CAPACITY = 8 };
/* Result of a step: the problem just added makes what follows meaningless. */
enum { STEP_STOP = 1 };

/* A sequence or mapping whose end was not seen yet. */
typedef struct Open {
    Node *node;
    Node *key; /* in a mapping: owned, waits for its value */
    size_t capacity;
} Open;

typedef struct Builder {
    ProblemList *problems;
    Node *root;
    Open open[DOCUMENT_MAX_DEPTH];
    size_t depth;
    size_t n_nodes;
} Builder;

static void builder_deinit(Builder *builder) {
    while (builder->depth) node_free(builder->open[--builder->depth].key);
    builder->root = node_free(builder->root);
}

/* The depth of a tree is at most DOCUMENT_MAX_DEPTH. */
Node *node_free(Node *node) {
    if (!node) return NULL;
    for (size_t i = 0; i < node->n_items; i++) {
        if (node->keys) node_free(node->keys[i]);
        node_free(node->items[i]);
    }
    free(node->keys);
    free(node->items);
    free(node->text);
    free(node);
    return NULL;
}

static void node_freep(Node **node) {
    node_free(*node);
}

static int node_new(NodeKind kind, const char *text, size_t text_bytes, yaml_mark_t mark,
                    Node **ret_node) {
    CLEANUP(node_freep) Node *node = calloc(1, sizeof *node);
    if (!node) return error_origin(-ENOMEM);
    node->kind = kind;
    node->line = mark.line + 1;
    node->column = mark.column + 1;
    if (kind == NODE_SCALAR) {
        node->text = strndup(text, text_bytes);
        if (!node->text) return error_origin(-ENOMEM);
    }
    *ret_node = TAKE(node);
    return 0;
}

static int open_reserve(Open *open) {
    if (open->node->n_items < open->capacity) return 0;
    const size_t capacity = open->capacity ? open->capacity * 2 : FIRST_CAPACITY;
    Node **items = realloc(open->node->items, capacity * sizeof *items);
    if (!items) return error_origin(-ENOMEM);
    open->node->items = items;
    if (open->node->kind == NODE_MAPPING) {
        Node **keys = realloc(open->node->keys, capacity * sizeof *keys);
        if (!keys) return error_origin(-ENOMEM);
        open->node->keys = keys;
    }
    open->capacity = capacity;
    return 0;
}

static bool key_expected(const Builder *builder) {
    if (builder->depth == 0) return false;
    const Open *open = &builder->open[builder->depth - 1];
    return open->node->kind == NODE_MAPPING && !open->key;
}

/* Takes the node over on success. */
static int attach(Builder *builder, Node *node) {
    if (builder->depth == 0) {
        builder->root = node;
        return 0;
    }
    Open *open = &builder->open[builder->depth - 1];
    if (key_expected(builder)) {
        open->key = node;
        return 0;
    }
    const int r = open_reserve(open);
    if (r < 0) return error_fold(r);
    if (open->key) open->node->keys[open->node->n_items] = TAKE(open->key);
    open->node->items[open->node->n_items++] = node;
    return 0;
}

/* By text, then by place: of two equal keys the later one follows. */
static int compare_keys(const void *a, const void *b) {
    const Node *left = *(Node *const *)a, *right = *(Node *const *)b;
    const int order = strcmp(left->text, right->text);
    if (order) return order;
    if (left->line != right->line) return left->line < right->line ? -1 : 1;
    return left->column < right->column ? -1 : left->column > right->column;
}

static int refuse_duplicates(const Node *mapping, ProblemList *problems) {
    if (mapping->n_items < 2) return 0;
    CLEANUP(freep) Node **sorted = malloc(mapping->n_items * sizeof(Node *));
    if (!sorted) return error_origin(-ENOMEM);
    memcpy(sorted, mapping->keys, mapping->n_items * sizeof(Node *));
    qsort(sorted, mapping->n_items, sizeof(Node *), compare_keys);
    for (size_t i = 1; i < mapping->n_items; i++)
        if (strcmp(sorted[i - 1]->text, sorted[i]->text) == 0)
            problem_add(problems, sorted[i]->line, sorted[i]->column, sorted[i]->text,
                        "is there twice; first on line %zu", sorted[i - 1]->line);
    return 0;
}

static void refuse_properties(ProblemList *problems, const Node *node, const void *anchor,
                              const void *tag) {
    if (anchor) problem_add(problems, node->line, node->column, "", "anchors are not accepted");
    if (tag) problem_add(problems, node->line, node->column, "", "tags are not accepted");
}

static int step_scalar(Builder *builder, const yaml_event_t *event) {
    const char *text = (const char *)event->data.scalar.value;
    CLEANUP(node_freep) Node *node = NULL;
    int r = node_new(NODE_SCALAR, text, event->data.scalar.length, event->start_mark, &node);
    if (r < 0) return error_fold(r);
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    refuse_properties(builder->problems, node, event->data.scalar.anchor, event->data.scalar.tag);
    if (strlen(text) != event->data.scalar.length)
        problem_add(builder->problems, node->line, node->column, "", "text must not hold a NUL");
    r = attach(builder, node);
    if (r < 0) return error_fold(r);
    TAKE(node);
    return 0;
}

/* An empty scalar in its place lets the rest be looked at. */
static int step_alias(Builder *builder, const yaml_event_t *event) {
    CLEANUP(node_freep) Node *node = NULL;
    int r = node_new(NODE_SCALAR, "", 0, event->start_mark, &node);
    if (r < 0) return error_fold(r);
    problem_add(builder->problems, node->line, node->column, "", "aliases are not accepted");
    r = attach(builder, node);
    if (r < 0) return error_fold(r);
    TAKE(node);
    return 0;
}

static int step_open(Builder *builder, NodeKind kind, const yaml_event_t *event) {
    const size_t line = event->start_mark.line + 1, column = event->start_mark.column + 1;
    if (key_expected(builder)) {
        problem_add(builder->problems, line, column, "", "a key must be plain text");
        return STEP_STOP;
    }
    if (builder->depth == DOCUMENT_MAX_DEPTH) {
        problem_add(builder->problems, line, column, "", "is nested more than %d deep",
                    DOCUMENT_MAX_DEPTH);
        return STEP_STOP;
    }
    CLEANUP(node_freep) Node *node = NULL;
    int r = node_new(kind, NULL, 0, event->start_mark, &node);
    if (r < 0) return error_fold(r);
    if (kind == NODE_MAPPING)
        refuse_properties(builder->problems, node, event->data.mapping_start.anchor,
                          event->data.mapping_start.tag);
    else
        refuse_properties(builder->problems, node, event->data.sequence_start.anchor,
                          event->data.sequence_start.tag);
    r = attach(builder, node);
    if (r < 0) return error_fold(r);
    builder->open[builder->depth++] = (Open){.node = TAKE(node)};
    return 0;
}

static int step_close(Builder *builder) {
    const Node *node = builder->open[--builder->depth].node;
    assert(node); /* libyaml closes only what was opened */
    if (node->kind != NODE_MAPPING) return 0;
    const int r = refuse_duplicates(node, builder->problems);
    return r < 0 ? error_fold(r) : 0;
}

static int step_document(Builder *builder, const yaml_event_t *event) {
    if (!builder->root) return 0;
    problem_add(builder->problems, event->start_mark.line + 1, event->start_mark.column + 1, "",
                "a second document starts here; only one is accepted");
    return STEP_STOP;
}

/* Counts what becomes a node, before memory is spent on it. */
static int count_node(Builder *builder, const yaml_event_t *event) {
    if (builder->n_nodes++ < DOCUMENT_MAX_NODES) return 0;
    problem_add(builder->problems, event->start_mark.line + 1, event->start_mark.column + 1, "",
                "there are more than %d values", DOCUMENT_MAX_NODES);
    return STEP_STOP;
}

static int step(Builder *builder, const yaml_event_t *event) {
    int r;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        r = count_node(builder, event);
        return r ? r : step_scalar(builder, event);
    case YAML_ALIAS_EVENT:
        r = count_node(builder, event);
        return r ? r : step_alias(builder, event);
    case YAML_SEQUENCE_START_EVENT:
        r = count_node(builder, event);
        return r ? r : step_open(builder, NODE_SEQUENCE, event);
    case YAML_MAPPING_START_EVENT:
        r = count_node(builder, event);
        return r ? r : step_open(builder, NODE_MAPPING, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return step_close(builder);
    case YAML_DOCUMENT_START_EVENT:
        return step_document(builder, event);
    default:
        return 0;
    }
}

/* Bytes that are no text are reported by their offset only. */
static yaml_mark_t mark_of_offset(const char *bytes, size_t offset) {
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < offset; i++) {
        mark.column++;
        if (bytes[i] != '\n') continue;
        mark.line++;
        mark.column = 0;
    }
    return mark;
}

static int report_syntax(const yaml_parser_t *parser, const char *bytes, size_t n_bytes,
                         ProblemList *problems) {
    if (parser->error == YAML_MEMORY_ERROR) return error_origin(-ENOMEM);
    yaml_mark_t mark = parser->problem_mark;
    if (parser->error == YAML_READER_ERROR)
        mark = mark_of_offset(bytes,
                              parser->problem_offset < n_bytes ? parser->problem_offset : n_bytes);
    problem_add(problems, mark.line + 1, mark.column + 1, "", "not valid YAML: %s%s%s",
                parser->problem ? parser->problem : "syntax error", parser->context ? ", " : "",
                parser->context ? parser->context : "");
    return STEP_STOP;
}

static int build(Builder *builder, yaml_parser_t *parser, const char *bytes, size_t n_bytes) {
    for (bool done = false; !done;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return report_syntax(parser, bytes, n_bytes, builder->problems);
        done = event.type == YAML_STREAM_END_EVENT;
        const int r = step(builder, &event);
        yaml_event_delete(&event);
        if (r) return r;
    }
    return 0;
}

/* No document, or one that holds only comments, is an empty mapping. */
static int complete_root(Node **root) {
    if (*root && !node_is_null(*root)) return 0;
    *root = node_free(*root);
    const int r = node_new(NODE_MAPPING, NULL, 0, (yaml_mark_t){0}, root);
    return r < 0 ? error_fold(r) : 0;
}

int document_parse(const void *bytes, size_t n_bytes, ProblemList *problems, Node **ret_root) {
    const size_t n_before = problems->n_items + problems->n_dropped;
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) return error_origin(-ENOMEM);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, n_bytes ? bytes : (const void *)"", n_bytes);
    CLEANUP(builder_deinit) Builder builder = {.problems = problems};
    int r = build(&builder, &parser, bytes, n_bytes);
    yaml_parser_delete(&parser);
    if (r < 0) return error_fold(r);
    if (problems->n_items + problems->n_dropped != n_before) return 1;
    r = complete_root(&builder.root);
    if (r < 0) return error_fold(r);
    *ret_root = TAKE(builder.root);
    return 0;
}
