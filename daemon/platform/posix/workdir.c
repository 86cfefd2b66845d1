#include "platform/workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "platform/posix/workdir_posix.h"

enum { PRIVATE_DIRECTORY = 0700, PRIVATE_FILE = 0600 };

static int make_work(const char *path, Workdir *workdir) {
    CLEANUP(freep) char *work = NULL;
    int r = text_format(&work, "%s/work", path);
    if (r < 0) return error_fold(r);
    if (mkdir(work, PRIVATE_DIRECTORY) != 0) return error_origin(-errno);
    workdir->work_fd = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (workdir->work_fd < 0) return error_origin(-errno);
    workdir->real_path = realpath(work, NULL);
    return workdir->real_path ? 0 : error_origin(-errno);
}

int workdir_make(const char *path, Workdir **ret_workdir) {
    CLEANUP(workdir_freep) Workdir *workdir = malloc(sizeof *workdir);
    if (!workdir) return error_origin(-ENOMEM);
    *workdir = (Workdir){.work_fd = -1};
    if (mkdir(path, PRIVATE_DIRECTORY) != 0) return error_origin(-errno);
    const int r = make_work(path, workdir);
    if (r < 0) {
        (void)workdir_remove(path);
        return error_fold(r);
    }
    *ret_workdir = TAKE(workdir);
    return 0;
}

int workdir_adopt(int work_fd, const char *real_path, Workdir **ret_workdir) {
    CLEANUP(workdir_freep) Workdir *workdir = malloc(sizeof *workdir);
    if (!workdir) return error_origin(-ENOMEM);
    *workdir = (Workdir){strdup(real_path), fcntl(work_fd, F_DUPFD_CLOEXEC, 0)};
    if (!workdir->real_path) return error_origin(-ENOMEM);
    if (workdir->work_fd < 0) return error_origin(-errno);
    *ret_workdir = TAKE(workdir);
    return 0;
}

Workdir *workdir_free(Workdir *workdir) {
    if (!workdir) return NULL;
    close_fd(workdir->work_fd);
    free(workdir->real_path);
    free(workdir);
    return NULL;
}

const char *workdir_real_path(const Workdir *workdir) {
    return workdir->real_path;
}

static void closedirp(DIR **directory) {
    if (*directory) closedir(*directory);
}

int workdir_reopen(const Workdir *workdir) {
    return fchmod(workdir->work_fd, S_IRWXU) == 0 ? 0 : error_origin(-errno);
}

int workdir_is_empty(const Workdir *workdir, bool *ret_empty) {
    CLEANUP(closep) int fd = -1;
    int r = workdir_enter(workdir->work_fd, ".", &fd);
    if (r < 0) return error_fold(r);
    CLEANUP(closedirp) DIR *directory = fdopendir(fd);
    if (!directory) return error_origin(-errno);
    fd = -1;
    bool is_empty = true;
    errno = 0;
    for (const struct dirent *entry; is_empty && (entry = readdir(directory));)
        is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (is_empty && errno != 0) return error_origin(-errno);
    *ret_empty = is_empty;
    return 0;
}

int workdir_write(const Workdir *workdir, const char *name, const void *bytes, size_t n_bytes) {
    CLEANUP(closep)
    int fd = openat(workdir->work_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    PRIVATE_FILE);
    if (fd < 0) return error_origin(-errno);
    for (size_t done = 0; done < n_bytes;) {
        const ssize_t n = write(fd, (const char *)bytes + done, n_bytes - done);
        if (n < 0 && errno != EINTR) return error_origin(-errno);
        if (n > 0) done += (size_t)n;
    }
    return 0;
}

static WorkdirKind kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFREG:
        return WORKDIR_REGULAR;
    case S_IFDIR:
        return WORKDIR_DIRECTORY;
    case S_IFLNK:
        return WORKDIR_SYMLINK;
    case S_IFIFO:
        return WORKDIR_FIFO;
    case S_IFSOCK:
        return WORKDIR_SOCKET;
    default:
        return WORKDIR_DEVICE;
    }
}

/* The C library can change the mode of what is no link only where there is a /proc. Nothing lives
 * that could put a link there in between. */
static int change_mode(int directory_fd, const char *name, mode_t mode) {
    struct stat st;
    if (fstatat(directory_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || S_ISLNK(st.st_mode))
        return -1;
    return fchmodat(directory_fd, name, mode, 0);
}

/* The owner may always read what it owns, once it says so. */
static int open_or_permit(int directory_fd, const char *name, int flags, mode_t mode) {
    flags |= O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const int fd = openat(directory_fd, name, flags);
    if (fd >= 0 || errno != EACCES) return fd;
    if (change_mode(directory_fd, name, mode) != 0) return -1;
    return openat(directory_fd, name, flags);
}

int workdir_enter(int directory_fd, const char *name, int *ret_fd) {
    const int fd = open_or_permit(directory_fd, name, O_DIRECTORY, PRIVATE_DIRECTORY);
    if (fd < 0) return error_origin(-errno);
    *ret_fd = fd;
    return 0;
}

int workdir_open_at(int directory_fd, const char *name, WorkdirFile *ret_file) {
    struct stat st;
    if (fstatat(directory_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT) return error_origin(-errno);
        *ret_file = (WorkdirFile){.kind = WORKDIR_MISSING, .fd = -1};
        return 0;
    }
    CLEANUP(closep) int fd = -1;
    if (S_ISREG(st.st_mode)) {
        fd = open_or_permit(directory_fd, name, 0, PRIVATE_FILE);
        if (fd < 0 && errno != EACCES && errno != EPERM) return error_origin(-errno);
        if (fd >= 0 && fstat(fd, &st) != 0) return error_origin(-errno);
        if (!S_ISREG(st.st_mode)) fd = close_fd(fd);
    }
    *ret_file = (WorkdirFile){
        .kind = kind_of(st.st_mode),
        .size_bytes = (uint64_t)st.st_size,
        .n_links = (unsigned long)st.st_nlink,
        .fd = take_fd(&fd),
    };
    return 0;
}

int workdir_open(const Workdir *workdir, const char *name, WorkdirFile *ret_file) {
    const int r = workdir_open_at(workdir->work_fd, name, ret_file);
    return r < 0 ? error_fold(r) : 0;
}

int workdir_read(const WorkdirFile *file, void *buffer, size_t buffer_bytes, size_t *ret_n_bytes) {
    for (;;) {
        const ssize_t n = read(file->fd, buffer, buffer_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return error_origin(-errno);
        *ret_n_bytes = (size_t)n;
        return 0;
    }
}

void workdir_file_deinit(WorkdirFile *file) {
    file->fd = close_fd(file->fd);
}
