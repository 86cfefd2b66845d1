/* Invalid: why an environment gets no job, or lost the one it was handed, in words that a user can
 * act on. Says nothing about the code. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "platform/child.h"
#include "verdict/code.h"
#include "warden/scan.h"

/* Documented result of invalid_set and of everything that calls it: the report says why. */
enum { INVALID_E_REPORTED = 1 };

typedef struct InvalidReport {
    Code code;
    char *detail;         /* one line */
    char *stderr_excerpt; /* or NULL */
    bool dispatched;
} InvalidReport;

/* Fills the report; the detail is made one well-formed line. INVALID_E_REPORTED or -ENOMEM. */
int invalid_set(InvalidReport *report, Code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for an interpreter that died before its start marker, with what it wrote to standard
 * error, redacted (`scanner` as for excerpt_make); `is_silent` when it wrote nothing to standard
 * output. */
int invalid_set_death(InvalidReport *report, const Scanner *scanner, const ChildExit *exit,
                      bool is_silent, const char *error_text, size_t error_bytes);
/* Adds an excerpt of standard error. 0 or -ENOMEM. */
int invalid_add_excerpt(InvalidReport *report, const Scanner *scanner, const char *error_text,
                        size_t error_bytes);
void invalid_report_deinit(InvalidReport *report);
