/* A work directory for tests, and the means to do to it what a job would. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>

#include "platform/workdir.h"

typedef struct WorkdirMaker {
    char root[64];
    char directory[80];
    Workdir *workdir;
} WorkdirMaker;

static inline void workdir_maker_init(WorkdirMaker *maker) {
    snprintf(maker->root, sizeof maker->root, "/tmp/test-workdir-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(maker->root));
    snprintf(maker->directory, sizeof maker->directory, "%s/e-1", maker->root);
    ck_assert_int_eq(workdir_make(maker->directory, &maker->workdir), 0);
    ck_assert_int_eq(chdir(workdir_real_path(maker->workdir)), 0);
}

static inline void workdir_maker_deinit(WorkdirMaker *maker) {
    ck_assert_int_eq(chdir("/"), 0);
    workdir_free(maker->workdir);
    ck_assert_int_eq(workdir_remove(maker->directory), 0);
    ck_assert_int_eq(rmdir(maker->root), 0);
}

/* Writes a file below the current directory, which is work/. */
static inline void put(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}
