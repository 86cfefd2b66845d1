/* Starting a child: what is prepared before the fork, and the few steps after it, each of which is
 * reported over a pipe that closes when the interpreter runs. */
#include "platform/linux/child_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "platform/posix/bootstrap.h"
#include "platform/posix/workdir_posix.h"

enum {
    CHILD_FD_HIGH = 16, /* everything is made at or above, out of the way of 0 to 4 */
    CHILD_UMASK = 077,
};

/* What the child does before the interpreter runs, in order. */
typedef enum Step {
    STEP_DEATH_SIGNAL,
    STEP_SESSION,
    STEP_SIGNALS,
    STEP_LIMITS,
    STEP_DIRECTORY,
    STEP_DESCRIPTORS,
    STEP_PRIVILEGES,
    STEP_EXEC,
    STEP_COUNT,
} Step;

static const char *const step_names[STEP_COUNT] = {
    "set the death signal", "make a session",      "reset signals",     "set limits",
    "enter work/",          "set its descriptors", "refuse privileges", "execute the interpreter",
};

/* All that the child needs, made before the fork: after it nothing may allocate. */
typedef struct Start {
    const ChildSpec *spec;
    char **environment;
    pid_t supervisor;
    int theirs[CHILD_FD_COUNT]; /* the child's ends, all high */
    int status;                 /* write end of the status pipe */
} Start;

typedef struct Status {
    int step;
    int error;
} Status;

/* A lower limit that we were given ourselves stays. */
static int set_limit(int resource, uint64_t value) {
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0) return -1;
    if (limit.rlim_max > value) limit.rlim_max = value;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit((__rlimit_resource_t)resource, &limit);
}

static int do_death_signal(const Start *start) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return -1;
    errno = ESRCH;
    return getppid() == start->supervisor ? 0 : -1;
}

static int do_session(const Start *start) {
    (void)start;
    return setsid() < 0 ? -1 : 0;
}

static int do_signals(const Start *start) {
    (void)start;
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, &by_default, NULL) != 0 && errno != EINVAL) return -1;
    sigset_t none;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL);
}

static int do_limits(const Start *start) {
    const Limits *limits = start->spec->limits;
    if (set_limit(RLIMIT_CORE, 0) != 0) return -1;
    if (set_limit(RLIMIT_FSIZE, limits->disk_bytes) != 0) return -1;
    return set_limit(RLIMIT_NOFILE, limits->open_files);
}

static int do_directory(const Start *start) {
    umask(CHILD_UMASK);
    return fchdir(start->spec->workdir->work_fd);
}

static int do_descriptors(const Start *start) {
    for (int i = 0; i < CHILD_FD_COUNT; i++)
        if (dup2(start->theirs[i], i) < 0) return -1;
    return close_range(CHILD_FD_COUNT, ~0U, CLOSE_RANGE_CLOEXEC);
}

static int do_privileges(const Start *start) {
    (void)start;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int do_exec(const Start *start) {
    const char *const argv[] = {
        start->spec->interpreter, "-I", "-B", "-X", "faulthandler", "-c", bootstrap_source, NULL,
    };
    execve(start->spec->interpreter, (char *const *)argv, start->environment);
    return -1;
}

static int (*const steps[STEP_COUNT])(const Start *) = {
    do_death_signal, do_session,     do_signals,    do_limits,
    do_directory,    do_descriptors, do_privileges, do_exec,
};

/* Reports the first step's success, since /proc does not show it, and any failure. */
static void report(const Start *start, int step, int error) {
    const Status status = {step, error};
    while (write(start->status, &status, sizeof status) < 0 && errno == EINTR) continue;
}

static _Noreturn void run_child(const Start *start) {
    for (int i = 0; i < STEP_COUNT; i++) {
        if (steps[i](start) != 0) {
            report(start, i, errno);
            break;
        }
        if (i == STEP_DEATH_SIGNAL) report(start, i, 0);
    }
    _exit(127);
}

/* --- Before the fork ----------------------------------------------------------------------- */

static int raise_fd(int *fd) {
    if (*fd >= CHILD_FD_HIGH) return 0;
    const int high = fcntl(*fd, F_DUPFD_CLOEXEC, CHILD_FD_HIGH);
    if (high < 0) return error_origin(-errno);
    close(*fd);
    *fd = high;
    return 0;
}

/* ours is the end that we keep: 0 to read from it, 1 to write to it. */
static int make_pipe(int ours, int *ret_ours, int *ret_theirs) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return error_origin(-errno);
    *ret_ours = ends[ours];
    *ret_theirs = ends[!ours];
    int r = raise_fd(ret_ours);
    if (r == 0) r = raise_fd(ret_theirs);
    if (r == 0 && fcntl(*ret_ours, F_SETFL, O_NONBLOCK) != 0) r = error_origin(-errno);
    return r < 0 ? error_fold(r) : 0;
}

