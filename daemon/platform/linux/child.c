#include "platform/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "platform/linux/child_linux.h"

enum { US_PER_S = 1000000, BYTES_PER_KIB = 1024, FREE_LIMIT_MS = 5000 };

/* What is waited for, in the order in which it is handed out. */
enum {
    WATCH_STOP,
    WATCH_CHANNEL,
    WATCH_EXIT,
    WATCH_GUARD,
    WATCH_MARKER,
    WATCH_STDOUT,
    WATCH_STDERR,
    WATCH_JOB,
    WATCH_COUNT,
};

int child_feed(Child *child, const void *bytes, size_t n_bytes) {
    const size_t left_bytes = child->pending_bytes - child->pending_done;
    uint8_t *pending = malloc(left_bytes + n_bytes + 1);
    if (!pending) return error_origin(-ENOMEM);
    if (left_bytes) memcpy(pending, child->pending + child->pending_done, left_bytes);
    if (n_bytes) memcpy(pending + left_bytes, bytes, n_bytes);
    free(child->pending);
    child->pending = pending;
    child->pending_bytes = left_bytes + n_bytes;
    child->pending_done = 0;
    return 0;
}

/* A child that reads no more is seen by what it does next, not by this. */
static void write_pending(Child *child) {
    const ssize_t n = write(child->pipes[CHILD_FD_JOB], child->pending + child->pending_done,
                            child->pending_bytes - child->pending_done);
    if (n > 0) child->pending_done += (size_t)n;
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        child->pipes[CHILD_FD_JOB] = close_fd(child->pipes[CHILD_FD_JOB]);
}

static void watch(const Child *child, struct pollfd watched[WATCH_COUNT]) {
    const bool is_pending = child->pending_done < child->pending_bytes;
    watched[WATCH_STOP] = (struct pollfd){child->stop_fd, POLLIN, 0};
    watched[WATCH_CHANNEL] = (struct pollfd){child->channel, POLLIN, 0};
    watched[WATCH_EXIT] = (struct pollfd){child->pid ? child->pidfd : -1, POLLIN, 0};
    watched[WATCH_GUARD] = (struct pollfd){child->guard.listener, POLLIN, 0};
    watched[WATCH_MARKER] = (struct pollfd){child->pipes[CHILD_FD_MARKER], POLLIN, 0};
    watched[WATCH_STDOUT] = (struct pollfd){child->pipes[CHILD_FD_STDOUT], POLLIN, 0};
    watched[WATCH_STDERR] = (struct pollfd){child->pipes[CHILD_FD_STDERR], POLLIN, 0};
    watched[WATCH_JOB] = (struct pollfd){is_pending ? child->pipes[CHILD_FD_JOB] : -1, POLLOUT, 0};
}

