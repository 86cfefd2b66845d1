#include "suite_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "local_file.h"
#include "parts.h"

enum { PATH_BYTES = 256 };

static const SuiteKey *find_key(const SuiteKey *keys, const char *name) {
    while (keys->key && strcmp(keys->key, name) != 0) keys++;
    return keys->key ? keys : NULL;
}

int suite_reader_mapping(const SuiteReader *reader, const SuiteKey *keys, const Node *node,
                         const char *path, void *target) {
    if (!suite_reader_expect_kind(reader, node, path, NODE_MAPPING, "a mapping")) return 0;
    for (size_t i = 0; i < node->n_items; i++) {
        const Node *name = node->keys[i];
        char item_path[PATH_BYTES];
        snprintf(item_path, sizeof item_path, "%s%s%s", path, path[0] ? "." : "", name->text);
        const SuiteKey *key = find_key(keys, name->text);
        if (!key) {
            problem_add(reader->problems, name->line, name->column, item_path, "unknown key");
            continue;
        }
        const int r = key->read(reader, node->items[i], item_path, (char *)target + key->offset);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

bool suite_reader_expect_kind(const SuiteReader *reader, const Node *node, const char *path,
                              NodeKind kind, const char *what) {
    static const char *const names[] = {
        [NODE_SCALAR] = "a single value", [NODE_SEQUENCE] = "a list", [NODE_MAPPING] = "a mapping"};
    if (node->kind == kind) return true;
    problem_add(reader->problems, node->line, node->column, path, "expected %s, found %s", what,
                node_is_null(node) ? "nothing" : names[node->kind]);
    return false;
}

int suite_reader_text(const SuiteReader *reader, const Node *node, const char *path,
                      const char **target) {
    const char *text;
    if (!node_read_text(node, path, reader->problems, &text)) return 0;
    const char *copy = parts_text(reader->arena, text);
    if (!copy) return error_origin(-ENOMEM);
    *target = copy;
    return 0;
}

static int append_text(const SuiteReader *reader, const Node *node, const char *path,
                       char ***target, size_t *n_target) {
    const char *text;
    if (!node_read_text(node, path, reader->problems, &text)) return 0;
    char *copy = parts_text(reader->arena, text);
    char **items = parts_grow(reader->arena, *target, *n_target);
    if (!copy || !items) return error_origin(-ENOMEM);
    items[(*n_target)++] = copy;
    *target = items;
    return 0;
}

int suite_reader_texts(const SuiteReader *reader, const Node *node, const char *path,
                       char ***target, size_t *n_target) {
    if (node->kind == NODE_SCALAR) return append_text(reader, node, path, target, n_target);
    if (!suite_reader_expect_kind(reader, node, path, NODE_SEQUENCE, "a text or a list of texts"))
        return 0;
    for (size_t i = 0; i < node->n_items; i++) {
        const int r = append_text(reader, node->items[i], path, target, n_target);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

int suite_reader_file(const SuiteReader *reader, const Node *node, const char *path,
                      ProtobufCBinaryData *target) {
    const char *name;
    if (!node_read_text(node, path, reader->problems, &name)) return 0;
    CLEANUP(freep) char *file = NULL;
    int r = name[0] == '/' ? text_format(&file, "%s", name)
                           : text_format(&file, "%s/%s", reader->directory, name);
    if (r < 0) return error_fold(r);
    Trouble trouble;
    r = local_file_read(file, LOCAL_FILE_REGULAR, reader->arena, &trouble, target);
    if (r == TROUBLE_E_TOLD)
        problem_add(reader->problems, node->line, node->column, path, "%s", trouble.text);
    return r < 0 ? error_fold(r) : 0;
}
