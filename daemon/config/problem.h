/* Problem: what is wrong with a file that a person wrote, and where: file, line, column, key.
 * Collects, so that one run shows every problem; never decides what is fatal. */
#pragma once

#include <stddef.h>
#include <stdio.h>

typedef struct Problem {
    size_t line;   /* from 1; 0 when the problem has no place */
    size_t column; /* from 1 */
    char *key;     /* dotted path such as profiles.pandas.limits.wall_s; may be empty */
    char *message; /* says what is wrong and what to do */
} Problem;

typedef struct ProblemList {
    char *file;
    Problem *items;
    size_t n_items;
    size_t n_dropped; /* over the bound of 100, or when memory ran out */
} ProblemList;

/* Starts an empty list about `file` (copied; for messages only). 0 or -ENOMEM. */
int problem_list_init(ProblemList *list, const char *file);
void problem_list_deinit(ProblemList *list);
/* Adds one; never fails (a problem that cannot be stored is counted in n_dropped). */
void problem_add(ProblemList *list, size_t line, size_t column, const char *key, const char *format,
                 ...) __attribute__((format(printf, 5, 6)));
/* True when there is none. */
int problem_list_empty(const ProblemList *list);
/* One line each: `file:line:column: key: message`. */
void problem_list_print(const ProblemList *list, FILE *stream);
