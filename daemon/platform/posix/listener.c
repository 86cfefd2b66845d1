#include "platform/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

enum { LISTENER_BACKLOG = 128 };

static int make_address(const char *path, struct sockaddr_un *ret_address) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return error_origin(-ENAMETOOLONG);
    memcpy(address.sun_path, path, strlen(path) + 1);
    *ret_address = address;
    return 0;
}

static int make_directory(const char *path) {
    CLEANUP(freep) char *directory = strdup(path);
    if (!directory) return error_origin(-ENOMEM);
    for (char *slash = strchr(directory + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool made = mkdir(directory, 0755) == 0 && chmod(directory, 0755) == 0;
        const int error = errno;
        *slash = '/';
        if (!made && error != EEXIST) return error_origin(-error);
    }
    return 0;
}

/* A socket that nobody answers is a dead daemon's; anything else at the path is not ours to remove.
 */
static int clear_path(const struct sockaddr_un *address) {
    struct stat st;
    if (lstat(address->sun_path, &st) != 0) return errno == ENOENT ? 0 : error_origin(-errno);
    if (!S_ISSOCK(st.st_mode)) return LISTENER_E_NOT_OURS;
    CLEANUP(closep) int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) return error_origin(-errno);
    if (connect(probe, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EAGAIN)
        return LISTENER_E_IN_USE;
    if (errno != ECONNREFUSED) return error_origin(-errno);
    return unlink(address->sun_path) == 0 ? 0 : error_origin(-errno);
}

/* The umask closes the window between bind and chmod. */
static int bind_private(int fd, const struct sockaddr_un *address, unsigned mode) {
    const mode_t mask = umask(0177);
    const int r = bind(fd, (const struct sockaddr *)address, sizeof *address);
    const int error = errno;
    umask(mask);
    if (r != 0) return error_origin(-error);
    if (chmod(address->sun_path, mode) != 0) return error_origin(-errno);
    return listen(fd, LISTENER_BACKLOG) == 0 ? 0 : error_origin(-errno);
}

int listener_open(const char *path, unsigned mode, int *ret_fd) {
    struct sockaddr_un address;
    int r = make_address(path, &address);
    if (r == 0) r = make_directory(path);
    if (r < 0) return error_fold(r);
    r = clear_path(&address);
    if (r != 0) return r;
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return error_origin(-errno);
    r = bind_private(fd, &address, mode);
    if (r < 0) return error_fold(r);
    *ret_fd = take_fd(&fd);
    return 0;
}

/* The kernel names whoever listens at an address to those who connect to it. */
static bool is_ours(const struct sockaddr_un *address) {
    CLEANUP(closep) int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0 || connect(probe, (const struct sockaddr *)address, sizeof *address) != 0)
        return false;
    struct ucred listening;
    socklen_t size = sizeof listening;
    return getsockopt(probe, SOL_SOCKET, SO_PEERCRED, &listening, &size) == 0 &&
           listening.pid == getpid();
}

void listener_remove(const char *path) {
    struct sockaddr_un address;
    if (make_address(path, &address) == 0 && is_ours(&address)) unlink(path);
}
