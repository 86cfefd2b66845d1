/* Host: the few things a command line program needs of its system: whole standard streams, to be
 * told of Ctrl-C, to sleep, to know a terminal. One implementation for each system. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Makes sure that the standard streams are open, so that no socket can take their place. Call it
 * before anything else is opened. 0 or -errno. */
int host_init(void);

/* From now on the first request to end (Ctrl-C, termination) only wakes those who wait; a second
 * one ends the program. Harmless when called again. 0 or -errno. */
int host_catch_interrupts(void);

/* 0, or TROUBLE_E_INTERRUPTED when we were asked to end. */
int host_sleep_ms(uint64_t ms);

bool host_is_terminal(FILE *stream);
