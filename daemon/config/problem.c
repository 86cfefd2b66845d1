#include "config/problem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

enum { PROBLEMS_MAX = 100, MESSAGE_BYTES = 1024 };

/* Keys and values come out of the file and go to a terminal, a log or a reply: one printable line
 * of well-formed UTF-8. */
static char *printable_copy(const char *text) {
    char *copy = NULL;
    if (text_sanitize(text, strlen(text), &copy) < 0) return NULL;
    text_make_printable(copy);
    return copy;
}

int problem_list_init(ProblemList *list, const char *file) {
    char *copy = printable_copy(file);
    if (!copy) return error_origin(-ENOMEM);
    *list = (ProblemList){.file = copy};
    return 0;
}

void problem_list_deinit(ProblemList *list) {
    for (size_t i = 0; i < list->n_items; i++) {
        free(list->items[i].key);
        free(list->items[i].message);
    }
    free(list->items);
    free(list->file);
    *list = (ProblemList){0};
}

static bool store(ProblemList *list, size_t line, size_t column, const char *key,
                  const char *message) {
    if (list->n_items == PROBLEMS_MAX) return false;
    CLEANUP(freep) char *key_copy = printable_copy(key);
    CLEANUP(freep) char *message_copy = printable_copy(message);
    if (!key_copy || !message_copy) return false;
    Problem *items = realloc(list->items, (list->n_items + 1) * sizeof *items);
    if (!items) return false;
    list->items = items;
    list->items[list->n_items++] = (Problem){
        .line = line,
        .column = column,
        .key = TAKE(key_copy),
        .message = TAKE(message_copy),
    };
    return true;
}

void problem_add(ProblemList *list, size_t line, size_t column, const char *key, const char *format,
                 ...) {
    char message[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (n < 0 || !store(list, line, column, key, message)) list->n_dropped++;
}

int problem_list_empty(const ProblemList *list) {
    return list->n_items == 0 && list->n_dropped == 0;
}

void problem_list_print(const ProblemList *list, FILE *stream) {
    for (size_t i = 0; i < list->n_items; i++) {
        const Problem *problem = &list->items[i];
        fprintf(stream, "%s:", list->file);
        if (problem->line) fprintf(stream, "%zu:%zu:", problem->line, problem->column);
        if (problem->key[0]) fprintf(stream, " %s:", problem->key);
        fprintf(stream, " %s\n", problem->message);
    }
    if (list->n_dropped) fprintf(stream, "%s: %zu more problems\n", list->file, list->n_dropped);
}
