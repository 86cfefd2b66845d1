/* Host, POSIX part: waiting that an interrupt ends. Private to the POSIX implementations. */
#pragma once

#include <stdint.h>

/* Waits until descriptor `fd` (-1: none) has one of `events`, or the monotonic `deadline_ms`.
 * 0, TROUBLE_E_TIMEOUT, TROUBLE_E_INTERRUPTED, or -errno. */
int host_posix_wait(int fd, short events, uint64_t deadline_ms);
