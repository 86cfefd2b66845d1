/* Processes: what the system says of a daemon and of all that descends from it. Only looks. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROCESSES_MAX = 256 };

typedef struct ProcessList {
    pid_t pids[PROCESSES_MAX];
    size_t n_pids;
} ProcessList;

typedef struct ProcessMemory {
    uint64_t rss_bytes;
    uint64_t pss_bytes; /* what several share counts for each in part */
} ProcessMemory;

/* All that descend from `root`, it not among them. 0 or -errno. */
int processes_below(pid_t root, ProcessList *ret_list);
/* Adds to *memory. 0 or -errno; -EACCES when we may not look. */
int processes_add_memory(pid_t pid, ProcessMemory *memory);
/* 0 or -errno. */
int processes_count_descriptors(pid_t pid, uint64_t *ret_n_descriptors);
/* Files and directories below `path`. 0 or -errno. */
int processes_count_files(const char *path, uint64_t *ret_n_files);
