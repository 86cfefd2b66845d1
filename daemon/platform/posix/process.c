#include "platform/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

enum { WARDEN_CHANNEL_FD = 3 };

int process_become_reaper(void) {
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? 0 : error_origin(-errno);
}

bool process_is_privileged(void) {
    return geteuid() == 0;
}

/* Standard error stays: it is the log. Everything above the channel goes; -1: there is none. */
static int add_descriptors(posix_spawn_file_actions_t *actions, int channel) {
    int r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (r == 0) r = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
    if (r == 0 && channel >= 0)
        r = posix_spawn_file_actions_adddup2(actions, channel, WARDEN_CHANNEL_FD);
    const int first_closed = channel >= 0 ? WARDEN_CHANNEL_FD + 1 : WARDEN_CHANNEL_FD;
    if (r == 0) r = posix_spawn_file_actions_addclosefrom_np(actions, first_closed);
    return r;
}

static int add_signals(posix_spawnattr_t *attributes) {
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int r = posix_spawnattr_setsigdefault(attributes, &all);
    if (r == 0) r = posix_spawnattr_setsigmask(attributes, &none);
    if (r == 0)
        r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    return r;
}

static int spawn(const char *path, const char *const *argv, int channel, pid_t *ret_pid) {
    static char *const empty_environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0) return error_origin(-r);
    r = posix_spawnattr_init(&attributes);
    if (r != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return error_origin(-r);
    }
    r = add_descriptors(&actions, channel);
    if (r == 0) r = add_signals(&attributes);
    if (r == 0)
        r = posix_spawn(ret_pid, path, &actions, &attributes, (char *const *)argv,
                        empty_environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return r == 0 ? 0 : error_origin(-r);
}

int process_spawn_warden(const char *path, LogLevel level, LogFormat format, pid_t *ret_pid,
                         int *ret_channel) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return error_origin(-errno);
    CLEANUP(closep) int ours = ends[0];
    CLEANUP(closep) int theirs = ends[1];
    if (fcntl(ours, F_SETFL, O_NONBLOCK) != 0) return error_origin(-errno);
    /* dup2 onto itself would keep close-on-exec: move it out of the way first. */
    if (theirs == WARDEN_CHANNEL_FD) {
        const int moved = fcntl(theirs, F_DUPFD_CLOEXEC, WARDEN_CHANNEL_FD + 1);
        if (moved < 0) return error_origin(-errno);
        close(theirs);
        theirs = moved;
    }
    char channel_text[16], broker_text[16];
    snprintf(channel_text, sizeof channel_text, "%d", WARDEN_CHANNEL_FD);
    snprintf(broker_text, sizeof broker_text, "%d", (int)getpid());
    const char *const argv[] = {
        "tbwarden",
        "--channel",
        channel_text,
        "--broker",
        broker_text,
        "--log-level",
        log_level_name(level),
        "--log-format",
        log_format_name(format),
        NULL,
    };
    const int r = spawn(path, argv, theirs, ret_pid);
    if (r < 0) return error_fold(r);
    *ret_channel = take_fd(&ours);
    return 0;
}

int process_spawn_remover(const char *path, const char *directory, LogLevel level, LogFormat format,
                          pid_t *ret_pid) {
    char broker_text[16];
    snprintf(broker_text, sizeof broker_text, "%d", (int)getpid());
    const char *const argv[] = {
        "tbwarden",
        "--remove",
        directory,
        "--broker",
        broker_text,
        "--log-level",
        log_level_name(level),
        "--log-format",
        log_format_name(format),
        NULL,
    };
    const int r = spawn(path, argv, -1, ret_pid);
    return r < 0 ? error_fold(r) : 0;
}

void process_kill(pid_t pid) {
    if (pid > 0) kill(pid, SIGKILL);
}

bool process_reap(ProcessExit *ret_exit) {
    int status;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return false;
    *ret_exit = (ProcessExit){
        .pid = pid,
        .code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
        .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
    };
    return true;
}
