/* Printable: shows bytes that strangers chose without letting them act on a terminal or pose as our
 * own lines. Control characters, direction overrides, invisible characters and malformed UTF-8 are
 * shown as \xNN; what is well-formed text stays as it is. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* On one line: newlines are escaped too. */
void printable_line(FILE *stream, const void *bytes, size_t n_bytes);
/* The same for NUL-terminated text. */
void printable_text(FILE *stream, const char *text);
/* In double quotes, with \n, \t, \" and \\ as in C. */
void printable_quoted(FILE *stream, const void *bytes, size_t n_bytes);
/* Every line behind `prefix`, at most max_lines of them; then how many more there are. Writes
 * nothing for no bytes. */
void printable_block(FILE *stream, const char *prefix, const void *bytes, size_t n_bytes,
                     size_t max_lines);
