/* What the kernel says of a live child, and what it is told to hold the child to. */
#include "platform/linux/child_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "platform/linux/enclosure_linux.h"
#include "platform/linux/identity.h"
#include "platform/linux/proc.h"

enum {
    PATH_BYTES = 128,
    CPU_SLACK_S = 1,
    DYING_MS = 200,
    TASKS_BESIDE_THE_JOB = 10,
    NULL_MAJOR = 1,
    NULL_MINOR = 3,
};

static bool has_limit(pid_t pid, int resource, uint64_t value) {
    struct rlimit limit;
    return prlimit(pid, (__rlimit_resource_t)resource, NULL, &limit) == 0 &&
           limit.rlim_cur <= value && limit.rlim_max <= value;
}

static bool has_limits(const Child *child) {
    uint32_t table;
    return has_limit(child->pid, RLIMIT_CORE, 0) &&
           (child->layers[CHILD_LAYER_OWN_ROOT] ||
            has_limit(child->pid, RLIMIT_FSIZE, child->limits.disk_bytes)) &&
           has_limit(child->pid, RLIMIT_NOFILE,
                     guard_descriptor_limit(child->limits.open_files, &table));
}

/* What `name` in the child's directory of /proc leads to. */
static bool stat_link(const Child *child, const char *name, struct stat *ret_stat) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%d/%s", (int)child->pid, name);
    return fstatat(child->proc_fd, path, ret_stat, 0) == 0;
}

static bool is_expected(const Child *child, int number, const struct stat *st) {
    if (number >= CHILD_FD_COUNT) return false;
    if (number == CHILD_FD_STDIN)
        return S_ISCHR(st->st_mode) && st->st_rdev == makedev(NULL_MAJOR, NULL_MINOR);
    return S_ISFIFO(st->st_mode) && st->st_ino == child->inodes[number];
}

/* Borrows them one by one: the directory of one that hides its memory is shown to nobody. */
static bool has_descriptors(const Child *child) {
    ProcPeaks peaks;
    int n_found = 0;
    if (proc_peaks(child->proc_fd, child->pid, &peaks) != 0) return false;
    for (int number = 0; number < (int)peaks.table_size; number++) {
        CLEANUP(closep) int fd = pidfd_getfd(child->pidfd, number, 0);
        struct stat st;
        if (fd < 0 && errno == EBADF) continue;
        if (fd < 0 || fstat(fd, &st) != 0 || !is_expected(child, number, &st)) return false;
        n_found++;
    }
    return n_found == CHILD_FD_COUNT;
}

static bool has_directory(const Child *child) {
    struct stat st;
    return stat_link(child, "cwd", &st) && st.st_dev == child->work.st_dev &&
           st.st_ino == child->work.st_ino && (st.st_mode & 077) == 0 && st.st_uid == geteuid();
}

static bool has_namespace(const Child *child, EnclosureNamespace kind) {
    char path[PATH_BYTES / 2];
    struct stat st;
    snprintf(path, sizeof path, "ns/%s", enclosure_namespace_name(kind));
    return child->enclosure && stat_link(child, path, &st) &&
           st.st_ino != child->enclosure->outside[kind];
}

static bool has_own_root(const Child *child) {
    struct stat own, seen;
    return child->enclosure && child->enclosure->root.root_fd >= 0 &&
           fstat(child->enclosure->root.root_fd, &own) == 0 && stat_link(child, "root", &seen) &&
           seen.st_dev == own.st_dev && seen.st_ino == own.st_ino;
}

/* The files of one that hides belong to root, who is nobody that its supervisor could name. */
static bool is_hidden(const Child *child) {
    struct stat st;
    return stat_link(child, "status", &st) && st.st_uid != geteuid();
}

static void observe_enclosure(const Child *child, const ProcRights *rights, bool *layers) {
    static const EnclosureNamespace namespaces[] = {
        ENCLOSURE_NS_USER, ENCLOSURE_NS_MOUNT, ENCLOSURE_NS_PID,   ENCLOSURE_NS_NETWORK,
        ENCLOSURE_NS_IPC,  ENCLOSURE_NS_UTS,   ENCLOSURE_NS_CGROUP};
    for (int i = 0; i < ENCLOSURE_NS_COUNT; i++)
        layers[CHILD_LAYER_USER_NAMESPACE + i] = has_namespace(child, namespaces[i]);
    layers[CHILD_LAYER_OWN_ROOT] = has_own_root(child);
    layers[CHILD_LAYER_UNPRIVILEGED_USER] = child->enclosure && rights->user == IDENTITY_INSIDE &&
                                            rights->group == IDENTITY_INSIDE;
    layers[CHILD_LAYER_NO_CAPABILITIES] = rights->has_no_capability;
}

