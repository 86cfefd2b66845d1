/* Workdir: the directory of one environment: private, with work/ inside, which is the
 * interpreter's. What lies in work/ is hostile once a job ran there: it is opened one component at
 * a time, links are never followed, and only regular files are ever opened. Never decides what a
 * file means. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Workdir Workdir;

typedef enum WorkdirKind {
    WORKDIR_MISSING,
    WORKDIR_REGULAR,
    WORKDIR_DIRECTORY,
    WORKDIR_SYMLINK,
    WORKDIR_FIFO,
    WORKDIR_SOCKET,
    WORKDIR_DEVICE,
} WorkdirKind;

typedef struct WorkdirFile {
    WorkdirKind kind;
    uint64_t size_bytes;
    unsigned long n_links;
    int fd; /* regular: open for reading, or -1 when it cannot be read; otherwise -1 */
} WorkdirFile;

/* Makes `path` (0700; nothing may be there yet) and work/ inside. The caller frees *ret_workdir and
 * removes the path. 0 or -errno; nothing is left behind on failure. */
int workdir_make(const char *path, Workdir **ret_workdir);
/* One whose work/ is there already, open at work_fd (stays the caller's) and called real_path. The
 * caller frees *ret_workdir; there is nothing to remove. 0 or -errno. */
int workdir_adopt(int work_fd, const char *real_path, Workdir **ret_workdir);
/* Lets go of it; removes nothing. Takes NULL, returns NULL. */
Workdir *workdir_free(Workdir *workdir);

/* Documented results. */
enum {
    WORKDIR_E_LATE = 1,  /* there was no time to remove all of it */
    WORKDIR_E_TAKEN = 2, /* something has the new name already */
};

/* Removes what is at `path`, a directory with all that is in it, however deep and whatever its
 * modes are. 0 (also when there is none) or -errno. */
int workdir_remove(const char *path);
/* The same, for about limit_ms at most. 0, WORKDIR_E_LATE, or -errno. */
int workdir_remove_within(const char *path, uint64_t limit_ms);
/* Gives what is at `path` the name `aside`, on the same file system: one step, however large it is.
 * 0, WORKDIR_E_TAKEN, or -errno (-ENOENT: there is none). */
int workdir_set_aside(const char *path, const char *aside);

/* The absolute path of work/ without links. Borrowed. */
const char *workdir_real_path(const Workdir *workdir);
/* Whether work/ holds nothing. 0 or -errno. */
int workdir_is_empty(const Workdir *workdir, bool *ret_empty);

/* Gives work/ back its mode, whatever a job made of it. 0 or -errno. */
int workdir_reopen(const Workdir *workdir);
/* Makes the new file `name` (one component) in work/, 0600. 0 or -errno. */
int workdir_write(const Workdir *workdir, const char *name, const void *bytes, size_t n_bytes);
/* Looks at `name` (one component) in work/; that it is missing is an answer, not an error. The
 * caller calls workdir_file_deinit. 0 or -errno. */
int workdir_open(const Workdir *workdir, const char *name, WorkdirFile *ret_file);
/* Reads on in a regular file; 0 bytes are its end. 0 or -errno. */
int workdir_read(const WorkdirFile *file, void *buffer, size_t buffer_bytes, size_t *ret_n_bytes);
void workdir_file_deinit(WorkdirFile *file);

/* A pass over everything in work/, each directory before what it holds, however deep. */
typedef struct WorkdirWalk WorkdirWalk;

typedef struct WorkdirEntry {
    const char *path;   /* relative to work/; valid until the next step */
    const char *name;   /* its last component */
    const char *target; /* of a symbolic link; otherwise NULL */
    WorkdirFile file;   /* the caller's to deinit */
} WorkdirEntry;

/* Documented results of workdir_walk_next. */
enum {
    WORKDIR_E_END = 1,
    WORKDIR_E_CUT = 2, /* the end as well: there was more than max_entries */
};

/* Borrows the workdir; the caller frees the walk. 0 or -errno. */
int workdir_walk_new(const Workdir *workdir, size_t max_entries, WorkdirWalk **ret_walk);
/* 0, WORKDIR_E_END, WORKDIR_E_CUT, or -errno. */
int workdir_walk_next(WorkdirWalk *walk, WorkdirEntry *ret_entry);
/* Takes NULL, returns NULL. */
WorkdirWalk *workdir_walk_free(WorkdirWalk *walk);

static inline void workdir_freep(Workdir **workdir) {
    workdir_free(*workdir);
}

static inline void workdir_walk_freep(WorkdirWalk **walk) {
    workdir_walk_free(*walk);
}
