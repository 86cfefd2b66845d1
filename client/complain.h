/* Complain: the lines on standard error that say why the program does not end with 0 or 1. */
#pragma once

#include <stdint.h>

#include "exit_status.h"
#include "trouble.h"

/* `INFRASTRUCTURE FAILURE: …` on one line. Returns EXIT_STATUS_INFRASTRUCTURE. */
ExitStatus complain_infrastructure(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* One line with a hint at the help of `command` (NULL: of the program). Returns EXIT_STATUS_USAGE.
 */
ExitStatus complain_usage(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A failed step with the daemon: `r` is its result, `wait_ms` how long was waited.
 * Returns the exit status that goes with it. */
ExitStatus complain_step(int r, const Trouble *trouble, uint64_t wait_ms);
