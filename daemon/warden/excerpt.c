#include "warden/excerpt.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "warden/redact.h"

/* A line without its end. */
typedef struct Line {
    const char *text;
    size_t n_bytes;
} Line;

static const char fatal[] = "Fatal Python error: ";
static const char thread_dump[] = "Current thread 0x";
static const char extensions[] = "Extension modules: ";
static const char traceback[] = "Traceback (most recent call last):";

static bool next_line(const char **cursor, const char *end, Line *ret_line) {
    if (*cursor >= end) return false;
    const char *newline = memchr(*cursor, '\n', (size_t)(end - *cursor));
    const char *line_end = newline ? newline : end;
    *ret_line = (Line){*cursor, (size_t)(line_end - *cursor)};
    *cursor = newline ? newline + 1 : end;
    return true;
}

static bool starts_with(const Line *line, const char *prefix) {
    const size_t n = strlen(prefix);
    return line->n_bytes >= n && memcmp(line->text, prefix, n) == 0;
}

static bool is_blank(const Line *line) {
    for (size_t i = 0; i < line->n_bytes; i++)
        if (!isspace((unsigned char)line->text[i])) return false;
    return true;
}

static const char *find_line(const char *text, const char *end, const char *prefix) {
    Line line;
    for (const char *cursor = text; next_line(&cursor, end, &line);)
        if (starts_with(&line, prefix)) return line.text;
    return NULL;
}

static int copy(const char *text, const char *end, char **ret_excerpt) {
    while (end > text && isspace((unsigned char)end[-1])) end--;
    if (end == text) {
        *ret_excerpt = NULL;
        return 0;
    }
    char *excerpt = strndup(text, (size_t)(end - text));
    if (!excerpt) return error_origin(-ENOMEM);
    *ret_excerpt = excerpt;
    return 0;
}

static int copy_dump(const char *dump, const char *end, char **ret_excerpt) {
    char kept[EXCERPT_MAX_BYTES];
    size_t n_kept = 0;
    Line line;
    for (const char *cursor = dump; next_line(&cursor, end, &line);) {
        if (starts_with(&line, extensions)) continue;
        if (line.n_bytes + 1 > sizeof kept - n_kept) break;
        memcpy(kept + n_kept, line.text, line.n_bytes);
        n_kept += line.n_bytes;
        kept[n_kept++] = '\n';
    }
    return copy(kept, kept + n_kept, ret_excerpt);
}

/* Where the last EXCERPT_MAX_BYTES begin: with a line, or else with a character and no rest of a
 * marker. */
static const char *find_tail(const Scanner *scanner, const char *text, const char *end) {
    if (end - text <= EXCERPT_MAX_BYTES) return text;
    const char *start = end - EXCERPT_MAX_BYTES;
    const char *newline = memchr(start, '\n', (size_t)(end - start));
    if (newline && newline + 1 < end) return newline + 1;
    while (start < end && (*start & 0xc0) == 0x80) start++;
    return start + redact_ended_bytes(scanner, start, (size_t)(end - start));
}

static int copy_tail(const Scanner *scanner, const char *text, const char *end,
                     char **ret_excerpt) {
    const char *start = find_tail(scanner, text, end);
    const char *first = find_line(start, end, traceback);
    return copy(first ? first : start, end, ret_excerpt);
}

int excerpt_make(const Scanner *scanner, const char *text, size_t n_bytes, char **ret_excerpt) {
    CLEANUP(freep) char *shown = NULL; /* before anything is cut */
    int r = redact_again(scanner, text, n_bytes, &shown);
    if (r < 0) return error_fold(r);
    const char *end = shown + strlen(shown);
    const char *dump = find_line(shown, end, fatal);
    if (!dump) dump = find_line(shown, end, thread_dump);
    r = dump ? copy_dump(dump, end, ret_excerpt) : copy_tail(scanner, shown, end, ret_excerpt);
    return r < 0 ? error_fold(r) : 0;
}

/* A traceback's own lines are indented, or introduce it. */
static bool ends_traceback(const Line *line) {
    return !is_blank(line) && !isspace((unsigned char)line->text[0]) &&
           !starts_with(line, traceback);
}

static Line find_useful(const char *text, const char *end) {
    Line line, first = {0}, last = {0};
    bool is_traceback = false;
    for (const char *cursor = text; next_line(&cursor, end, &line);) {
        if (starts_with(&line, fatal)) return line;
        if (starts_with(&line, traceback)) is_traceback = true;
        if (!first.text && !is_blank(&line)) first = line;
        if (is_traceback && ends_traceback(&line)) last = line;
    }
    return last.text ? last : first;
}

int excerpt_useful_line(const Scanner *scanner, const char *text, size_t n_bytes, char **ret_line) {
    const Line line = find_useful(text, text + n_bytes);
    if (!line.text) {
        *ret_line = NULL;
        return 0;
    }
    const int r = redact_again_line(scanner, line.text, line.n_bytes, EXCERPT_LINE_MAX_BYTES,
                                    ret_line);
    return r < 0 ? error_fold(r) : 0;
}
