/* Field: tables that say how a YAML mapping lies in a struct. The same table reads, prints,
 * compares and frees, so that no key is forgotten in one of them. Private to config/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/document.h"

typedef enum FieldKind {
    FIELD_SECTION,   /* a mapping of its own, its struct at `offset` */
    FIELD_ELSEWHERE, /* a known key that the table's owner cares for */
    FIELD_BOOL,      /* bool */
    FIELD_COUNT,     /* uint32_t within [min, max] */
    FIELD_MODE,      /* uint32_t, octal permission bits */
    FIELD_CHOICE,    /* an enum whose value is the index in `choices` */
    FIELD_BYTES,     /* uint64_t within [min, max] */
    FIELD_SECONDS,   /* uint64_t in ms within [min, max] */
    FIELD_TEXT,      /* char * of at most max bytes */
    FIELD_TEXTS,     /* TextList of at most max items, all different */
    FIELD_VARIABLES, /* EnvVariableList of at most max items */
} FieldKind;

typedef struct Field {
    const char *key; /* NULL ends a table */
    FieldKind kind;
    size_t offset; /* in the struct of the table */
    uint64_t min;
    uint64_t max;
    /* Of TEXT, of an item of TEXTS, of a name in VARIABLES: says what is wrong, NULL when nothing.
     * Optional. */
    const char *(*complain)(const char *text);
    const char *const *choices; /* CHOICE; optional in TEXTS. NULL ends it */
    const char *choices_lead;   /* begins the message that lists the choices */
    const struct Field *section;
} Field;

/* Dotted paths of keys are for messages only and cut at this. */
enum { FIELD_PATH_BYTES = 256 };
void field_path(const char *prefix, const char *key, char ret_path[FIELD_PATH_BYTES]);

/* Reads a mapping into the struct at `base`; what the mapping does not name stays. A null node
 * changes nothing. 0, also with problems, or -ENOMEM. */
int fields_read(const Field *fields, const Node *mapping, const char *path, ProblemList *problems,
                void *base);
/* Prints what fields_read reads back. */
void fields_print(const Field *fields, const void *base, int indent, FILE *stream);
/* Prints a text as a double-quoted scalar. */
void field_print_quoted(const char *text, FILE *stream);

bool fields_equal(const Field *fields, const void *a, const void *b);
/* Frees what the fields own and leaves them empty. */
void fields_deinit(const Field *fields, void *base);