static int make_pipes(Child *child, Start *start) {
    start->theirs[CHILD_FD_STDIN] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (start->theirs[CHILD_FD_STDIN] < 0) return error_origin(-errno);
    int r = raise_fd(&start->theirs[CHILD_FD_STDIN]);
    for (int i = CHILD_FD_STDOUT; r == 0 && i < CHILD_FD_COUNT; i++) {
        struct stat st;
        r = make_pipe(i == CHILD_FD_JOB, &child->pipes[i], &start->theirs[i]);
        if (r == 0 && fstat(child->pipes[i], &st) != 0) r = error_origin(-errno);
        if (r == 0) child->inodes[i] = st.st_ino;
    }
    return r < 0 ? error_fold(r) : 0;
}

static void start_deinit(Start *start) {
    for (int i = 0; i < CHILD_FD_COUNT; i++) close_fd(start->theirs[i]);
    close_fd(start->status);
    for (char **variable = start->environment; variable && *variable; variable++) free(*variable);
    free(start->environment);
}

static int make_environment(const ChildEnv *environment, char ***ret_variables) {
    char **variables = calloc(environment->n_items + 1, sizeof *variables);
    if (!variables) return error_origin(-ENOMEM);
    *ret_variables = variables;
    for (size_t i = 0; i < environment->n_items; i++) {
        const EnvVariable *item = &environment->items[i];
        const int r = text_format(&variables[i], "%s=%s", item->name, item->value);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

/* SIGTERM is an event like the others from here on. */
static int make_stop_fd(int *ret_fd) {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &stop, NULL) != 0) return error_origin(-errno);
    const int fd = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) return error_origin(-errno);
    *ret_fd = fd;
    return raise_fd(ret_fd);
}

/* --- After the fork, on our side ----------------------------------------------------------- */

/* Reads the child's reports until the interpreter runs or the child is dead. */
static int read_status(int fd, Child *child, ChildFailure *ret_failure) {
    Status status;
    for (;;) {
        const ssize_t n = read(fd, &status, sizeof status);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return error_origin(-errno);
        if (n != (ssize_t)sizeof status) break;
        if (status.error == 0) {
            child->has_death_signal = true;
            continue;
        }
        *ret_failure = (ChildFailure){step_names[status.step], status.error};
        return CHILD_E_NOT_STARTED;
    }
    if (child->has_death_signal) return 0;
    *ret_failure = (ChildFailure){step_names[STEP_DEATH_SIGNAL], ECHILD};
    return CHILD_E_NOT_STARTED;
}

static int fork_child(Child *child, Start *start) {
    start->supervisor = getpid();
    const pid_t pid = fork();
    if (pid < 0) return error_origin(-errno);
    if (pid == 0) run_child(start);
    child->pid = pid;
    child->pidfd = pidfd_open(pid, 0);
    if (child->pidfd >= 0) return 0;
    const int error = errno;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    child->pid = 0;
    return error_origin(-error);
}

static int start_child(Child *child, Start *start, ChildFailure *ret_failure) {
    CLEANUP(closep) int status_fd = -1;
    int r = make_stop_fd(&child->stop_fd);
    if (r == 0) r = make_pipes(child, start);
    if (r == 0) r = make_environment(start->spec->environment, &start->environment);
    if (r == 0) r = make_pipe(0, &status_fd, &start->status);
    if (r == 0 && fcntl(status_fd, F_SETFL, 0) != 0) r = error_origin(-errno);
    if (r == 0) r = fork_child(child, start);
    if (r < 0) return error_fold(r);
    for (int i = 0; i < CHILD_FD_COUNT; i++) start->theirs[i] = close_fd(start->theirs[i]);
    start->status = close_fd(start->status);
    return read_status(status_fd, child, ret_failure);
}

int child_spawn(const ChildSpec *spec, ChildFailure *ret_failure, Child **ret_child) {
    CLEANUP(start_deinit)
    Start start = {.spec = spec, .theirs = {-1, -1, -1, -1, -1}, .status = -1};
    CLEANUP(child_freep) Child *child = malloc(sizeof *child);
    if (!child) return error_origin(-ENOMEM);
    *child = (Child){
        .pidfd = -1,
        .channel = spec->channel,
        .stop_fd = -1,
        .pipes = {-1, -1, -1, -1, -1},
        .limits = *spec->limits,
    };
    if (fstat(spec->workdir->work_fd, &child->work) != 0) return error_origin(-errno);
    const int r = start_child(child, &start, ret_failure);
    if (r < 0) return error_fold(r);
    if (r == 0) *ret_child = TAKE(child);
    return r;
}
