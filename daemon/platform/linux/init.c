#include "platform/linux/init.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "platform/linux/identity.h"

/* The namespace has no parent to compare with: a maker that is gone is one that hung up. */
static bool is_orphan(int maker) {
    struct pollfd watched = {maker, POLLIN, 0};
    return poll(&watched, 1, 0) != 0;
}

static int prepare(const Root *root, int maker) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || is_orphan(maker)) return -1;
    prctl(PR_SET_NAME, "tb-init", 0, 0, 0);
    if (root && root_mount_proc(root) != 0) return -1;
    return identity_drop(IDENTITY_NOBODY);
}

static _Noreturn void run(const Root *root, int maker) {
    sigset_t all, child;
    sigfillset(&all);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &all, NULL);
    const int error = prepare(root, maker) == 0 ? 0 : errno ? errno : ECHILD;
    if (write(maker, &error, sizeof error) != (ssize_t)sizeof error || error) _exit(1);
    close_range(0, ~0U, 0);
    for (;;) {
        while (waitpid(-1, NULL, WNOHANG) > 0) continue;
        sigwaitinfo(&child, NULL);
    }
}

static int wait_word(int fd) {
    int error = ECHILD;
    ssize_t n;
    do n = read(fd, &error, sizeof error);
    while (n < 0 && errno == EINTR);
    errno = n == (ssize_t)sizeof error ? error : ECHILD;
    return errno == 0 ? 0 : -1;
}

static int start(const Root *root, Init *init) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    CLEANUP(closep) int ours = ends[0];
    CLEANUP(closep) int theirs = ends[1];
    if (unshare(CLONE_NEWPID) != 0) return -1;
    init->pid = fork();
    if (init->pid < 0) return -1;
    if (init->pid == 0) {
        close(ours);
        run(root, theirs);
    }
    theirs = close_fd(theirs);
    init->pidfd = pidfd_open(init->pid, 0);
    return init->pidfd < 0 ? -1 : wait_word(ours);
}

int init_start(const Root *root, Init *ret_init, StepFailure *ret_failure) {
    Init init = {0, -1};
    if (start(root, &init) == 0) {
        *ret_init = init;
        return 0;
    }
    *ret_failure = (StepFailure){"make a namespace of processes", errno};
    close_fd(init.pidfd);
    if (init.pid > 0) {
        kill(init.pid, SIGKILL);
        waitpid(init.pid, NULL, 0);
    }
    return 1;
}
