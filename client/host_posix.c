#include "host.h"
#include "host_posix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "trouble.h"

/* The signal flag: readable once we were asked to end, so that no wait can miss it. */
static int interrupt_pipe[2] = {-1, -1};

/* Opened the wrong way round, so that using a stream that was closed fails and is noticed. */
int host_init(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        const int opened = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        if (opened != fd) return error_origin(opened < 0 ? -errno : -EBADF);
    }
    return 0;
}

static void on_interrupt(int signal_number) {
    (void)signal_number;
    const int saved_errno = errno;
    /* It fits: each signal gets here once, then its default is back. */
    (void)!write(interrupt_pipe[1], "", 1);
    errno = saved_errno;
}

/* One that is ignored on entry, as under nohup, stays ignored. */
static int catch (int signal_number) {
    struct sigaction action;
    if (sigaction(signal_number, NULL, &action) < 0) return error_origin(-errno);
    if (action.sa_handler == SIG_IGN) return 0;
    action = (struct sigaction){.sa_handler = on_interrupt, .sa_flags = SA_RESTART | SA_RESETHAND};
    return sigaction(signal_number, &action, NULL) < 0 ? error_origin(-errno) : 0;
}

int host_catch_interrupts(void) {
    if (interrupt_pipe[0] >= 0) return 0;
    if (pipe2(interrupt_pipe, O_CLOEXEC | O_NONBLOCK) < 0) return error_origin(-errno);
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        const int r = catch (signals[i]);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int timeout_until(uint64_t deadline_ms) {
    const uint64_t now_ms = clock_mono_ms();
    if (now_ms >= deadline_ms) return 0;
    return deadline_ms - now_ms > INT_MAX ? INT_MAX : (int)(deadline_ms - now_ms);
}

int host_posix_wait(int fd, short events, uint64_t deadline_ms) {
    for (;;) {
        struct pollfd polled[] = {{.fd = interrupt_pipe[0], .events = POLLIN},
                                  {.fd = fd, .events = events}};
        const int timeout_ms = timeout_until(deadline_ms);
        const int n = poll(polled, 2, timeout_ms);
        if (n < 0 && errno != EINTR) return error_origin(-errno);
        if (n > 0 && polled[0].revents) return TROUBLE_E_INTERRUPTED;
        if (n > 0) return 0;
        if (n == 0 && timeout_ms == 0) return TROUBLE_E_TIMEOUT;
    }
}

int host_sleep_ms(uint64_t ms) {
    const int r = host_posix_wait(-1, 0, clock_mono_ms() + ms);
    return r == TROUBLE_E_TIMEOUT ? 0 : r;
}

bool host_is_terminal(FILE *stream) {
    return isatty(fileno(stream)) == 1;
}
