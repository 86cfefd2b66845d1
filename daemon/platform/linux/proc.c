#include "platform/linux/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

enum {
    PROC_TEXT_BYTES = 4096, /* stat, statm and status are shorter */
    PROC_PATH_BYTES = 64,
    PROC_LIST_MAX = 1 << 16, /* per pass; whoever loops finds the rest in the next one */
};

/* Reads a short file of /proc/<pid>; NUL-terminated. */
static int read_text(pid_t pid, const char *name, char *buffer, size_t buffer_bytes) {
    char path[PROC_PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return errno == ENOENT || errno == ESRCH ? PROC_E_GONE : error_origin(-errno);
    size_t used = 0;
    while (used < buffer_bytes - 1) {
        const ssize_t n = read(fd, buffer + used, buffer_bytes - 1 - used);
        if (n == 0) break;
        if (n > 0) used += (size_t)n;
        if (n < 0 && errno != EINTR) return errno == ESRCH ? PROC_E_GONE : error_origin(-errno);
    }
    buffer[used] = '\0';
    return 0;
}

int proc_stat(pid_t pid, ProcStat *ret_stat) {
    char text[PROC_TEXT_BYTES];
    const int r = read_text(pid, "stat", text, sizeof text);
    if (r != 0) return r;
    /* The process chose the name before this parenthesis. */
    const char *rest = strrchr(text, ')');
    int parent, session;
    ProcStat stat = {.pid = pid};
    /* state ppid pgrp session, 13 fields, num_threads, itrealvalue, starttime */
    if (!rest || sscanf(rest + 1,
                        " %*c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %lu "
                        "%*d %" SCNu64,
                        &parent, &session, &stat.n_threads, &stat.start_ticks) != 4)
        return error_origin(-EPROTO);
    stat.parent = parent;
    stat.session = session;
    *ret_stat = stat;
    return 0;
}

int proc_no_new_privileges(pid_t pid, bool *ret_set) {
    char text[PROC_TEXT_BYTES];
    const int r = read_text(pid, "status", text, sizeof text);
    if (r != 0) return r;
    *ret_set = strstr(text, "\nNoNewPrivs:\t1\n") != NULL;
    return 0;
}

int proc_address_space(pid_t pid, uint64_t *ret_bytes) {
    char text[PROC_TEXT_BYTES];
    const int r = read_text(pid, "statm", text, sizeof text);
    if (r != 0) return r;
    *ret_bytes = strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
    return 0;
}

static void closedirp(DIR **directory) {
    if (*directory) closedir(*directory);
}

/* The next process of an open /proc, or 0 at its end. */
static pid_t next_pid(DIR *directory) {
    for (const struct dirent *entry; (entry = readdir(directory));) {
        char *end;
        const long pid = strtol(entry->d_name, &end, 10);
        if (*end == '\0' && pid > 0) return (pid_t)pid;
    }
    return 0;
}

int proc_count_tasks(uid_t user, uint64_t *ret_n_tasks) {
    CLEANUP(closedirp) DIR *directory = opendir("/proc");
    if (!directory) return error_origin(-errno);
    uint64_t n_tasks = 0;
    for (pid_t pid; (pid = next_pid(directory)) > 0;) {
        char path[PROC_PATH_BYTES];
        struct stat st;
        snprintf(path, sizeof path, "%d/task", (int)pid);
        if (fstatat(dirfd(directory), path, &st, 0) != 0 || st.st_uid != user) continue;
        n_tasks += st.st_nlink > 2 ? st.st_nlink - 2 : 1; /* one directory for each task */
    }
    *ret_n_tasks = n_tasks;
    return 0;
}

static int append(ProcStat **list, size_t *n_items, size_t *capacity, const ProcStat *item) {
    if (*n_items == *capacity) {
        const size_t wanted = *capacity ? 2 * *capacity : 256;
        ProcStat *grown = realloc(*list, wanted * sizeof *grown);
        if (!grown) return error_origin(-ENOMEM);
        *list = grown;
        *capacity = wanted;
    }
    (*list)[(*n_items)++] = *item;
    return 0;
}

int proc_list(ProcStat **ret_list, size_t *ret_n_items) {
    CLEANUP(closedirp) DIR *directory = opendir("/proc");
    if (!directory) return error_origin(-errno);
    CLEANUP(freep) ProcStat *list = NULL;
    size_t n_items = 0, capacity = 0;
    for (pid_t pid; n_items < PROC_LIST_MAX && (pid = next_pid(directory)) > 0;) {
        ProcStat stat;
        int r = proc_stat(pid, &stat);
        if (r == 0) r = append(&list, &n_items, &capacity, &stat);
        if (r < 0) return error_fold(r);
    }
    *ret_list = TAKE(list);
    *ret_n_items = n_items;
    return 0;
}
