/* Cgroup: control groups, one for each environment, below the group that was delegated to the
 * daemon: limits for a job as a whole, and the kernel's own word that one was reached. The broker
 * makes and removes them, the warden enters one. Never touches a group that was not delegated. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Documented result. */
enum { CGROUP_E_UNAVAILABLE = 1 };

/* --- For the broker ------------------------------------------------------------------------ */

typedef struct CgroupTree CgroupTree;

/* Takes over the group that the calling process is in, if it was delegated: moves the process to a
 * group of its own below, removes what an earlier daemon left. 0, CGROUP_E_UNAVAILABLE
 * (*ret_reason, the caller's, says why), or -errno. */
int cgroup_tree_open(CgroupTree **ret_tree, char **ret_reason);
/* Removes nothing. Takes NULL, returns NULL. */
CgroupTree *cgroup_tree_close(CgroupTree *tree);
/* Makes the group `name`; *ret_path is the caller's. 0 or -errno. */
int cgroup_tree_add(const CgroupTree *tree, const char *name, char **ret_path);
/* Kills whatever is in the group `name` and removes it. 0 (also when there is none) or -errno. */
int cgroup_tree_remove(const CgroupTree *tree, const char *name);

/* --- For the warden ------------------------------------------------------------------------ */

typedef struct Cgroup Cgroup;

/* Enters the group at `path` with everything that is started from now on, and keeps its files open.
 * 0 or -errno. */
int cgroup_enter(const char *path, Cgroup **ret_cgroup);
/* Takes NULL, returns NULL. */
Cgroup *cgroup_free(Cgroup *cgroup);
bool cgroup_holds(const Cgroup *cgroup, pid_t pid);
/* Bounds what comes on top of what is in use now: memory, files in memory included, and tasks
 * beside the caller and `n_own` more that are not the job's. 0 or -errno. */
int cgroup_limit(Cgroup *cgroup, uint64_t memory_bytes, uint32_t processes, uint32_t n_own);

/* What the kernel did to the group. */
typedef struct CgroupEvents {
    uint64_t memory_kills;
    uint64_t refused_tasks;
} CgroupEvents;

CgroupEvents cgroup_events(const Cgroup *cgroup);
/* True when all processes together have more memory than `limit_bytes` beyond what was in use when
 * limits were set; files in memory do not count. */
bool cgroup_is_over(const Cgroup *cgroup, uint64_t limit_bytes);
