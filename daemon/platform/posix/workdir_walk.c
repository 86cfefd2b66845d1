/* A pass over a work directory whose owner is dead. Every name is noted with its parent, and a
 * directory is reached from the top again when its turn comes: depth costs no descriptors. */
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

enum { TOP = -1 };

typedef struct WalkNode {
    long parent; /* index of its directory, or TOP */
    char *name;
} WalkNode;

struct WorkdirWalk {
    int work_fd; /* borrowed */
    size_t max_entries;
    bool is_cut;
    WalkNode *nodes;
    size_t n_nodes;
    size_t next;
    int directory_fd; /* of the directory last reached, for its many entries */
    long directory;
    char *path;
    char target[PATH_MAX];
};

WorkdirWalk *workdir_walk_free(WorkdirWalk *walk) {
    if (!walk) return NULL;
    for (size_t i = 0; i < walk->n_nodes; i++) free(walk->nodes[i].name);
    free(walk->nodes);
    close_fd(walk->directory_fd);
    free(walk->path);
    free(walk);
    return NULL;
}

static void closedirp(DIR **directory) {
    if (*directory) closedir(*directory);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(((const WalkNode *)a)->name, ((const WalkNode *)b)->name);
}

static int append(WorkdirWalk *walk, long parent, const char *name) {
    if (walk->n_nodes == walk->max_entries) {
        walk->is_cut = true;
        return 0;
    }
    char *copy = strdup(name);
    if (!copy) return error_origin(-ENOMEM);
    walk->nodes[walk->n_nodes++] = (WalkNode){parent, copy};
    return 0;
}

/* Notes what a directory holds, in the order of names. */
static int expand(WorkdirWalk *walk, int parent_fd, const char *name, long index) {
    CLEANUP(closep) int fd = -1;
    int r = workdir_enter(parent_fd, name, &fd);
    if (r < 0) return error_fold(r);
    CLEANUP(closedirp) DIR *directory = fdopendir(fd);
    if (!directory) return error_origin(-errno);
    fd = -1;
    const size_t first = walk->n_nodes;
    errno = 0;
    for (const struct dirent *entry; !walk->is_cut && (entry = readdir(directory)); errno = 0) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        r = append(walk, index, entry->d_name);
        if (r < 0) return error_fold(r);
    }
    if (errno != 0) return error_origin(-errno);
    qsort(walk->nodes + first, walk->n_nodes - first, sizeof *walk->nodes, compare_names);
    return 0;
}

int workdir_walk_new(const Workdir *workdir, size_t max_entries, WorkdirWalk **ret_walk) {
    CLEANUP(workdir_walk_freep) WorkdirWalk *walk = calloc(1, sizeof *walk);
    if (!walk) return error_origin(-ENOMEM);
    walk->work_fd = workdir->work_fd;
    walk->max_entries = max_entries;
    walk->directory_fd = -1;
    walk->nodes = calloc(max_entries + 1, sizeof *walk->nodes);
    if (!walk->nodes) return error_origin(-ENOMEM);
    const int r = expand(walk, workdir->work_fd, ".", TOP);
    if (r < 0) return error_fold(r);
    *ret_walk = TAKE(walk);
    return 0;
}

/* Fills *line with the nodes from the top down to `index`; the caller frees it. */
static int trace(const WorkdirWalk *walk, long index, long **ret_line, size_t *ret_n_items) {
    size_t n_items = 0;
    for (long i = index; i != TOP; i = walk->nodes[i].parent) n_items++;
    long *line = malloc((n_items + 1) * sizeof *line);
    if (!line) return error_origin(-ENOMEM);
    size_t at = n_items;
    for (long i = index; i != TOP; i = walk->nodes[i].parent) line[--at] = i;
    *ret_line = line;
    *ret_n_items = n_items;
    return 0;
}

/* Opens the directory of a node, one component at a time. */
static int reach(WorkdirWalk *walk, long index) {
    CLEANUP(freep) long *line = NULL;
    CLEANUP(closep) int fd = -1;
    size_t n_items = 0;
    if (walk->directory_fd >= 0 && walk->directory == index) return 0;
    int r = trace(walk, index, &line, &n_items);
    if (r == 0) r = workdir_enter(walk->work_fd, ".", &fd);
    for (size_t i = 0; r == 0 && i < n_items; i++) {
        CLEANUP(closep) const int parent_fd = take_fd(&fd);
        r = workdir_enter(parent_fd, walk->nodes[line[i]].name, &fd);
    }
    if (r < 0) return error_fold(r);
    close_fd(walk->directory_fd);
    walk->directory_fd = take_fd(&fd);
    walk->directory = index;
    return 0;
}

/* Its path, in one piece. */
static int make_path(WorkdirWalk *walk, long index) {
    CLEANUP(freep) long *line = NULL;
    size_t n_items = 0, n_bytes = 0;
    const int r = trace(walk, index, &line, &n_items);
    if (r < 0) return error_fold(r);
    for (size_t i = 0; i < n_items; i++) n_bytes += strlen(walk->nodes[line[i]].name) + 1;
    char *path = malloc(n_bytes + 1);
    if (!path) return error_origin(-ENOMEM);
    char *end = path;
    for (size_t i = 0; i < n_items; i++) {
        if (i > 0) *end++ = '/';
        end = stpcpy(end, walk->nodes[line[i]].name);
    }
    free(walk->path);
    walk->path = path;
    return 0;
}

static int read_target(WorkdirWalk *walk, const char *name) {
    const ssize_t n = readlinkat(walk->directory_fd, name, walk->target, sizeof walk->target - 1);
    if (n < 0) return error_origin(-errno);
    walk->target[n] = '\0';
    return 0;
}

int workdir_walk_next(WorkdirWalk *walk, WorkdirEntry *ret_entry) {
    if (walk->next == walk->n_nodes) return walk->is_cut ? WORKDIR_E_CUT : WORKDIR_E_END;
    const long index = (long)walk->next++;
    const char *name = walk->nodes[index].name;
    CLEANUP(workdir_file_deinit) WorkdirFile file = {.fd = -1};
    int r = reach(walk, walk->nodes[index].parent);
    if (r == 0) r = make_path(walk, index);
    if (r == 0) r = workdir_open_at(walk->directory_fd, name, &file);
    if (r == 0 && file.kind == WORKDIR_DIRECTORY) r = expand(walk, walk->directory_fd, name, index);
    if (r == 0 && file.kind == WORKDIR_SYMLINK) r = read_target(walk, name);
    if (r < 0) return error_fold(r);
    *ret_entry = (WorkdirEntry){
        .path = walk->path,
        .name = name,
        .target = file.kind == WORKDIR_SYMLINK ? walk->target : NULL,
        .file = file,
    };
    file.fd = -1;
    return 0;
}