int child_observe(const Child *child, ChildView *ret_view) {
    ProcStat stat = {0};
    ProcRights rights = {0};
    int r = child->pid ? proc_stat(child->proc_fd, child->pid, &stat) : PROC_E_GONE;
    if (r == 0) r = proc_rights(child->proc_fd, child->pid, &rights);
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
                [CHILD_LAYER_NO_NEW_PRIVILEGES] = rights.no_new_privileges,
                [CHILD_LAYER_NOT_DUMPABLE] = is_hidden(child),
                [CHILD_LAYER_SECCOMP] = rights.is_filtered && child->guard.listener >= 0,
                /* The kernel shows it nowhere; the child ran against it. */
                [CHILD_LAYER_LANDLOCK] = child->layers[CHILD_LAYER_LANDLOCK] && child->is_proven,
                [CHILD_LAYER_CGROUP] = child->cgroup && cgroup_holds(child->cgroup, child->pid),
            },
        .n_threads = stat.n_threads,
    };
    observe_enclosure(child, &rights, ret_view->layers);
    /* One that is dying shows less than it had. */
    struct pollfd death = {child->pidfd, POLLIN, 0};
    const int limit_ms = ret_view->layers[CHILD_LAYER_DESCRIPTORS] ? 0 : DYING_MS;
    return poll(&death, 1, limit_ms) != 0 ? CHILD_E_GONE : 0;
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

/* The kernel counts the processes of a user, not of a job, and none of root's; but in a user
 * namespace of its own the job is all there is, beside its supervisor and its first process. The
 * guard, which tells what it counts, comes first. */
static int limit_processes(const Child *child, uint32_t processes) {
    uint64_t n_tasks = TASKS_BESIDE_THE_JOB;
    int r = child->enclosure || geteuid() == 0 ? 0 : proc_count_tasks(geteuid(), &n_tasks);
    if (r < 0) return error_fold(r);
    r = lower(child->pid, RLIMIT_NPROC, n_tasks + processes);
    return r < 0 ? error_fold(r) : r;
}

int child_limit(Child *child, const Limits *limits) {
    uint64_t in_use_bytes;
    uint32_t table;
    int r = child->pid ? proc_address_space(child->proc_fd, child->pid, &in_use_bytes)
                       : PROC_E_GONE;
    if (r == PROC_E_GONE) return CHILD_E_GONE;
    if (r < 0) return error_fold(r);
    /* The supervisor watches the exact CPU limit; the kernel's, in whole seconds, stands behind. */
    const uint64_t used_ms = child_cpu_ns(child) / NS_PER_MS;
    const uint64_t cpu_s = add_saturated(used_ms, limits->cpu_ms) / MS_PER_S + 1 + CPU_SLACK_S;
    const uint64_t address_bytes = add_saturated(in_use_bytes, limits->memory_bytes);
    r = lower(child->pid, RLIMIT_AS, address_bytes);
    if (r == 0) r = lower(child->pid, RLIMIT_CPU, cpu_s);
    if (r == 0 && !child->layers[CHILD_LAYER_OWN_ROOT])
        r = lower(child->pid, RLIMIT_FSIZE, limits->disk_bytes);
    if (r == 0)
        r = lower(child->pid, RLIMIT_NOFILE, guard_descriptor_limit(limits->open_files, &table));
    if (r == 0) r = limit_processes(child, limits->processes);
    if (r != 0) return r < 0 ? error_fold(r) : r;
    child->guard.max_address_bytes = address_bytes;
    child->guard.max_memory_bytes = limits->memory_bytes;
    child->guard.max_tasks = limits->processes;
    child->guard.max_descriptors = table;
    child->guard.mode = GUARD_RUNNING;
    return 0;
}

uint64_t child_cpu_ns(const Child *child) {
    clockid_t clock;
    struct timespec used;
    if (child->pid == 0 || clock_getcpuclockid(child->pid, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

uint64_t child_cpu_pressure_us(const Child *child) {
    return proc_cpu_pressure_us(child->proc_fd);
}
