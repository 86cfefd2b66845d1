#include "platform/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "platform/process.h"
#include "suite.h"

enum { LIMIT_MS = 10000 };

/* Forks; the child says its pid on the pipe when it is where it should be, and stays. */
static pid_t fork_reporting(int report) {
    const pid_t pid = fork();
    if (pid == 0) {
        const pid_t self = getpid();
        if (write(report, &self, sizeof self) != (ssize_t)sizeof self) _exit(1);
    }
    return pid;
}

static pid_t read_pid(int report) {
    pid_t pid = 0;
    ck_assert_int_eq(read(report, &pid, sizeof pid), (ssize_t)sizeof pid);
    return pid;
}

static _Noreturn void stay(void) {
    for (;;) pause();
}

static void open_report(int ends[2]) {
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(process_become_reaper(), 0);
}

static bool is_gone(pid_t pid) {
    return kill(pid, 0) != 0 && errno == ESRCH;
}

START_TEST(no_child_costs_no_time) {
    const uint64_t started_ms = clock_mono_ms();
    TreeUsage usage = {0};
    ck_assert_int_eq(tree_kill(NULL, 0, LIMIT_MS, &usage), 0);
    ck_assert_uint_lt(clock_mono_ms() - started_ms, 1000);
    ck_assert_uint_eq(usage.n_reaped, 0);
}
END_TEST

/* A daemon of the classic kind: two forks and a session; stopped as well. */
START_TEST(those_that_hide_are_found) {
    int ends[2];
    TreeUsage usage = {0};
    open_report(ends);
    if (fork_reporting(ends[1]) == 0) {
        setsid();
        if (fork_reporting(ends[1]) != 0) _exit(0);
        signal(SIGTERM, SIG_IGN);
        setsid();
        if (fork_reporting(ends[1]) != 0) raise(SIGSTOP);
        stay();
    }
    const pid_t pids[] = {read_pid(ends[0]), read_pid(ends[0]), read_pid(ends[0])};
    ck_assert_int_eq(tree_kill(NULL, 0, LIMIT_MS, &usage), 0);
    for (int i = 0; i < 3; i++) ck_assert(is_gone(pids[i]));
    ck_assert_uint_eq(usage.n_reaped, 3);
    ck_assert_uint_gt(usage.peak_memory_bytes, 4096);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

/* Each of them forks on as fast as it can, within a bound of time. */
START_TEST(those_that_fork_are_outrun) {
    int ends[2];
    open_report(ends);
    if (fork_reporting(ends[1]) == 0)
        for (int i = 0; i < 2000; i++)
            if (fork() == 0) _exit(fork() == 0 ? 0 : 1);
    read_pid(ends[0]);
    ck_assert_int_eq(tree_kill(NULL, 0, LIMIT_MS, NULL), 0);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

START_TEST(the_spared_are_left_alone) {
    int ends[2], status;
    open_report(ends);
    const pid_t spared = fork_reporting(ends[1]);
    if (spared == 0) {
        fork_reporting(ends[1]);
        stay();
    }
    const pid_t first = read_pid(ends[0]), second = read_pid(ends[0]);
    const pid_t kin = first == spared ? second : first;
    const pid_t other = fork_reporting(ends[1]);
    if (other == 0) stay();
    read_pid(ends[0]);
    ck_assert_int_eq(tree_kill(&spared, 1, LIMIT_MS, NULL), 0);
    ck_assert(is_gone(other));
    ck_assert_int_eq(waitpid(spared, &status, WNOHANG), 0);
    ck_assert_int_eq(kill(kin, 0), 0);
    ck_assert_int_eq(tree_kill(NULL, 0, LIMIT_MS, NULL), 0);
    ck_assert(is_gone(kin));
}
END_TEST

START_TEST(usage_is_added_up) {
    int ends[2];
    TreeUsage usage = {.n_reaped = 1, .cpu_us = 5};
    open_report(ends);
    if (fork_reporting(ends[1]) == 0)
        for (volatile unsigned i = 0;; i++) continue;
    read_pid(ends[0]);
    usleep(100000);
    ck_assert_int_eq(tree_kill(NULL, 0, LIMIT_MS, &usage), 0);
    ck_assert_uint_eq(usage.n_reaped, 2);
    ck_assert_uint_gt(usage.cpu_us, 5000);
}
END_TEST

SUITE_MAIN("tree", no_child_costs_no_time, those_that_hide_are_found, those_that_fork_are_outrun,
           the_spared_are_left_alone, usage_is_added_up)
