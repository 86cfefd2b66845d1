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
    BYTES_PER_KIB = 1024,
};

static int open_file(int proc_fd, const char *path) {
    char absolute[PROC_PATH_BYTES];
    if (proc_fd >= 0) return openat(proc_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    snprintf(absolute, sizeof absolute, "/proc/%s", path);
    return open(absolute, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* Reads a short file of /proc; NUL-terminated. */
static int read_file(int proc_fd, const char *path, char *buffer, size_t buffer_bytes) {
    CLEANUP(closep) int fd = open_file(proc_fd, path);
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

static int read_text(int proc_fd, pid_t pid, const char *name, char *buffer, size_t buffer_bytes) {
    char path[PROC_PATH_BYTES / 2];
    snprintf(path, sizeof path, "%d/%s", (int)pid, name);
    const int r = read_file(proc_fd, path, buffer, buffer_bytes);
    return r < 0 ? error_fold(r) : r;
}

int proc_stat(int proc_fd, pid_t pid, ProcStat *ret_stat) {
    char text[PROC_TEXT_BYTES];
    const int r = read_text(proc_fd, pid, "stat", text, sizeof text);
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

/* `name` begins a line: "\nUid:". */
static const char *value_of(const char *status, const char *name) {
    const char *line = strstr(status, name);
    return line ? line + strlen(name) : "";
}

static bool is_zero(const char *status, const char *name) {
    char *end;
    const char *value = value_of(status, name);
    return strtoull(value, &end, 16) == 0 && end != value;
}

/* Four ids that are one, or -1. */
static long one_id(const char *ids) {
    long id[4];
    if (sscanf(ids, "%ld %ld %ld %ld", &id[0], &id[1], &id[2], &id[3]) != 4) return -1;
    return id[0] == id[1] && id[1] == id[2] && id[2] == id[3] ? id[0] : -1;
}

int proc_rights(int proc_fd, pid_t pid, ProcRights *ret_rights) {
    char text[PROC_TEXT_BYTES];
    const int r = read_text(proc_fd, pid, "status", text, sizeof text);
    if (r != 0) return r;
    *ret_rights = (ProcRights){
        .no_new_privileges = strtol(value_of(text, "\nNoNewPrivs:"), NULL, 10) == 1,
        .has_no_capability = is_zero(text, "\nCapInh:") && is_zero(text, "\nCapPrm:") &&
                             is_zero(text, "\nCapEff:") && is_zero(text, "\nCapBnd:") &&
                             is_zero(text, "\nCapAmb:"),
        .is_filtered = strtol(value_of(text, "\nSeccomp:"), NULL, 10) == 2,
        .user = one_id(value_of(text, "\nUid:")),
        .group = one_id(value_of(text, "\nGid:")),
    };
    return 0;
}

int proc_peaks(int proc_fd, pid_t pid, ProcPeaks *ret_peaks) {
    char text[PROC_TEXT_BYTES];
    const int r = read_text(proc_fd, pid, "status", text, sizeof text);
    if (r != 0) return r;
    *ret_peaks = (ProcPeaks){
        .address_bytes = strtoull(value_of(text, "\nVmPeak:"), NULL, 10) * BYTES_PER_KIB,
        .table_size = strtoull(value_of(text, "\nFDSize:"), NULL, 10),
    };
    return 0;
}

/* Documentation/accounting/psi.rst: "some avg10=... total=MICROSECONDS". */
uint64_t proc_cpu_pressure_us(int proc_fd) {
    char text[PROC_TEXT_BYTES];
    if (read_file(proc_fd, "pressure/cpu", text, sizeof text) != 0) return 0;
    return strtoull(value_of(text, "total="), NULL, 10);
}

int proc_address_space(int proc_fd, pid_t pid, uint64_t *ret_bytes) {
    char text[PROC_TEXT_BYTES];
    const int r = read_text(proc_fd, pid, "statm", text, sizeof text);
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

/* One directory for each task. */
static uint64_t tasks_of(const struct stat *task_directory) {
    return task_directory->st_nlink > 2 ? task_directory->st_nlink - 2 : 1;
}

enum { FIRST_PROCESS = 1 };

/* Those of one user; or, when `user` is NULL, of all processes but the first. */
static uint64_t count_tasks(DIR *directory, const uid_t *user) {
    uint64_t n_tasks = 0;
    for (pid_t pid; (pid = next_pid(directory)) > 0;) {
        char path[PROC_PATH_BYTES];
        struct stat st;
        snprintf(path, sizeof path, "%d/task", (int)pid);
        if (fstatat(dirfd(directory), path, &st, 0) != 0) continue;
        if (user ? st.st_uid != *user : pid == FIRST_PROCESS) continue;
        n_tasks += tasks_of(&st);
    }
    return n_tasks;
}

int proc_count_tasks(uid_t user, uint64_t *ret_n_tasks) {
    CLEANUP(closedirp) DIR *directory = opendir("/proc");
    if (!directory) return error_origin(-errno);
    *ret_n_tasks = count_tasks(directory, &user);
    return 0;
}

int proc_count_tasks_inside(int proc_fd, uint64_t *ret_n_tasks) {
    const int fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(closedirp) DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) return error_origin(-errno);
    *ret_n_tasks = count_tasks(directory, NULL);
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
        int r = proc_stat(PROC_HERE, pid, &stat);
        if (r == 0) r = append(&list, &n_items, &capacity, &stat);
        if (r < 0) return error_fold(r);
    }
    *ret_list = TAKE(list);
    *ret_n_items = n_items;
    return 0;
}
