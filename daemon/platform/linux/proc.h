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

/* 0, PROC_E_GONE, or -errno. */
int proc_stat(pid_t pid, ProcStat *ret_stat);
/* Whether the process can gain no privileges by executing a file. 0, PROC_E_GONE, or -errno. */
int proc_no_new_privileges(pid_t pid, bool *ret_set);
/* Size of the address space. 0, PROC_E_GONE, or -errno. */
int proc_address_space(pid_t pid, uint64_t *ret_bytes);
/* Number of tasks (threads count) that `user` has now. 0 or -errno. */
int proc_count_tasks(uid_t user, uint64_t *ret_n_tasks);

/* Every process that can be seen. The caller frees *ret_list. 0 or -errno. */
int proc_list(ProcStat **ret_list, size_t *ret_n_items);
