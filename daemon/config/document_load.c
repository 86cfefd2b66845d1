/* Document load: reads a file for the parser. Never blocks on it and never reads more than allowed.
 */
#include "config/document.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "config/units.h"

static int report_errno(ProblemList *problems, const char *what, int error) {
    problem_add(problems, 0, 0, "", "%s: %s", what, strerror(error));
    return 1;
}

static int report_too_large(ProblemList *problems, size_t max_bytes) {
    char limit[UNITS_TEXT_BYTES];
    units_format_bytes(max_bytes, limit);
    problem_add(problems, 0, 0, "", "is larger than %s", limit);
    return 1;
}

/* Links are followed: the person who names the file may well name a link to it. A pipe would block,
 * so only a regular file will do. */
static int open_regular(const char *path, ProblemList *problems, int *ret_fd) {
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return report_errno(problems, "cannot be opened", errno);
    struct stat status;
    if (fstat(fd, &status) < 0) return report_errno(problems, "cannot be examined", errno);
    if (!S_ISREG(status.st_mode)) {
        problem_add(problems, 0, 0, "", "is not a regular file");
        return 1;
    }
    *ret_fd = take_fd(&fd);
    return 0;
}

/* Asks for one byte more than allowed, to see whether there is one. */
static int read_all(int fd, size_t max_bytes, ProblemList *problems, char **ret_bytes,
                    size_t *ret_n_bytes) {
    CLEANUP(freep) char *bytes = malloc(max_bytes + 1);
    if (!bytes) return error_origin(-ENOMEM);
    size_t n_bytes = 0;
    while (n_bytes <= max_bytes) {
        const ssize_t n = read(fd, bytes + n_bytes, max_bytes + 1 - n_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return report_errno(problems, "cannot be read", errno);
        if (n == 0) break;
        n_bytes += (size_t)n;
    }
    if (n_bytes > max_bytes) return report_too_large(problems, max_bytes);
    *ret_bytes = TAKE(bytes);
    *ret_n_bytes = n_bytes;
    return 0;
}

int document_load(const char *path, size_t max_bytes, ProblemList *problems, Node **ret_root) {
    CLEANUP(closep) int fd = -1;
    int r = open_regular(path, problems, &fd);
    if (r) return r;
    CLEANUP(freep) char *bytes = NULL;
    size_t n_bytes = 0;
    r = read_all(fd, max_bytes, problems, &bytes, &n_bytes);
    if (r) return r;
    return document_parse(bytes, n_bytes, problems, ret_root);
}
