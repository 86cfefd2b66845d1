#include "processes.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

enum { PATH_BYTES = 64, LINE_BYTES = 512, BYTES_PER_KIB = 1024 };

static void closedirp(DIR **directory) {
    if (*directory) closedir(*directory);
}

/* 0 when it is gone. */
static pid_t parent_of(pid_t pid) {
    char path[PATH_BYTES], line[LINE_BYTES];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    CLEANUP(fclosep) FILE *file = fopen(path, "re");
    if (!file || !fgets(line, sizeof line, file)) return 0;
    /* The name before it may hold anything. */
    const char *end = strrchr(line, ')');
    char state;
    int parent;
    return end && sscanf(end, ") %c %d", &state, &parent) == 2 ? parent : 0;
}

/* Walks up; numbers are reused, but not so fast that this goes in circles. */
static bool is_below(pid_t pid, pid_t root) {
    for (unsigned depth = 0; pid > 1 && depth < 64; depth++) {
        pid = parent_of(pid);
        if (pid == root) return true;
    }
    return false;
}

int processes_below(pid_t root, ProcessList *ret_list) {
    CLEANUP(closedirp) DIR *directory = opendir("/proc");
    if (!directory) return error_origin(-errno);
    ret_list->n_pids = 0;
    const struct dirent *entry;
    while ((entry = readdir(directory))) {
        char *end;
        const long pid = strtol(entry->d_name, &end, 10);
        if (*end != '\0' || pid <= 0 || !is_below((pid_t)pid, root)) continue;
        if (ret_list->n_pids == PROCESSES_MAX) return error_origin(-E2BIG);
        ret_list->pids[ret_list->n_pids++] = (pid_t)pid;
    }
    return 0;
}

int processes_add_memory(pid_t pid, ProcessMemory *memory) {
    char path[PATH_BYTES], line[LINE_BYTES];
    bool is_told = false;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    CLEANUP(fclosep) FILE *file = fopen(path, "re");
    if (!file) return error_origin(-errno);
    while (fgets(line, sizeof line, file)) {
        unsigned long long kib;
        if (sscanf(line, "Rss: %llu kB", &kib) == 1) memory->rss_bytes += kib * BYTES_PER_KIB;
        if (sscanf(line, "Pss: %llu kB", &kib) != 1) continue;
        memory->pss_bytes += kib * BYTES_PER_KIB;
        is_told = true;
    }
    return is_told ? 0 : error_origin(ferror(file) ? -EACCES : -ESRCH);
}

int processes_count_descriptors(pid_t pid, uint64_t *ret_n_descriptors) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    CLEANUP(closedirp) DIR *directory = opendir(path);
    if (!directory) return error_origin(-errno);
    uint64_t n = 0;
    const struct dirent *entry;
    while ((entry = readdir(directory))) n += entry->d_name[0] != '.';
    *ret_n_descriptors = n;
    return 0;
}

int processes_count_files(const char *path, uint64_t *ret_n_files) {
    char *const paths[] = {(char *)path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOSTAT, NULL);
    if (!tree) return error_origin(-errno);
    uint64_t n = 0;
    const FTSENT *entry;
    while ((entry = fts_read(tree))) n += entry->fts_info != FTS_DP;
    fts_close(tree);
    *ret_n_files = n;
    return 0;
}
