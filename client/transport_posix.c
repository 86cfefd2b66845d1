/* Transport, POSIX: a Unix stream socket. */
#include "transport.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "host.h"
#include "host_posix.h"

static const char system_socket[] = "/run/tbsandboxd/tbsandboxd.sock";
static const char start_hint[] = "start it with: tbsandboxd";
static const char access_hint[] = "its listen.socket_mode does not let this user connect";

enum { BACKLOG_RETRY_MS = 20 };

struct Transport {
    int fd;
};

static int user_address(char **ret_address) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime && runtime[0] == '/')
        return text_format(ret_address, "%s/tbsandboxd/tbsandboxd.sock", runtime);
    return text_format(ret_address, "/tmp/tbsandboxd-%u/tbsandboxd.sock", (unsigned)getuid());
}

/* A user without a daemon of their own uses the system's. */
int transport_default_address(char **ret_address) {
    const char *named = getenv("TBSANDBOX_SOCKET");
    if (named && named[0]) return text_format(ret_address, "%s", named);
    if (getuid() == 0) return text_format(ret_address, "%s", system_socket);
    CLEANUP(freep) char *address = NULL;
    const int r = user_address(&address);
    if (r < 0) return error_fold(r);
    if (access(address, F_OK) != 0 && access(system_socket, F_OK) == 0)
        return text_format(ret_address, "%s", system_socket);
    *ret_address = TAKE(address);
    return 0;
}

/* A listener whose backlog is full takes us later; there is nothing to poll for meanwhile. */
static int connect_until(int fd, const struct sockaddr_un *address, uint64_t deadline_ms) {
    while (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0) {
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return error_origin(-errno);
        if (clock_mono_ms() >= deadline_ms) return TROUBLE_E_TIMEOUT;
        const int r = host_sleep_ms(BACKLOG_RETRY_MS);
        if (r) return r;
    }
    return 0;
}

/* Anybody may put a socket at a path in /tmp; code and canaries go to root or ourselves only. */
static int check_peer(int fd, const char *address, Trouble *trouble) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return error_origin(-errno);
    if (peer.uid == 0 || peer.uid == geteuid()) return 0;
    return trouble_set(trouble, "what answers at %s belongs to user %u, neither root nor you",
                       address, (unsigned)peer.uid);
}

static int open_socket(const char *address, uint64_t deadline_ms, Trouble *trouble, int *ret_fd) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (strlen(address) >= sizeof name.sun_path)
        return trouble_set(trouble, "the socket's path is longer than %zu bytes: %s",
                           sizeof name.sun_path - 1, address);
    memcpy(name.sun_path, address, strlen(address));
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return error_origin(-errno);
    int r = connect_until(fd, &name, deadline_ms);
    if (r < 0)
        return trouble_set(trouble, "cannot reach tbsandboxd at %s: %s; %s", address, strerror(-r),
                           r == -EACCES ? access_hint : start_hint);
    if (r == 0) r = check_peer(fd, address, trouble);
    if (r == 0) *ret_fd = take_fd(&fd);
    return r;
}

int transport_open(const char *address, uint64_t deadline_ms, Trouble *trouble,
                   Transport **ret_transport) {
    int r = host_catch_interrupts();
    if (r < 0) return error_fold(r);
    CLEANUP(closep) int fd = -1;
    r = open_socket(address, deadline_ms, trouble, &fd);
    if (r) return r;
    Transport *transport = malloc(sizeof *transport);
    if (!transport) return error_origin(-ENOMEM);
    transport->fd = take_fd(&fd);
    *ret_transport = transport;
    return 0;
}

Transport *transport_close(Transport *transport) {
    if (!transport) return NULL;
    close_fd(transport->fd);
    free(transport);
    return NULL;
}

static int result_of(ssize_t n, size_t *ret_n_bytes) {
    if (n > 0) {
        *ret_n_bytes = (size_t)n;
        return 0;
    }
    if (n == 0) return TRANSPORT_E_CLOSED;
    if (errno == EAGAIN || errno == EINTR) return TRANSPORT_E_WOULD_BLOCK;
    if (errno == EPIPE) return TRANSPORT_E_CLOSED;
    return error_origin(-errno);
}

int transport_read(Transport *transport, void *bytes, size_t n_bytes, size_t *ret_n_bytes) {
    return result_of(recv(transport->fd, bytes, n_bytes, 0), ret_n_bytes);
}

int transport_write(Transport *transport, const void *bytes, size_t n_bytes, size_t *ret_n_bytes) {
    return result_of(send(transport->fd, bytes, n_bytes, MSG_NOSIGNAL), ret_n_bytes);
}

int transport_wait(Transport *transport, bool or_write, uint64_t deadline_ms) {
    const short events = or_write ? POLLIN | POLLOUT : POLLIN;
    return host_posix_wait(transport->fd, events, deadline_ms);
}
