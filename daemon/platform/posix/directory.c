#include "platform/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/cleanup.h"
#include "base/error.h"

static const char lock_name[] = "lock";

static int make_parents(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int r = mkdir(path, 0755);
        const int error = errno;
        *slash = '/';
        if (r != 0 && error != EEXIST) return error_origin(-error);
    }
    return 0;
}

int directory_make(const char *path, unsigned mode) {
    CLEANUP(freep) char *copy = strdup(path);
    if (!copy) return error_origin(-ENOMEM);
    const int r = make_parents(copy);
    if (r < 0) return error_fold(r);
    const bool made = mkdir(path, 0700) == 0;
    if (!made && errno != EEXIST) return error_origin(-errno);
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) return error_origin(-errno);
    /* Whatever the umask says: clients of other users must reach what is in a directory for them.
     */
    if (made && fchmod(fd, mode) != 0) return error_origin(-errno);
    if (st.st_uid != geteuid() || (st.st_mode & 022)) return DIRECTORY_E_UNSAFE;
    return 0;
}

int directory_lock(const char *path, int *ret_fd) {
    CLEANUP(closep) int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0) return error_origin(-errno);
    CLEANUP(closep)
    int fd = openat(dir, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return error_origin(-errno);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? DIRECTORY_E_LOCKED : error_origin(-errno);
    *ret_fd = take_fd(&fd);
    return 0;
}

static int read_secret(int dir, const char *name, unsigned char *ret_bytes, size_t n_bytes) {
    CLEANUP(closep) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return -errno;
    struct stat st;
    if (fstat(fd, &st) != 0) return error_origin(-errno);
    if (!S_ISREG(st.st_mode) || (size_t)st.st_size != n_bytes) return error_origin(-EBADMSG);
    const ssize_t n = read(fd, ret_bytes, n_bytes);
    if (n < 0) return error_origin(-errno);
    return (size_t)n == n_bytes ? 0 : error_origin(-EBADMSG);
}

/* Written under another name, synced and linked, so that the name never shows half a secret. */
static int write_secret(int dir, const char *name, const unsigned char *bytes, size_t n_bytes) {
    char temporary[256];
    snprintf(temporary, sizeof temporary, "%s.new", name);
    if (unlinkat(dir, temporary, 0) != 0 && errno != ENOENT) return error_origin(-errno);
    CLEANUP(closep)
    int fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return error_origin(-errno);
    const ssize_t n = write(fd, bytes, n_bytes);
    if (n < 0) return error_origin(-errno);
    if ((size_t)n != n_bytes) return error_origin(-ENOSPC);
    if (fsync(fd) != 0 || renameat(dir, temporary, dir, name) != 0 || fsync(dir) != 0)
        return error_origin(-errno);
    return 0;
}

int directory_load_secret(const char *path, const char *name, unsigned char *ret_bytes,
                          unsigned long n_bytes) {
    CLEANUP(closep) int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0) return error_origin(-errno);
    int r = read_secret(dir, name, ret_bytes, n_bytes);
    if (r != -ENOENT) return r < 0 ? error_fold(r) : 0;
    randombytes_buf(ret_bytes, n_bytes);
    r = write_secret(dir, name, ret_bytes, n_bytes);
    return r < 0 ? error_fold(r) : 0;
}
