#include "platform/enclosure.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "platform/linux/enclosure_linux.h"
#include "platform/linux/identity.h"
#include "platform/linux/proc.h"

enum { US_PER_S = 1000000, BYTES_PER_KIB = 1024, NS_PATH_BYTES = 32 };

const char *enclosure_namespace_name(EnclosureNamespace kind) {
    static const char *const names[ENCLOSURE_NS_COUNT] = {"user", "mnt", "pid",   "net",
                                                          "ipc",  "uts", "cgroup"};
    return names[kind];
}

/* One that cannot be told counts as not left. */
static int remember_outside(Enclosure *enclosure) {
    for (EnclosureNamespace kind = 0; kind < ENCLOSURE_NS_COUNT; kind++) {
        char path[NS_PATH_BYTES];
        struct stat st;
        snprintf(path, sizeof path, "/proc/self/ns/%s", enclosure_namespace_name(kind));
        if (stat(path, &st) != 0) return -1;
        enclosure->outside[kind] = st.st_ino;
    }
    return 0;
}

/* The order matters: who we are decides what may be mounted, the processes' namespace must be there
 * before its proc/, and proc/ before the old root, whose own it must resemble, is gone. */
static int enter(const EnclosureSpec *spec, Enclosure *enclosure, StepFailure *ret_failure) {
    static const char host_name[] = "sandbox";
    if (remember_outside(enclosure) != 0) {
        *ret_failure = (StepFailure){"tell the namespaces of the host", errno};
        return 1;
    }
    int r = identity_enclose(spec->uid, ret_failure);
    if (r == 0 && sethostname(host_name, strlen(host_name)) != 0) {
        *ret_failure = (StepFailure){"set its host name", errno};
        r = 1;
    }
    if (r == 0 && spec->root)
        r = root_build(spec->root, spec->disk_bytes, &enclosure->root, ret_failure);
    if (r == 0) r = init_start(spec->root ? &enclosure->root : NULL, &enclosure->init, ret_failure);
    if (r == 0 && spec->root) r = root_enter(&enclosure->root, ret_failure);
    return r;
}

int enclosure_enter(const EnclosureSpec *spec, StepFailure *ret_failure,
                    Enclosure **ret_enclosure) {
    CLEANUP(enclosure_freep) Enclosure *enclosure = malloc(sizeof *enclosure);
    if (!enclosure) return error_origin(-ENOMEM);
    *enclosure = (Enclosure){.root = {-1, -1}, .init = {0, -1}};
    if (enter(spec, enclosure, ret_failure) != 0) return ENCLOSURE_E_REFUSED;
    *ret_enclosure = TAKE(enclosure);
    return 0;
}

Enclosure *enclosure_free(Enclosure *enclosure) {
    if (!enclosure) return NULL;
    enclosure_kill(enclosure);
    root_deinit(&enclosure->root);
    close_fd(enclosure->init.pidfd);
    free(enclosure);
    return NULL;
}

int enclosure_work_fd(const Enclosure *enclosure) {
    return enclosure->root.work_fd;
}

int enclosure_root_fd(const Enclosure *enclosure) {
    return enclosure->root.root_fd;
}

/* Files take whole pages. */
static uint64_t used_bytes(const struct statvfs *st) {
    return (uint64_t)(st->f_blocks - st->f_bfree) * st->f_frsize;
}

int enclosure_seal(Enclosure *enclosure, uint64_t disk_bytes) {
    struct statvfs st;
    if (enclosure->root.work_fd >= 0) {
        if (fstatvfs(enclosure->root.work_fd, &st) != 0) return error_origin(-errno);
        if (root_resize_work(&enclosure->root, used_bytes(&st) + disk_bytes) != 0)
            return error_origin(-errno);
    }
    return identity_drop(IDENTITY_MAY_LOOK_INSIDE) == 0 ? 0 : error_origin(-errno);
}

EnclosureFull enclosure_full(const Enclosure *enclosure) {
    struct statvfs st;
    if (enclosure->root.work_fd < 0 || fstatvfs(enclosure->root.work_fd, &st) != 0)
        return ENCLOSURE_HAS_ROOM;
    if (st.f_bfree == 0) return ENCLOSURE_OUT_OF_BYTES;
    return st.f_ffree == 0 ? ENCLOSURE_OUT_OF_FILES : ENCLOSURE_HAS_ROOM;
}

uint64_t enclosure_max_files(void) {
    return ROOT_WORK_FILES - 1;
}

int enclosure_count_tasks(const Enclosure *enclosure, uint64_t *ret_n_tasks) {
    CLEANUP(closep) int fd = openat(enclosure->root.root_fd, "proc", O_RDONLY | O_DIRECTORY);
    if (fd < 0) return error_origin(-errno);
    uint64_t n_tasks;
    const int r = proc_count_tasks_inside(fd, &n_tasks);
    if (r < 0) return error_fold(r);
    *ret_n_tasks = n_tasks;
    return 0;
}

void enclosure_kill(Enclosure *enclosure) {
    if (enclosure->init.pid > 0) pidfd_send_signal(enclosure->init.pidfd, SIGKILL, NULL, 0);
}

/* pid_namespaces(7): the first process is not dead before all others are, and has reaped them. */
int enclosure_reap(Enclosure *enclosure, uint64_t limit_ms, TreeUsage *usage) {
    if (enclosure->init.pid == 0) return 0;
    struct pollfd watched = {enclosure->init.pidfd, POLLIN, 0};
    int n_ready;
    do n_ready = poll(&watched, 1, (int)limit_ms);
    while (n_ready < 0 && errno == EINTR);
    if (n_ready == 0) return ENCLOSURE_E_ALIVE;
    struct rusage used;
    int status;
    if (wait4(enclosure->init.pid, &status, 0, &used) < 0) return error_origin(-errno);
    enclosure->init.pid = 0;
    if (identity_drop(IDENTITY_NOBODY) != 0) return error_origin(-errno);
    const uint64_t peak_bytes = (uint64_t)used.ru_maxrss * BYTES_PER_KIB;
    usage->cpu_us += (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * US_PER_S +
                     (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    if (peak_bytes > usage->peak_memory_bytes) usage->peak_memory_bytes = peak_bytes;
    return 0;
}
