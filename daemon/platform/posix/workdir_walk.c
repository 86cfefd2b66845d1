/* A pass over a work directory whose owner is dead. */
#include "platform/workdir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "platform/posix/workdir_posix.h"

enum { WALK_PATH_BYTES = (WORKDIR_MAX_DEPTH + 1) * (NAME_MAX + 1) };

typedef struct WalkLevel {
    DIR *directory;
    size_t path_bytes; /* of the directory's own path, with its slash */
} WalkLevel;

struct WorkdirWalk {
    WalkLevel levels[WORKDIR_MAX_DEPTH];
    unsigned n_levels;
    char path[WALK_PATH_BYTES];
    char target[PATH_MAX];
};

static int push(WorkdirWalk *walk, int directory_fd, const char *name, size_t path_bytes) {
    CLEANUP(closep) int fd = -1;
    const int r = workdir_enter(directory_fd, name, &fd);
    if (r < 0) return error_fold(r);
    DIR *directory = fdopendir(fd);
    if (!directory) return error_origin(-errno);
    fd = -1;
    walk->levels[walk->n_levels++] = (WalkLevel){directory, path_bytes};
    return 0;
}

static void pop(WorkdirWalk *walk) {
    closedir(walk->levels[--walk->n_levels].directory);
}

int workdir_walk_new(const Workdir *workdir, WorkdirWalk **ret_walk) {
    CLEANUP(workdir_walk_freep) WorkdirWalk *walk = malloc(sizeof *walk);
    if (!walk) return error_origin(-ENOMEM);
    walk->n_levels = 0;
    const int r = push(walk, workdir->work_fd, ".", 0);
    if (r < 0) return error_fold(r);
    *ret_walk = TAKE(walk);
    return 0;
}

WorkdirWalk *workdir_walk_free(WorkdirWalk *walk) {
    if (!walk) return NULL;
    while (walk->n_levels > 0) pop(walk);
    free(walk);
    return NULL;
}

/* The next name of the innermost directory, or NULL with errno 0 at its end. */
static const char *next_name(const WalkLevel *level) {
    errno = 0;
    for (const struct dirent *entry; (entry = readdir(level->directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return entry->d_name;
    return NULL;
}

static int descend(WorkdirWalk *walk, int directory_fd, size_t path_bytes, WorkdirEntry *entry) {
    entry->is_too_deep = walk->n_levels == WORKDIR_MAX_DEPTH;
    if (entry->is_too_deep) return 0;
    const char *name = walk->path + walk->levels[walk->n_levels - 1].path_bytes;
    const int r = push(walk, directory_fd, name, path_bytes + 1);
    return r < 0 ? error_fold(r) : 0;
}

static int read_target(WorkdirWalk *walk, int directory_fd, const char *name) {
    const ssize_t n = readlinkat(directory_fd, name, walk->target, sizeof walk->target - 1);
    if (n < 0) return error_origin(-errno);
    walk->target[n] = '\0';
    return 0;
}

static int make_entry(WorkdirWalk *walk, const WalkLevel *level, const char *name,
                      WorkdirEntry *ret_entry) {
    const int directory_fd = dirfd(level->directory);
    const size_t name_bytes = strlen(name);
    /* Each level adds at most NAME_MAX bytes and a slash, so that this always fits. */
    memcpy(walk->path + level->path_bytes, name, name_bytes + 1);
    WorkdirEntry entry = {.path = walk->path};
    int r = workdir_open_at(directory_fd, name, &entry.file);
    if (r < 0) return error_fold(r);
    if (entry.file.kind == WORKDIR_SYMLINK) {
        r = read_target(walk, directory_fd, name);
        entry.target = walk->target;
    } else if (entry.file.kind == WORKDIR_DIRECTORY) {
        r = descend(walk, directory_fd, level->path_bytes + name_bytes, &entry);
    }
    if (r < 0) {
        workdir_file_deinit(&entry.file);
        return error_fold(r);
    }
    *ret_entry = entry;
    return 0;
}

int workdir_walk_next(WorkdirWalk *walk, WorkdirEntry *ret_entry) {
    while (walk->n_levels > 0) {
        const WalkLevel *level = &walk->levels[walk->n_levels - 1];
        if (level->path_bytes > 0) walk->path[level->path_bytes - 1] = '/';
        const char *name = next_name(level);
        if (name) {
            const int r = make_entry(walk, level, name, ret_entry);
            return r < 0 ? error_fold(r) : 0;
        }
        if (errno != 0) return error_origin(-errno);
        pop(walk);
    }
    return WORKDIR_E_END;
}
