/* Error: marks where an error is born and where it is passed on, so that a trace can be read.
 * Convention of the whole tree: 0 is success, a negative errno is fatal and is passed up, a
 * positive value is a documented result for this caller. Never prints unless TBSANDBOX_TRACE is
 * set. */
#pragma once

/* Born here: returns `code` unchanged. */
int error_origin_at(int code, const char *file, int line);
/* Passed on here: returns `code` when negative; a positive one is a bug of the caller:
 * -ENOTRECOVERABLE. */
int error_fold_at(int code, const char *file, int line);

#define error_origin(code) error_origin_at((code), __FILE__, __LINE__)
#define error_fold(code) error_fold_at((code), __FILE__, __LINE__)
