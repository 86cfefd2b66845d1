/* Excerpt: the part of an interpreter's standard error that tells what happened. Works on what was
 * kept and redacted; never on the stream itself. `scanner` is the one it was redacted with, or
 * NULL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "warden/scan.h"

enum { EXCERPT_MAX_BYTES = 2000, EXCERPT_LINE_MAX_BYTES = 300 };

/* Of a crash dump its head, without the list of extension modules; otherwise the end of the text,
 * from a traceback's first line when one begins there. Whole lines, at most EXCERPT_MAX_BYTES, made
 * well-formed; *ret_excerpt is NULL when there is nothing to show. 0 or -ENOMEM. */
int excerpt_make(const Scanner *scanner, const char *text, size_t n_bytes, char **ret_excerpt);

/* The one line that says most: `Fatal Python error: …`, or the last line of a traceback, or the
 * first that is not blank. At most EXCERPT_LINE_MAX_BYTES, well-formed; NULL when there is none. 0
 * or -ENOMEM. */
int excerpt_useful_line(const Scanner *scanner, const char *text, size_t n_bytes, char **ret_line);
