/* Text: makes bytes that strangers chose safe to carry and to show. Never allocates without bound:
 * every result is at most a fixed multiple of its input. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Replaces control characters (C0 and DEL) in place by '?'; leaves the rest, UTF-8 included. */
void text_make_printable(char *text);

/* True when the bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms). */
bool text_is_utf8(const void *bytes, size_t n_bytes);

/* Makes a NUL-terminated copy that is well-formed UTF-8 without NUL: each malformed byte becomes
 * U+FFFD, NUL and other control characters but tab and newline become `\xNN`.
 * The caller frees *ret_text. 0 or -ENOMEM. */
int text_sanitize(const void *bytes, size_t n_bytes, char **ret_text);

/* Formats into a new string; the caller frees it. 0 or -ENOMEM. */
int text_format(char **ret_text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* True when `name` has 1..max_bytes characters, all from [A-Za-z0-9._-], not starting with '.' or
 * '-'. */
bool text_is_token(const char *name, size_t max_bytes);

/* True when `name` can be a file in the work directory: 1..255 bytes of well-formed UTF-8 without
 * '/', control characters, and neither "." nor "..". */
bool text_is_file_name(const char *name);

/* A growing list of owned strings. */
typedef struct TextList {
    char **items;
    size_t n_items;
} TextList;

/* Appends a copy. 0 or -ENOMEM. */
int text_list_append(TextList *list, const char *item);
bool text_list_contains(const TextList *list, const char *item);
/* 0 or -ENOMEM; on failure *ret_copy is untouched. */
int text_list_copy(const TextList *list, TextList *ret_copy);
bool text_list_equal(const TextList *a, const TextList *b);
/* Frees the items and empties the list. */
void text_list_deinit(TextList *list);
