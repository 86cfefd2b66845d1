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

#include "base/cleanup.h"
#include "base/error.h"
#include "platform/posix/workdir_posix.h"

enum { PRIVATE_DIRECTORY = 0700 };

typedef struct Remover {
    int top_fd;
    unsigned long n_moved; /* names what is moved */
} Remover;

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
        if (r < 0) return error_fold(r);
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
        is_clean = false;
        const int r = remove_one(remover, entry->d_name);
        if (r < 0) return error_fold(r);
    }
    if (errno != 0) return error_origin(-errno);
    *ret_clean = is_clean;
    return 0;
}

int workdir_remove(const char *path) {
    CLEANUP(closep) int fd = -1;
    int r = workdir_enter(AT_FDCWD, path, &fd);
    if (r == -ENOENT) return 0;
    if (r < 0) return error_fold(r);
    if (fchmod(fd, PRIVATE_DIRECTORY) != 0) return error_origin(-errno);
    Remover remover = {.top_fd = fd};
    for (bool is_clean = false; !is_clean;) {
        r = remove_pass(&remover, &is_clean);
        if (r < 0) return error_fold(r);
    }
    return rmdir(path) == 0 || errno == ENOENT ? 0 : error_origin(-errno);
}
