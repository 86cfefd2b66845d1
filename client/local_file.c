#include "local_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

enum { FIRST_BYTES = 16384 };
/* The largest frame that a daemon can be set to take. */
static const size_t max_file_bytes = (size_t)1 << 30;

static int cannot_read(const char *path, Trouble *trouble, const char *why) {
    return trouble_set(trouble, "cannot read %s: %s", path, why);
}

/* Links are followed: it is the user who names the file. */
static int open_file(const char *path, LocalFileKind kind, Trouble *trouble, int *ret_fd) {
    if (kind == LOCAL_FILE_ANY && strcmp(path, "-") == 0) {
        const int copy = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
        if (copy < 0) return cannot_read("standard input", trouble, strerror(errno));
        *ret_fd = copy;
        return 0;
    }
    const int no_wait = kind == LOCAL_FILE_REGULAR ? O_NONBLOCK : 0;
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | no_wait);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0) return cannot_read(path, trouble, strerror(errno));
    if (kind == LOCAL_FILE_REGULAR && !S_ISREG(status.st_mode))
        return cannot_read(path, trouble, "it is not a regular file");
    *ret_fd = take_fd(&fd);
    return 0;
}

static int reserve(uint8_t **bytes, size_t n_bytes, size_t *capacity) {
    if (n_bytes < *capacity) return 0;
    const size_t wanted = *capacity ? *capacity * 2 : FIRST_BYTES;
    uint8_t *grown = realloc(*bytes, wanted);
    if (!grown) return error_origin(-ENOMEM);
    *bytes = grown;
    *capacity = wanted;
    return 0;
}

static int read_all(int fd, const char *path, Trouble *trouble, uint8_t **bytes, size_t *n_bytes) {
    size_t capacity = 0;
    for (;;) {
        const int r = reserve(bytes, *n_bytes, &capacity);
        if (r < 0) return error_fold(r);
        const ssize_t n = read(fd, *bytes + *n_bytes, capacity - *n_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cannot_read(path, trouble, strerror(errno));
        if (n == 0) return 0;
        *n_bytes += (size_t)n;
        if (*n_bytes > max_file_bytes) return cannot_read(path, trouble, "it is larger than 1 GiB");
    }
}

int local_file_read(const char *path, LocalFileKind kind, Arena *arena, Trouble *trouble,
                    ProtobufCBinaryData *ret_content) {
    CLEANUP(closep) int fd = -1;
    int r = open_file(path, kind, trouble, &fd);
    if (r) return r;
    CLEANUP(freep) uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    r = read_all(fd, path, trouble, &bytes, &n_bytes);
    if (r) return r;
    uint8_t *content = arena_take(arena, n_bytes, 1);
    if (!content) return error_origin(-ENOMEM);
    memcpy(content, bytes, n_bytes);
    *ret_content = (ProtobufCBinaryData){.len = n_bytes, .data = content};
    return 0;
}
