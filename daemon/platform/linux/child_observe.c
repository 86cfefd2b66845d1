/* What the kernel says of a live child, and what it is told to hold the child to. */
#include "platform/linux/child_linux.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "platform/linux/proc.h"

enum { PATH_BYTES = 128, CPU_SLACK_S = 1, NULL_MAJOR = 1, NULL_MINOR = 3 };

const char *child_layer_name(ChildLayer layer) {
    static const char *const names[CHILD_LAYER_COUNT] = {
        [CHILD_LAYER_SESSION] = "session",
        [CHILD_LAYER_DEATH_SIGNAL] = "death_signal",
        [CHILD_LAYER_RLIMITS] = "rlimits",
        [CHILD_LAYER_DESCRIPTORS] = "descriptors",
        [CHILD_LAYER_WORK_DIRECTORY] = "work_directory",
        [CHILD_LAYER_NO_NEW_PRIVILEGES] = "no_new_privileges",
    };
    return names[layer];
}

static bool has_limit(pid_t pid, int resource, uint64_t value) {
    struct rlimit limit;
    return prlimit(pid, (__rlimit_resource_t)resource, NULL, &limit) == 0 &&
           limit.rlim_cur <= value && limit.rlim_max <= value;
}

static bool has_limits(const Child *child) {
    return has_limit(child->pid, RLIMIT_CORE, 0) &&
           has_limit(child->pid, RLIMIT_FSIZE, child->limits.disk_bytes) &&
           has_limit(child->pid, RLIMIT_NOFILE, child->limits.open_files);
}

/* What `name` in /proc/<pid> leads to. */
static bool stat_link(const Child *child, const char *name, struct stat *ret_stat) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)child->pid, name);
    return stat(path, ret_stat) == 0;
}

static bool is_expected_descriptor(const Child *child, const char *name) {
    char path[PATH_BYTES / 2], *end;
    struct stat st;
    const long number = strtol(name, &end, 10);
    if (*end != '\0' || number < 0 || number >= CHILD_FD_COUNT) return false;
    snprintf(path, sizeof path, "fd/%ld", number);
    if (!stat_link(child, path, &st)) return false;
    if (number == CHILD_FD_STDIN)
        return S_ISCHR(st.st_mode) && st.st_rdev == makedev(NULL_MAJOR, NULL_MINOR);
    return S_ISFIFO(st.st_mode) && st.st_ino == child->inodes[number];
}

static void closedirp(DIR **directory) {
    if (*directory) closedir(*directory);
}

static bool has_descriptors(const Child *child) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)child->pid);
    CLEANUP(closedirp) DIR *directory = opendir(path);
    int n_found = 0;
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.') continue;
        if (!is_expected_descriptor(child, entry->d_name)) return false;
        n_found++;
    }
    return n_found == CHILD_FD_COUNT;
}

static bool has_directory(const Child *child) {
    struct stat st;
    return stat_link(child, "cwd", &st) && st.st_dev == child->work.st_dev &&
           st.st_ino == child->work.st_ino && (st.st_mode & 077) == 0 && st.st_uid == geteuid();
}

int child_observe(const Child *child, ChildView *ret_view) {
    ProcStat stat;
    bool has_no_new_privileges;
    int r = child->pid ? proc_stat(child->pid, &stat) : PROC_E_GONE;
    if (r == 0) r = proc_no_new_privileges(child->pid, &has_no_new_privileges);
    if (r == PROC_E_GONE) return CHILD_E_GONE;
    if (r < 0) return error_fold(r);
    *ret_view = (ChildView){
        .layers =
            {
                [CHILD_LAYER_SESSION] = stat.session == child->pid,
                [CHILD_LAYER_DEATH_SIGNAL] = child->has_death_signal,
                [CHILD_LAYER_RLIMITS] = has_limits(child),
                [CHILD_LAYER_DESCRIPTORS] = has_descriptors(child),
                [CHILD_LAYER_WORK_DIRECTORY] = has_directory(child),
                [CHILD_LAYER_NO_NEW_PRIVILEGES] = has_no_new_privileges,
            },
        .n_threads = stat.n_threads,
    };
    return 0;
}

/* Never raises one: what was set at the start is the most that any job may get. */
static int lower(pid_t pid, int resource, uint64_t value) {
    struct rlimit limit;
    if (prlimit(pid, (__rlimit_resource_t)resource, NULL, &limit) != 0)
        return errno == ESRCH ? CHILD_E_GONE : error_origin(-errno);
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < value) value = limit.rlim_max;
    limit = (struct rlimit){value, value};
    if (prlimit(pid, (__rlimit_resource_t)resource, &limit, NULL) != 0)
        return errno == ESRCH ? CHILD_E_GONE : error_origin(-errno);
    return 0;
}

static uint64_t add_saturated(uint64_t a, uint64_t b) {
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/* The kernel counts the processes of a user, not of a job, and none of root's. */
static int limit_processes(pid_t pid, uint32_t processes) {
    uint64_t n_tasks = 0;
    int r = geteuid() == 0 ? 0 : proc_count_tasks(geteuid(), &n_tasks);
    if (r < 0) return error_fold(r);
    r = lower(pid, RLIMIT_NPROC, n_tasks + processes);
    return r < 0 ? error_fold(r) : r;
}

int child_limit(const Child *child, const Limits *limits) {
    uint64_t in_use_bytes;
    int r = child->pid ? proc_address_space(child->pid, &in_use_bytes) : PROC_E_GONE;
    if (r == PROC_E_GONE) return CHILD_E_GONE;
    if (r < 0) return error_fold(r);
    /* The supervisor watches the exact CPU limit; the kernel's, in whole seconds, stands behind. */
    const uint64_t used_ms = child_cpu_ns(child) / NS_PER_MS;
    const uint64_t cpu_s = add_saturated(used_ms, limits->cpu_ms) / MS_PER_S + 1 + CPU_SLACK_S;
    r = lower(child->pid, RLIMIT_AS, add_saturated(in_use_bytes, limits->memory_bytes));
    if (r == 0) r = lower(child->pid, RLIMIT_CPU, cpu_s);
    if (r == 0) r = lower(child->pid, RLIMIT_FSIZE, limits->disk_bytes);
    if (r == 0) r = lower(child->pid, RLIMIT_NOFILE, limits->open_files);
    if (r == 0) r = limit_processes(child->pid, limits->processes);
    return r < 0 ? error_fold(r) : r;
}

uint64_t child_cpu_ns(const Child *child) {
    clockid_t clock;
    struct timespec used;
    if (child->pid == 0 || clock_getcpuclockid(child->pid, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}
