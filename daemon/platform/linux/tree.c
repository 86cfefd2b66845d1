#include "platform/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "platform/linux/proc.h"

enum { PASS_PAUSE_US = 1000, US_PER_S = 1000000, BYTES_PER_KIB = 1024 };

typedef struct Family {
    ProcStat *members;
    size_t n_members;
} Family;

static void family_deinit(Family *family) {
    free(family->members);
}

static int compare_pids(const void *a, const void *b) {
    const pid_t x = ((const ProcStat *)a)->pid, y = ((const ProcStat *)b)->pid;
    return (x > y) - (x < y);
}

static bool is_spared(const pid_t *spare, size_t n_spare, pid_t pid) {
    for (size_t i = 0; i < n_spare; i++)
        if (spare[i] == pid) return true;
    return false;
}

static const ProcStat *find(const ProcStat *sorted, size_t n_items, pid_t pid) {
    const ProcStat key = {.pid = pid};
    return bsearch(&key, sorted, n_items, sizeof key, compare_pids);
}

/* Follows the parents upwards. A list read while processes die may hold a loop: hence the bound. */
static bool descends(const ProcStat *sorted, size_t n_items, const ProcStat *process,
                     const pid_t *spare, size_t n_spare) {
    const pid_t self = getpid();
    for (size_t n_steps = 0; process && n_steps < n_items; n_steps++) {
        if (process->pid == self || is_spared(spare, n_spare, process->pid)) return false;
        if (process->parent == self) return true;
        process = find(sorted, n_items, process->parent);
    }
    return false;
}

static int family_find(const pid_t *spare, size_t n_spare, Family *ret_family) {
    CLEANUP(freep) ProcStat *all = NULL;
    size_t n_all;
    const int r = proc_list(&all, &n_all);
    if (r < 0) return error_fold(r);
    qsort(all, n_all, sizeof *all, compare_pids);
    ProcStat *members = malloc((n_all + 1) * sizeof *members);
    if (!members) return error_origin(-ENOMEM);
    size_t n_members = 0;
    for (size_t i = 0; i < n_all; i++)
        if (descends(all, n_all, &all[i], spare, n_spare)) members[n_members++] = all[i];
    *ret_family = (Family){members, n_members};
    return 0;
}

/* Signals exactly the process that was seen: the descriptor holds it while its start is compared.
 */
static void signal_seen(const ProcStat *seen, int signal) {
    CLEANUP(closep) int fd = pidfd_open(seen->pid, 0);
    ProcStat now;
    if (fd < 0 || proc_stat(PROC_HERE, seen->pid, &now) != 0 ||
        now.start_ticks != seen->start_ticks)
        return;
    pidfd_send_signal(fd, signal, NULL, 0);
}

/* All are stopped before any is killed, so that none answers another's death with new ones. */
static void family_kill(const Family *family) {
    for (size_t i = 0; i < family->n_members; i++) signal_seen(&family->members[i], SIGSTOP);
    for (size_t i = 0; i < family->n_members; i++) signal_seen(&family->members[i], SIGKILL);
}

static void add_usage(TreeUsage *usage, const struct rusage *rusage) {
    if (!usage) return;
    const uint64_t peak_bytes = (uint64_t)rusage->ru_maxrss * BYTES_PER_KIB;
    usage->n_reaped++;
    usage->cpu_us += (uint64_t)(rusage->ru_utime.tv_sec + rusage->ru_stime.tv_sec) * US_PER_S +
                     (uint64_t)(rusage->ru_utime.tv_usec + rusage->ru_stime.tv_usec);
    if (peak_bytes > usage->peak_memory_bytes) usage->peak_memory_bytes = peak_bytes;
}

/* By pid, so that the caller's spared children keep their status. */
static void family_reap(const Family *family, TreeUsage *usage) {
    for (size_t i = 0; i < family->n_members; i++) {
        struct rusage rusage;
        int status;
        if (wait4(family->members[i].pid, &status, WNOHANG, &rusage) == family->members[i].pid)
            add_usage(usage, &rusage);
    }
}

/* Whoever has no children has no descendants: an orphan would have become a child. */
static bool has_no_children(void) {
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

static void pause_briefly(void) {
    const struct timespec pause = {.tv_nsec = PASS_PAUSE_US * 1000L};
    nanosleep(&pause, NULL);
}

int tree_kill(const pid_t *spare, size_t n_spare, uint64_t limit_ms, TreeUsage *usage) {
    const uint64_t deadline_ms = clock_mono_ms() + limit_ms;
    while (!has_no_children()) {
        CLEANUP(family_deinit) Family family = {0};
        const int r = family_find(spare, n_spare, &family);
        if (r < 0) return error_fold(r);
        if (family.n_members == 0 && n_spare > 0) return 0;
        family_kill(&family);
        family_reap(&family, usage);
        if (clock_mono_ms() >= deadline_ms) return has_no_children() ? 0 : TREE_E_LEFT;
        pause_briefly();
    }
    return 0;
}
