/* Root: the file system of an enclosure: a small read-only one, with what the plan names, harmless
 * devices, and the work directory. Linux only, not a contract. */
#pragma once

#include "platform/enclosure.h"

typedef struct Root {
    int root_fd;
    int work_fd;
} Root;

/* Builds it beside the present root, at which nothing is changed; proc/ is left empty. The caller
 * calls root_deinit. 0, or 1 when *ret_failure says what was refused. */
int root_build(const RootPlan *plan, uint64_t disk_bytes, Root *ret_root, StepFailure *ret_failure);
/* Makes it the root of every process of this mount namespace, and forgets the old one. The same. */
int root_enter(const Root *root, StepFailure *ret_failure);
void root_deinit(Root *root);

/* A file system for processes, seen from the caller's PID namespace, at proc/. 0, or -1 with errno.
 * Safe after fork. */
int root_mount_proc(const Root *root);
/* Sets the size of the work directory. 0, or -1 with errno. */
int root_resize_work(const Root *root, uint64_t disk_bytes);

/* Files and directories in the work directory, itself among them. */
enum { ROOT_WORK_FILES = 16384 };
