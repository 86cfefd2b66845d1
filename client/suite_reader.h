/* Suite reader: what all parts of a suite file are read with: tables of keys, and values that are
 * copied out of the document. A wrong value becomes a problem and reading goes on, so that one run
 * shows every problem. Private to suite_file and expect_read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "config/document.h"

typedef struct SuiteReader {
    Arena *arena;
    ProblemList *problems;
    const char *directory; /* what relative paths in the suite start from */
} SuiteReader;

typedef struct SuiteKey {
    const char *key; /* NULL ends a table */
    /* Reads a value into the target's struct. 0, also with problems, or -ENOMEM. */
    int (*read)(const SuiteReader *reader, const Node *node, const char *path, void *target);
    size_t offset; /* for readers that serve several keys: of the member in the target */
} SuiteKey;

/* Reads a mapping by a table; unknown keys are problems. 0, also with problems, or -ENOMEM. */
int suite_reader_mapping(const SuiteReader *reader, const SuiteKey *keys, const Node *node,
                         const char *path, void *target);

/* Values. `path` names the place in messages. 0, also with problems, or -ENOMEM; the target is
 * untouched when there is a problem. */
int suite_reader_text(const SuiteReader *reader, const Node *node, const char *path,
                      const char **target);
/* Appends one text, or each of a list of texts. */
int suite_reader_texts(const SuiteReader *reader, const Node *node, const char *path,
                       char ***target, size_t *n_target);
/* False and a problem when the node is of another kind; `what` says what was expected. */
bool suite_reader_expect_kind(const SuiteReader *reader, const Node *node, const char *path,
                              NodeKind kind, const char *what);
/* A file that the suite names. */
int suite_reader_file(const SuiteReader *reader, const Node *node, const char *path,
                      ProtobufCBinaryData *target);
