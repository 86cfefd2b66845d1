#include "platform/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "scratch.h"
#include "suite.h"

enum { DEADLINE_MS = 45000, REPORT_BYTES = 4096 };

extern char **environ;

/* ---- what a warden is given ---- */

static int report_descriptors(char *report, size_t n_bytes) {
    int n = 0;
    for (int fd = 0; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) >= 0) n += snprintf(report + n, n_bytes - (size_t)n, " %d", fd);
    return n;
}

static int report_signals(char *report, size_t n_bytes) {
    sigset_t blocked;
    struct sigaction pipe_action;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    sigaction(SIGPIPE, NULL, &pipe_action);
    return snprintf(report, n_bytes, "; usr1 %s, pipe %s",
                    sigismember(&blocked, SIGUSR1) ? "blocked" : "open",
                    pipe_action.sa_handler == SIG_DFL ? "default" : "ignored");
}

/* Started in a warden's place: says what it was given, to the channel or into the directory it is
 * to remove, then exits 5, at the channel's end. */
static int be_warden(int argc, char **argv) {
    char report[REPORT_BYTES];
    int n = snprintf(report, sizeof report, "%s", argv[0]);
    for (int i = 1; i < argc; i++)
        n += snprintf(report + n, sizeof report - (size_t)n, " %s", argv[i]);
    n += snprintf(report + n, sizeof report - (size_t)n, "; environment %s; descriptors",
                  environ && environ[0] ? environ[0] : "empty");
    n += report_descriptors(report + n, sizeof report - (size_t)n);
    n += report_signals(report + n, sizeof report - (size_t)n);
    if (strcmp(argv[1], "--remove") == 0) {
        if (chdir(argv[2]) != 0) return 1;
        const int fd = open("report", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        return write(fd, report, (size_t)n) == n ? 5 : 1;
    }
    const int channel = atoi(argv[2]);
    if (write(channel, report, (size_t)n) != n) return 1;
    char rest;
    while (read(channel, &rest, 1) > 0) continue;
    _exit(5);
}

/* ---- the broker's side ---- */

static pid_t spawn(int *ret_channel) {
    pid_t pid = 0;
    ck_assert_int_eq(
        process_spawn_warden("/proc/self/exe", LOG_LEVEL_DEBUG, LOG_FORMAT_JSON, &pid, ret_channel),
        0);
    ck_assert_int_gt(pid, 0);
    return pid;
}

static void receive(int channel, char ret_report[REPORT_BYTES]) {
    struct pollfd wanted = {.fd = channel, .events = POLLIN};
    ck_assert_int_eq(poll(&wanted, 1, DEADLINE_MS), 1);
    const ssize_t n = read(channel, ret_report, REPORT_BYTES - 1);
    ck_assert_int_gt(n, 0);
    ret_report[n] = '\0';
}

static ProcessExit await_exit(void) {
    ProcessExit exit;
    const uint64_t until_ms = clock_mono_ms() + DEADLINE_MS;
    while (!process_reap(&exit)) {
        ck_assert_uint_lt(clock_mono_ms(), until_ms);
        usleep(1000);
    }
    return exit;
}

START_TEST(a_warden_gets_its_channel_and_nothing_else) {
    /* What must not come along: descriptors, the environment, ignored and blocked signals. */
    ck_assert_int_ge(open("/dev/null", O_RDONLY), 0);
    ck_assert_int_eq(dup2(0, 40), 40);
    setenv("SECRET", "1", 1);
    signal(SIGPIPE, SIG_IGN);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    int channel = -1;
    spawn(&channel);
    char report[REPORT_BYTES], expected[REPORT_BYTES];
    receive(channel, report);
    snprintf(expected, sizeof expected,
             "tbwarden --channel 3 --broker %d --log-level debug --log-format json; "
             "environment empty; descriptors 0 1 2 3; usr1 open, pipe default",
             (int)getpid());
    ck_assert_str_eq(report, expected);
    close(channel);
    await_exit();
}
END_TEST

START_TEST(a_remover_gets_a_directory_and_nothing_else) {
    Scratch scratch;
    scratch_init(&scratch);
    ck_assert_int_ge(open("/dev/null", O_RDONLY), 0);
    ck_assert_int_eq(dup2(0, 3), 3);
    pid_t pid = 0;
    ck_assert_int_eq(process_spawn_remover("/proc/self/exe", scratch.path, LOG_LEVEL_ERROR,
                                           LOG_FORMAT_JSON, &pid),
                     0);
    const ProcessExit exit = await_exit();
    ck_assert_int_eq(exit.pid, pid);
    ck_assert_int_eq(exit.code, 5);
    char report[REPORT_BYTES] = "", expected[REPORT_BYTES];
    const int fd = open(in_scratch(&scratch, "report"), O_RDONLY | O_CLOEXEC);
    ck_assert_int_gt(read(fd, report, sizeof report - 1), 0);
    close(fd);
    snprintf(expected, sizeof expected,
             "tbwarden --remove %s --broker %d --log-level error --log-format json; "
             "environment empty; descriptors 0 1 2; usr1 open, pipe default",
             scratch.path, (int)getpid());
    ck_assert_str_eq(report, expected);
    ck_assert_int_eq(
        process_spawn_remover("/nonexistent", scratch.path, LOG_LEVEL_ERROR, LOG_FORMAT_JSON, &pid),
        -ENOENT);
    scratch_deinit(&scratch);
}
END_TEST

START_TEST(the_channel_may_be_the_very_descriptor_it_becomes) {
    /* With 0 and 3 free the warden's end is 3 itself. What was there comes back before any check.
     */
    const int kept = fcntl(3, F_DUPFD_CLOEXEC, 20);
    close(3);
    close(0);
    int channel = -1;
    pid_t pid = 0;
    const int r = process_spawn_warden("/proc/self/exe", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, &pid,
                                       &channel);
    const int moved = fcntl(channel, F_DUPFD_CLOEXEC, 21);
    close(channel);
    if (kept >= 0) dup2(kept, 3);
    ck_assert_int_eq(r, 0);
    ck_assert_int_eq(channel, 0);
    char report[REPORT_BYTES];
    receive(moved, report);
    ck_assert_ptr_nonnull(strstr(report, "descriptors 0 1 2 3;"));
    close(moved);
    ck_assert_int_eq(await_exit().pid, pid);
}
END_TEST

START_TEST(our_end_does_not_block_and_is_not_inherited) {
    int channel = -1;
    spawn(&channel);
    ck_assert(fcntl(channel, F_GETFL) & O_NONBLOCK);
    ck_assert(fcntl(channel, F_GETFD) & FD_CLOEXEC);
    close(channel);
    await_exit();
}
END_TEST

START_TEST(an_exit_is_told) {
    ProcessExit none;
    ck_assert(!process_reap(&none));
    int channel = -1;
    const pid_t pid = spawn(&channel);
    char report[REPORT_BYTES];
    receive(channel, report);
    ck_assert(!process_reap(&none)); /* it lives */
    close(channel);
    const ProcessExit exit = await_exit();
    ck_assert_int_eq(exit.pid, pid);
    ck_assert_int_eq(exit.code, 5);
    ck_assert_int_eq(exit.signal, 0);
    ck_assert(!process_reap(&none));
}
END_TEST

START_TEST(a_kill_is_told) {
    int channel = -1;
    const pid_t pid = spawn(&channel);
    process_kill(0); /* nobody: neither a group nor ourselves */
    process_kill(pid);
    const ProcessExit exit = await_exit();
    ck_assert_int_eq(exit.pid, pid);
    ck_assert_int_eq(exit.signal, SIGKILL);
    close(channel);
}
END_TEST

START_TEST(a_program_that_cannot_start_is_an_error) {
    int channel = -7;
    pid_t pid = -7;
    ck_assert_int_eq(
        process_spawn_warden("/nonexistent", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, &pid, &channel),
        -ENOENT);
    ck_assert_int_eq(channel, -7);
    ck_assert_int_eq(
        process_spawn_warden("/dev/null", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, &pid, &channel),
        -EACCES);
    ck_assert_int_eq(channel, -7);
}
END_TEST

START_TEST(orphans_come_to_the_reaper) {
    ck_assert_int_eq(process_become_reaper(), 0);
    const pid_t parent = fork();
    ck_assert_int_ge(parent, 0);
    if (parent == 0) {
        if (fork() == 0) _exit(9);
        _exit(0);
    }
    const ProcessExit first = await_exit(), second = await_exit();
    const ProcessExit orphan = first.pid == parent ? second : first;
    ck_assert_int_ne(orphan.pid, parent);
    ck_assert_int_eq(orphan.code, 9);
}
END_TEST

SUITE_MAIN_OR(be_warden, "process", a_warden_gets_its_channel_and_nothing_else,
              a_remover_gets_a_directory_and_nothing_else,
              the_channel_may_be_the_very_descriptor_it_becomes,
              our_end_does_not_block_and_is_not_inherited, an_exit_is_told, a_kill_is_told,
              a_program_that_cannot_start_is_an_error, orphans_come_to_the_reaper)
