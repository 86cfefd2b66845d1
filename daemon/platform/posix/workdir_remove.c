/* Removal of a tree that hostile code built: it may be a hundred thousand directories deep. Each
 * directory found is moved up to the top and emptied there, so that depth costs neither descriptors
 * nor stack, and no path is ever followed. */
#include "platform/workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "platform/posix/workdir_posix.h"

enum { PRIVATE_DIRECTORY = 0700 };

typedef struct Remover {
    int top_fd;
    unsigned long n_moved; /* names what is moved */
    uint64_t deadline_ms;  /* monotonic */
} Remover;

static bool is_late(const Remover *remover) {
    return clock_mono_ms() >= remover->deadline_ms;
}

static void closedirp(DIR **directory) {
    if (*directory) closedir(*directory);
}

/* A name in the way is passed over; one that is an empty directory is replaced, which removes it.
 */
static int move_to_top(Remover *remover, int directory_fd, const char *name) {
    /* Moving a directory rewrites its "..": that needs the right to write to it. */
    if (fchmodat(directory_fd, name, PRIVATE_DIRECTORY, AT_SYMLINK_NOFOLLOW) != 0)
        return error_origin(-errno);
    for (;;) {
        char target[32];
        snprintf(target, sizeof target, "removed-%lu", remover->n_moved++);
        if (renameat(directory_fd, name, remover->top_fd, target) == 0) return 0;
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) return error_origin(-errno);
    }
}

static bool is_dots(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Empties one directory: files go, directories move to the top. */
static int empty_directory(Remover *remover, const char *name) {
    CLEANUP(closep) int fd = -1;
    int r = workdir_enter(remover->top_fd, name, &fd);
    if (r < 0) return error_fold(r);
    if (fchmod(fd, PRIVATE_DIRECTORY) != 0) return error_origin(-errno);
    CLEANUP(closedirp) DIR *directory = fdopendir(fd);
    if (!directory) return error_origin(-errno);
    const int directory_fd = take_fd(&fd);
    errno = 0;
    for (const struct dirent *entry; (entry = readdir(directory)); errno = 0) {
        if (is_late(remover)) return WORKDIR_E_LATE;
        if (is_dots(entry->d_name) || unlinkat(directory_fd, entry->d_name, 0) == 0) continue;
        if (errno != EISDIR && errno != EPERM) return error_origin(-errno);
        r = move_to_top(remover, directory_fd, entry->d_name);
        if (r < 0) return error_fold(r);
    }
    return errno == 0 ? 0 : error_origin(-errno);
}

static int remove_one(Remover *remover, const char *name) {
    if (unlinkat(remover->top_fd, name, 0) == 0 || errno == ENOENT) return 0;
    if (errno != EISDIR && errno != EPERM) return error_origin(-errno);
    /* What comes into a directory while it is read may be missed: the next pass finds it. */
    while (unlinkat(remover->top_fd, name, AT_REMOVEDIR) != 0) {
        if (errno != ENOTEMPTY && errno != EEXIST) return error_origin(-errno);
        const int r = empty_directory(remover, name);
        if (r != 0) return r < 0 ? error_fold(r) : r;
    }
    return 0;
}

/* One pass over the top; *ret_clean when it found nothing to remove. */
static int remove_pass(Remover *remover, bool *ret_clean) {
    CLEANUP(closep) int fd = openat(remover->top_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return error_origin(-errno);
    CLEANUP(closedirp) DIR *directory = fdopendir(fd);
    if (!directory) return error_origin(-errno);
    fd = -1;
    bool is_clean = true;
    errno = 0;
    for (const struct dirent *entry; (entry = readdir(directory)); errno = 0) {
        if (is_dots(entry->d_name)) continue;
        if (is_late(remover)) return WORKDIR_E_LATE;
        is_clean = false;
        const int r = remove_one(remover, entry->d_name);
        if (r != 0) return r < 0 ? error_fold(r) : r;
    }
    if (errno != 0) return error_origin(-errno);
    *ret_clean = is_clean;
    return 0;
}

static int remove_tree(const char *path, uint64_t deadline_ms) {
    CLEANUP(closep) int fd = -1;
    int r = workdir_enter(AT_FDCWD, path, &fd);
    if (r == -ENOENT) return 0;
    /* Whoever may rename directories may put anything in their place. */
    if (r == -ENOTDIR || r == -ELOOP) return unlink(path) == 0 ? 0 : error_origin(-errno);
    if (r < 0) return error_fold(r);
    if (fchmod(fd, PRIVATE_DIRECTORY) != 0) return error_origin(-errno);
    Remover remover = {.top_fd = fd, .deadline_ms = deadline_ms};
    for (bool is_clean = false; !is_clean;) {
        r = remove_pass(&remover, &is_clean);
        if (r != 0) return r < 0 ? error_fold(r) : r;
    }
    return rmdir(path) == 0 || errno == ENOENT ? 0 : error_origin(-errno);
}

int workdir_remove(const char *path) {
    const int r = remove_tree(path, UINT64_MAX);
    return r < 0 ? error_fold(r) : 0;
}

int workdir_remove_within(const char *path, uint64_t limit_ms) {
    const int r = remove_tree(path, clock_mono_ms() + limit_ms);
    return r < 0 ? error_fold(r) : r;
}

int workdir_set_aside(const char *path, const char *aside) {
    /* Moving a directory to another one rewrites its "..": that needs the right to write to it.
     * What is no directory needs nothing, and the renaming tells the rest. */
    if (fchmodat(AT_FDCWD, path, PRIVATE_DIRECTORY, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return error_origin(-ENOENT);
    if (rename(path, aside) == 0) return 0;
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR || errno == EISDIR)
        return WORKDIR_E_TAKEN;
    return error_origin(-errno);
}
