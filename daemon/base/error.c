#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void trace(const char *verb, int code, const char *file, int line) {
    if (!getenv("TBSANDBOX_TRACE")) return;
    fprintf(stderr, "trace: %s %d (%s) at %s:%d\n", verb, code,
            code < 0 ? strerror(-code) : "result", file, line);
}

int error_origin_at(int code, const char *file, int line) {
    trace("error", code, file, line);
    return code;
}

int error_fold_at(int code, const char *file, int line) {
    trace("passed on", code, file, line);
    return code > 0 ? -ENOTRECOVERABLE : code;
}
