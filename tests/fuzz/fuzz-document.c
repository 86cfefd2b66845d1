/* Any bytes as a YAML document: the parser and every reader stay within their bounds, and what is
 * refused has a reason. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

/* Each reader either gives a value within its bounds or adds exactly one problem. */
static void read_node(const Node *node, const char *key) {
    ProblemList problems;
    if (problem_list_init(&problems, "fuzz") < 0) return;
    const char *text = NULL;
    bool flag = false;
    uint64_t count = 0, bytes = 0, ms = 0;
    size_t n_read = 0;
    n_read += node_read_text(node, key, &problems, &text);
    n_read += node_read_bool(node, key, &problems, &flag);
    n_read += node_read_count(node, key, &problems, 5, 50, &count);
    n_read += node_read_bytes(node, key, &problems, 1024, 1048576, &bytes);
    n_read += node_read_seconds(node, key, &problems, 10, 60000, &ms);
    require(n_read + problems.n_items == 5);
    require(count == 0 || (count >= 5 && count <= 50));
    require(bytes == 0 || (bytes >= 1024 && bytes <= 1048576));
    require(ms == 0 || (ms >= 10 && ms <= 60000));
    problem_list_deinit(&problems);
}

static size_t walk(const Node *node, int depth) {
    size_t n_nodes = 1;
    require(node->line > 0 && node->column > 0);
    require((node->kind == NODE_SCALAR) == (node->text != NULL));
    require(node->kind == NODE_SCALAR || depth <= DOCUMENT_MAX_DEPTH);
    for (size_t i = 0; i < node->n_items; i++) {
        if (node->kind == NODE_MAPPING) {
            require(node->keys[i]->kind == NODE_SCALAR);
            /* Looking up is linear; the first ones stand for all. */
            if (i < 64) require(node_get(node, node->keys[i]->text) == node->items[i]);
            n_nodes++;
        }
        n_nodes += walk(node->items[i], depth + 1);
    }
    return n_nodes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ProblemList problems;
    Node *root = NULL;
    if (problem_list_init(&problems, "fuzz") < 0) return 0;
    const int r = document_parse(data, size, &problems, &root);
    require((r == 0) == (root != NULL));
    require((r == 1) == !problem_list_empty(&problems));
    if (root) {
        require(walk(root, 1) <= DOCUMENT_MAX_NODES + 1);
        read_node(root, "root");
        for (size_t i = 0; i < root->n_items && i < 64; i++) read_node(root->items[i], "item");
    }
    node_free(root);
    problem_list_deinit(&problems);
    return 0;
}
