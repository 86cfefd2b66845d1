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
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "platform/linux/filter.h"
#include "platform/linux/identity.h"
#include "platform/linux/landlock.h"
#include "platform/linux/proof.h"
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
    STEP_CAPABILITIES,
    STEP_PRIVILEGES,
    STEP_LANDLOCK,
    STEP_FILTER,
    STEP_PROOF,
    STEP_EXEC,
    STEP_COUNT,
} Step;

static const char *const step_names[STEP_COUNT] = {
    "set the death signal",
    "make a session",
    "reset signals",
    "set limits",
    "enter work/",
    "set its descriptors",
    "give up capabilities",
    "refuse privileges",
    "set up Landlock",
    "filter system calls",
    "prove that its walls hold",
    "execute the interpreter",
};

/* All that the child needs, made before the fork: after it nothing may allocate. */
typedef struct Start {
    const ChildSpec *spec;
    char **environment;
    pid_t supervisor;
    int theirs[CHILD_FD_COUNT]; /* the child's ends, all high */
    int status;                 /* the child's end of the status channel */
} Start;

/* One goes for each step that is done; the filter's listener goes with its own. */
typedef struct Status {
    int step;
    int error; /* errno; of the proof: the hole */
} Status;

static bool wants(const Start *start, ChildLayer layer) {
    return start->spec->layers[layer];
}

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
    /* In an enclosure the parent has no number, and its end is the end of all that is inside. */
    if (start->spec->enclosure) return 0;
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
    uint32_t table;
    if (set_limit(RLIMIT_CORE, 0) != 0) return -1;
    /* A work directory with a size of its own needs none for each file. */
    if (!wants(start, CHILD_LAYER_OWN_ROOT) && set_limit(RLIMIT_FSIZE, limits->disk_bytes) != 0)
        return -1;
    return set_limit(RLIMIT_NOFILE, guard_descriptor_limit(limits->open_files, &table));
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

static int do_capabilities(const Start *start) {
    return wants(start, CHILD_LAYER_NO_CAPABILITIES) ? identity_drop(IDENTITY_NOBODY) : 0;
}

static int do_privileges(const Start *start) {
    (void)start;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int do_landlock(const Start *start) {
    if (!wants(start, CHILD_LAYER_LANDLOCK)) return 0;
    CLEANUP(closep) int work_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return work_fd < 0 ? -1 : landlock_enter(work_fd);
}

static int send_listener(const Start *start, int listener) {
    Status status = {STEP_FILTER, 0};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof listener)];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof listener),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.header), &listener, sizeof listener);
    struct iovec data = {&status, sizeof status};
    const struct msghdr message = {.msg_iov = &data,
                                   .msg_iovlen = 1,
                                   .msg_control = &control,
                                   .msg_controllen = sizeof control};
    return sendmsg(start->status, &message, 0) == (ssize_t)sizeof status ? 0 : -1;
}

static int do_filter(const Start *start) {
    if (!wants(start, CHILD_LAYER_SECCOMP)) return 0;
    CLEANUP(closep) int listener = filter_load();
    return listener < 0 ? -1 : send_listener(start, listener);
}

/* errno is the hole. */
static int do_proof(const Start *start) {
    errno = proof_find_hole(start->spec->layers, start->spec->hidden);
    return errno == 0 ? 0 : -1;
}

static int do_exec(const Start *start) {
    const char *const argv[] = {
        start->spec->interpreter, "-I", "-B", "-X", "faulthandler", "-c", bootstrap_source, NULL,
    };
    execve(start->spec->interpreter, (char *const *)argv, start->environment);
    return -1;
}

static int (*const steps[STEP_COUNT])(const Start *) = {
    do_death_signal, do_session,    do_signals,  do_limits, do_directory, do_descriptors,
    do_capabilities, do_privileges, do_landlock, do_filter, do_proof,     do_exec,
};

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
        report(start, i, 0);
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

static int make_status_channel(int *ret_ours, int *ret_theirs) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return error_origin(-errno);
    *ret_ours = ends[0];
    *ret_theirs = ends[1];
    const int r = raise_fd(ret_theirs);
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

/* The descriptor that came with a message, or -1. */
static int take_listener(struct msghdr *message) {
    const struct cmsghdr *control = CMSG_FIRSTHDR(message);
    int fd = -1;
    if (control && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
        control->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(control), sizeof fd);
    return fd;
}

/* Documented results of read_status, beside CHILD_E_NOT_STARTED. */
enum { STATUS_E_END = 2 };

/* One of the child's own reports; no interpreter runs yet. */
static int read_status(int fd, Child *child, StepFailure *ret_failure) {
    char control[CMSG_SPACE(sizeof(int))];
    Status status;
    struct iovec data = {&status, sizeof status};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t n;
    do n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0) return error_origin(-errno);
    if (n != (ssize_t)sizeof status) return STATUS_E_END;
    const int listener = take_listener(&message);
    if (listener >= 0) child->guard.listener = listener;
    if (status.step == STEP_DEATH_SIGNAL) child->has_death_signal = true;
    if (status.step == STEP_PROOF && status.error == 0) child->is_proven = true;
    if (status.error == 0) return 0;
    *ret_failure = status.step == STEP_PROOF ? (StepFailure){proof_hole_name(status.error), 0}
                                             : (StepFailure){step_names[status.step], status.error};
    return CHILD_E_NOT_STARTED;
}

/* Follows the child, and answers what its filter reports, until the interpreter runs or it is dead.
 */
static int follow(int fd, Child *child, StepFailure *ret_failure) {
    int r = 0;
    while (r == 0) {
        struct pollfd watched[] = {{fd, POLLIN, 0}, {child->guard.listener, POLLIN, 0}};
        ChildBreach unused;
        if (poll(watched, 2, -1) < 0 && errno != EINTR) return error_origin(-errno);
        if (watched[1].revents & POLLIN) r = guard_answer(&child->guard, &unused);
        if (r == 0 && watched[0].revents) r = read_status(fd, child, ret_failure);
    }
    if (r < 0) return error_fold(r);
    if (r == STATUS_E_END && child->is_proven) return 0;
    if (r == STATUS_E_END) *ret_failure = (StepFailure){"get as far as the proof", ECHILD};
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

static int start_child(Child *child, Start *start, StepFailure *ret_failure) {
    CLEANUP(closep) int status_fd = -1;
    int r = make_stop_fd(&child->stop_fd);
    if (r == 0) r = make_pipes(child, start);
    if (r == 0) r = make_environment(start->spec->environment, &start->environment);
    if (r == 0) r = make_status_channel(&status_fd, &start->status);
    if (r == 0) r = fork_child(child, start);
    if (r < 0) return error_fold(r);
    for (int i = 0; i < CHILD_FD_COUNT; i++) start->theirs[i] = close_fd(start->theirs[i]);
    start->status = close_fd(start->status);
    return follow(status_fd, child, ret_failure);
}

int child_spawn(const ChildSpec *spec, StepFailure *ret_failure, Child **ret_child) {
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
        .proc_fd = spec->proc_fd,
        .enclosure = spec->enclosure,
        .cgroup = spec->cgroup,
        .guard = {.listener = -1,
                  .proc_fd = spec->proc_fd,
                  .enclosure = spec->enclosure,
                  .cgroup = spec->cgroup},
    };
    memcpy(child->layers, spec->layers, sizeof child->layers);
    if (fstat(spec->workdir->work_fd, &child->work) != 0) return error_origin(-errno);
    const int r = start_child(child, &start, ret_failure);
    if (r < 0) return error_fold(r);
    if (r == 0) *ret_child = TAKE(child);
    return r;
}