/* True when *ret_event holds bytes; at its end the pipe is closed and never asked again. */
static bool read_pipe(Child *child, int number, ChildEventKind kind, ChildEvent *ret_event) {
    if (child->pipes[number] < 0) return false;
    const ssize_t n = read(child->pipes[number], child->buffer, sizeof child->buffer);
    if (n > 0) {
        *ret_event = (ChildEvent){.kind = kind, .bytes = child->buffer, .n_bytes = (size_t)n};
        return true;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        child->pipes[number] = close_fd(child->pipes[number]);
    return false;
}

/* Markers first: they are short, and what they say concerns what follows. */
static bool read_ready(Child *child, const struct pollfd watched[WATCH_COUNT],
                       ChildEvent *ret_event) {
    if (watched[WATCH_MARKER].revents && read_pipe(child, CHILD_FD_MARKER, CHILD_MARKER, ret_event))
        return true;
    for (unsigned i = 0; i < 2; i++) {
        const bool is_stdout = (child->n_events + i) % 2 == 0;
        const int number = is_stdout ? CHILD_FD_STDOUT : CHILD_FD_STDERR;
        const ChildEventKind kind = is_stdout ? CHILD_STDOUT : CHILD_STDERR;
        if (!watched[is_stdout ? WATCH_STDOUT : WATCH_STDERR].revents) continue;
        if (!read_pipe(child, number, kind, ret_event)) continue;
        child->n_events += i + 1;
        return true;
    }
    return false;
}

/* Answers one report of the filter, if there is one. Nobody left to report is no event. */
static int take_report(Child *child, short revents, ChildEvent *ret_event) {
    if (!(revents & POLLIN)) {
        if (revents) child->guard.listener = close_fd(child->guard.listener);
        return 0;
    }
    ChildBreach breach;
    const int r = guard_answer(&child->guard, &breach);
    if (r == GUARD_E_BREACH) *ret_event = (ChildEvent){.kind = CHILD_BREACH, .breach = breach};
    return r < 0 ? error_fold(r) : r;
}

/* 1 when *ret_event is one, 0, or -errno. */
static int take_event(Child *child, const struct pollfd watched[WATCH_COUNT],
                      ChildEvent *ret_event) {
    static const ChildEventKind kinds[] = {CHILD_STOP, CHILD_CHANNEL, CHILD_EXITED};
    for (int i = WATCH_STOP; i <= WATCH_EXIT; i++) {
        if (!watched[i].revents) continue;
        *ret_event = (ChildEvent){.kind = kinds[i]};
        return 1;
    }
    /* What was said before a call comes before it; one turn, so that a flood hides nothing. */
    if (watched[WATCH_GUARD].revents && !child->has_heard) {
        child->has_heard = true;
        if (read_pipe(child, CHILD_FD_MARKER, CHILD_MARKER, ret_event)) return 1;
    }
    child->has_heard = false;
    const int r = take_report(child, watched[WATCH_GUARD].revents, ret_event);
    if (r < 0) return error_fold(r);
    if (r > 0) return 1;
    if (watched[WATCH_JOB].revents) write_pending(child);
    return read_ready(child, watched, ret_event) ? 1 : 0;
}

/* Nothing once the deadline has come. */
static struct timespec until(uint64_t deadline_ns, uint64_t now_ns) {
    const uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    return (struct timespec){(time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S)};
}

int child_next(Child *child, uint64_t deadline_ns, ChildEvent *ret_event) {
    for (;;) {
        const uint64_t now_ns = clock_mono_ns();
        struct pollfd watched[WATCH_COUNT];
        watch(child, watched);
        const bool is_late = now_ns >= deadline_ns;
        const struct timespec wait = until(deadline_ns, now_ns);
        const int n_ready = ppoll(watched, WATCH_COUNT, &wait, NULL);
        if (n_ready < 0 && errno != EINTR) return error_origin(-errno);
        /* A death in time is no missed deadline. */
        const bool is_settled = n_ready > 0 &&
                                (watched[WATCH_STOP].revents || watched[WATCH_CHANNEL].revents ||
                                 watched[WATCH_EXIT].revents);
        if (is_late && !is_settled) {
            *ret_event = (ChildEvent){.kind = CHILD_DEADLINE};
            return 0;
        }
        const int r = n_ready > 0 ? take_event(child, watched, ret_event) : 0;
        if (r < 0) return error_fold(r);
        if (r > 0) return 0;
    }
}

int child_next_rest(Child *child, ChildEvent *ret_event) {
    if (read_pipe(child, CHILD_FD_MARKER, CHILD_MARKER, ret_event)) return 0;
    if (read_pipe(child, CHILD_FD_STDOUT, CHILD_STDOUT, ret_event)) return 0;
    if (read_pipe(child, CHILD_FD_STDERR, CHILD_STDERR, ret_event)) return 0;
    return CHILD_E_DRAINED;
}

void child_kill(Child *child) {
    if (child->pid > 0) pidfd_send_signal(child->pidfd, SIGKILL, NULL, 0);
}

static bool wait_for_death(const Child *child, uint64_t limit_ms) {
    const uint64_t deadline_ns = clock_mono_ns() + limit_ms * NS_PER_MS;
    for (;;) {
        const uint64_t now_ns = clock_mono_ns();
        const struct timespec wait = now_ns < deadline_ns ? until(deadline_ns, now_ns)
                                                          : (struct timespec){0};
        struct pollfd watched = {child->pidfd, POLLIN, 0};
        const int n_ready = ppoll(&watched, 1, &wait, NULL);
        if (n_ready > 0) return true;
        if (n_ready == 0 && now_ns >= deadline_ns) return false;
    }
}

static uint64_t to_us(struct timeval time) {
    return (uint64_t)time.tv_sec * US_PER_S + (uint64_t)time.tv_usec;
}

int child_reap(Child *child, uint64_t limit_ms, ChildExit *ret_exit) {
    if (child->pid == 0) {
        *ret_exit = child->exit;
        return 0;
    }
    if (!wait_for_death(child, limit_ms)) return CHILD_E_ALIVE;
    int status;
    struct rusage usage;
    if (wait4(child->pid, &status, 0, &usage) != child->pid) return error_origin(-errno);
    child->pid = 0;
    child->exit = (ChildExit){
        .code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
        .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        .cpu_us = to_us(usage.ru_utime) + to_us(usage.ru_stime),
        .peak_memory_bytes = (uint64_t)usage.ru_maxrss * BYTES_PER_KIB,
    };
    *ret_exit = child->exit;
    return 0;
}

/* A process that cannot die is left to whoever inherits it: waiting for it would hold us for ever.
 */
Child *child_free(Child *child) {
    if (!child) return NULL;
    if (child->pid > 0 && child->pidfd >= 0) {
        ChildExit unused;
        child_kill(child);
        (void)child_reap(child, FREE_LIMIT_MS, &unused);
    }
    for (int i = 0; i < CHILD_FD_COUNT; i++) close_fd(child->pipes[i]);
    close_fd(child->pidfd);
    close_fd(child->stop_fd);
    close_fd(child->guard.listener);
    free(child->pending);
    free(child);
    return NULL;
}
