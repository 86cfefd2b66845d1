#include "platform/linux/guard.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/error.h"
#include "platform/linux/filter.h"
#include "platform/linux/proc.h"

/* What the kernel's own sizes may grow to: they are not larger than ours, which is checked. */
typedef struct seccomp_notif Report;
typedef struct seccomp_notif_resp Answer;

/* What the kernel gives every process to begin with, or more. */
enum { SMALLEST_TABLE = 256 };

uint32_t guard_descriptor_limit(uint32_t limit, uint32_t *ret_table) {
    uint32_t table = SMALLEST_TABLE;
    while (table < limit) table *= 2;
    *ret_table = table;
    return table + 1;
}

/* The child may be dead by now: that is no error of ours. */
static int answer(const Guard *guard, const Report *report, int error) {
    Answer reply = {.id = report->id, .error = -error};
    if (error == 0) reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (ioctl(guard->listener, SECCOMP_IOCTL_NOTIF_SEND, &reply) == 0 || errno == ENOENT) return 0;
    return error_origin(-errno);
}

static int breach(ChildBreachKind kind, uint64_t amount, const char *call,
                  ChildBreach *ret_breach) {
    ChildBreach made = {.kind = kind, .amount = amount};
    if (call) snprintf(made.call, sizeof made.call, "%s", call);
    *ret_breach = made;
    return GUARD_E_BREACH;
}

/* One that must not happen at all. */
static int on_forbidden(const Guard *guard, const Report *report, ChildBreach *ret_breach) {
    if (guard->mode == GUARD_PREPARING) return answer(guard, report, EPERM);
    char name[sizeof ret_breach->call];
    filter_call_name(report->data.nr, name, sizeof name);
    return breach(CHILD_BREACH_CALL, 0, name, ret_breach);
}

static int on_foreign(const Guard *guard, const Report *report, ChildBreach *ret_breach) {
    if (guard->mode == GUARD_PREPARING) return answer(guard, report, EPERM);
    return breach(CHILD_BREACH_CALL, 0, "of another architecture", ret_breach);
}

static int on_memory(const Guard *guard, const Report *report, ChildBreach *ret_breach) {
    const bool is_mremap = report->data.nr == SYS_mremap;
    const uint64_t old_bytes = is_mremap ? report->data.args[1] : 0;
    const uint64_t new_bytes = report->data.args[is_mremap ? 2 : 1];
    const uint64_t more_bytes = new_bytes > old_bytes ? new_bytes - old_bytes : 0;
    uint64_t have_bytes;
    /* What cannot be used is no use of memory: each thread's allocator reserves much of it, and
     * makes do with less where the kernel's own limit refuses. */
    const bool is_reserved = !is_mremap && report->data.args[2] == PROT_NONE &&
                             !(report->data.args[3] & MAP_STACK);
    if (guard->mode == GUARD_PREPARING || is_reserved) return answer(guard, report, 0);
    const int r = proc_address_space(guard->proc_fd, (pid_t)report->pid, &have_bytes);
    if (r == PROC_E_GONE) return 0;
    if (r < 0) return error_fold(r);
    if (guard->cgroup && cgroup_is_over(guard->cgroup, guard->max_memory_bytes))
        return breach(CHILD_BREACH_MEMORY, 0, NULL, ret_breach);
    if (more_bytes <= guard->max_address_bytes &&
        have_bytes <= guard->max_address_bytes - more_bytes)
        return answer(guard, report, 0);
    return breach(CHILD_BREACH_MEMORY, more_bytes, NULL, ret_breach);
}

static int on_task(const Guard *guard, const Report *report, ChildBreach *ret_breach) {
    /* New namespaces, and a child of the warden's, which nobody inside could ever reap. */
    enum {
        NEVER = CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID |
                CLONE_NEWUSER | CLONE_NEWUTS | CLONE_PARENT
    };
    if (report->data.nr == SYS_clone && (report->data.args[0] & NEVER))
        return on_forbidden(guard, report, ret_breach);
    if (guard->mode == GUARD_PREPARING || !guard->enclosure) return answer(guard, report, 0);
    uint64_t n_tasks;
    const int r = enclosure_count_tasks(guard->enclosure, &n_tasks);
    if (r < 0) return error_fold(r);
    if (n_tasks < guard->max_tasks) return answer(guard, report, 0);
    return breach(CHILD_BREACH_PROCESSES, guard->max_tasks, NULL, ret_breach);
}

/* The table of descriptors and the address space tell what was the most of each. Requests that were
 * too small to be reported failed close below the limit. */
static int on_exit(const Guard *guard, const Report *report, ChildBreach *ret_breach) {
    ProcPeaks peaks;
    if (guard->mode == GUARD_PREPARING) return answer(guard, report, 0);
    const int r = proc_peaks(guard->proc_fd, (pid_t)report->pid, &peaks);
    if (r == PROC_E_GONE) return 0;
    if (r < 0) return error_fold(r);
    if (peaks.table_size > guard->max_descriptors)
        return breach(CHILD_BREACH_OPEN_FILES, guard->max_descriptors, NULL, ret_breach);
    if (peaks.address_bytes + FILTER_REPORTED_BYTES > guard->max_address_bytes)
        return breach(CHILD_BREACH_MEMORY, 0, NULL, ret_breach);
    return answer(guard, report, 0);
}

static int on_execute(Guard *guard, const Report *report, ChildBreach *ret_breach) {
    if (guard->has_executed) return on_forbidden(guard, report, ret_breach);
    guard->has_executed = true;
    return answer(guard, report, 0);
}

static int judge(Guard *guard, const Report *report, ChildBreach *ret_breach) {
    if (filter_is_foreign(report->data.arch, report->data.nr))
        return on_foreign(guard, report, ret_breach);
    switch (report->data.nr) {
    case SYS_mmap:
    case SYS_mremap:
        return on_memory(guard, report, ret_breach);
#ifdef SYS_fork /* newer architectures have clone alone */
    case SYS_fork:
    case SYS_vfork:
#endif
    case SYS_clone:
        return on_task(guard, report, ret_breach);
    case SYS_exit_group:
        return on_exit(guard, report, ret_breach);
    case SYS_execve:
    case SYS_execveat:
        return on_execute(guard, report, ret_breach);
    default:
        return on_forbidden(guard, report, ret_breach);
    }
}

int guard_answer(Guard *guard, ChildBreach *ret_breach) {
    struct pollfd watched = {guard->listener, POLLIN, 0};
    if (guard->listener < 0 || poll(&watched, 1, 0) <= 0 || !(watched.revents & POLLIN)) return 0;
    Report report;
    memset(&report, 0, sizeof report); /* seccomp_unotify(2) wants zeroes */
    if (ioctl(guard->listener, SECCOMP_IOCTL_NOTIF_RECV, &report) != 0)
        return errno == ENOENT || errno == EINTR ? 0 : error_origin(-errno);
    const int r = judge(guard, &report, ret_breach);
    return r < 0 ? error_fold(r) : r;
}
