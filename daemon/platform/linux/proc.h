/* Proc: what /proc tells of one process. Linux only, not a contract. Never follows a name that the
 * process chose. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Documented result: there is no such process. */
enum { PROC_E_GONE = 1 };

typedef struct ProcStat {
    pid_t pid;
    pid_t parent;
    pid_t session;
    unsigned long n_threads;
    uint64_t start_ticks; /* with the pid it names one process for ever */
} ProcStat;

/* Where to look: a descriptor of some /proc, or the caller's own. */
enum { PROC_HERE = -1 };

/* 0, PROC_E_GONE, or -errno. */
int proc_stat(int proc_fd, pid_t pid, ProcStat *ret_stat);
/* What the kernel says of its rights. */
typedef struct ProcRights {
    bool no_new_privileges;
    bool has_no_capability; /* in no set */
    bool is_filtered;       /* by seccomp */
    long user;              /* real, effective, saved and for files; -1: they differ */
    long group;
} ProcRights;

/* 0, PROC_E_GONE, or -errno. */
int proc_rights(int proc_fd, pid_t pid, ProcRights *ret_rights);
/* Size of the address space. 0, PROC_E_GONE, or -errno. */
int proc_address_space(int proc_fd, pid_t pid, uint64_t *ret_bytes);

/* The most that a process ever had. */
typedef struct ProcPeaks {
    uint64_t address_bytes;
    uint64_t table_size; /* descriptors for which there is room in its table */
} ProcPeaks;

/* 0, PROC_E_GONE, or -errno. */
int proc_peaks(int proc_fd, pid_t pid, ProcPeaks *ret_peaks);
/* Number of tasks of all processes that can be seen there but the first one's, which may or may not
 * be seen. 0 or -errno. */
int proc_count_tasks_inside(int proc_fd, uint64_t *ret_n_tasks);
/* For how long some task of the host waited for a processor, since it started; 0: not known. */
uint64_t proc_cpu_pressure_us(int proc_fd);
/* Number of tasks (threads count) that `user` has now. 0 or -errno. */
int proc_count_tasks(uid_t user, uint64_t *ret_n_tasks);

/* Every process that can be seen here. The caller frees *ret_list. 0 or -errno. */
int proc_list(ProcStat **ret_list, size_t *ret_n_items);
