/* Tree: every process that descends from the calling one, however it hid: in sessions of its own,
 * orphaned, stopped. The caller inherits orphans (process_become_reaper). Never signals a process
 * that it has not just seen to be a descendant. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Documented result of tree_kill. */
enum { TREE_E_LEFT = 1 };

/* What the processes that were reaped had used. */
typedef struct TreeUsage {
    unsigned n_reaped;
    uint64_t cpu_us;
    uint64_t peak_memory_bytes; /* the largest of them */
} TreeUsage;

/* Kills all descendants and reaps those that are or become children of the caller, within limit_ms.
 * The children in `spare`, and what descends from them, are left alone and not reaped. Adds to
 * *usage, which may be NULL. 0, TREE_E_LEFT when some do not die, or -errno. */
int tree_kill(const pid_t *spare, size_t n_spare, uint64_t limit_ms, TreeUsage *usage);
