#include "warden/invalid.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "verdict/verdict.h"
#include "warden/excerpt.h"

enum { DETAIL_BYTES = 1024 };

int invalid_set(InvalidReport *report, Code code, const char *format, ...) {
    char detail[DETAIL_BYTES], *shown;
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    text_make_printable(detail);
    const int r = text_sanitize(detail, strlen(detail), &shown);
    if (r < 0) return error_fold(r);
    free(report->detail);
    report->detail = shown;
    report->code = code;
    return INVALID_E_REPORTED;
}

int invalid_add_excerpt(InvalidReport *report, const Scanner *scanner, const char *error_text,
                        size_t error_bytes) {
    char *excerpt;
    const int r = excerpt_make(scanner, error_text, error_bytes, &excerpt);
    if (r < 0) return error_fold(r);
    free(report->stderr_excerpt);
    report->stderr_excerpt = excerpt;
    return 0;
}

int invalid_set_death(InvalidReport *report, const Scanner *scanner, const ChildExit *exit,
                      bool is_silent, const char *error_text, size_t error_bytes) {
    CLEANUP(freep) char *line = NULL;
    int r = excerpt_useful_line(scanner, error_text, error_bytes, &line);
    if (r == 0) r = invalid_add_excerpt(report, scanner, error_text, error_bytes);
    if (r < 0) return error_fold(r);
    const char *separator = line ? ": " : "", *words = line ? line : "";
    if (exit->signal)
        return invalid_set(report, CODE_CHILD_NEVER_STARTED,
                           "killed by %s before its start marker%s%s",
                           verdict_signal_name(exit->signal), separator, words);
    if (exit->code == 0 && is_silent && !line)
        return invalid_set(report, CODE_CHILD_NEVER_STARTED,
                           "silent: exited 0 with no output before its start marker");
    return invalid_set(report, CODE_CHILD_NEVER_STARTED, "exited %d before its start marker%s%s",
                       exit->code, separator, words);
}

void invalid_report_deinit(InvalidReport *report) {
    free(report->detail);
    free(report->stderr_excerpt);
    *report = (InvalidReport){0};
}
