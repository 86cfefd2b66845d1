/* Scratch: an empty directory of a test's own. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "platform/workdir.h"

typedef struct Scratch {
    char path[64];
} Scratch;

static inline void scratch_init(Scratch *scratch) {
    strcpy(scratch->path, "/tmp/tbsandbox-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scratch->path));
}

static inline void scratch_deinit(const Scratch *scratch) {
    ck_assert_int_eq(workdir_remove(scratch->path), 0);
}

/* A path inside; valid until the fourth one after it. */
static inline const char *in_scratch(const Scratch *scratch, const char *name) {
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch->path, name);
    return path;
}

static inline void scratch_write(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}
