/* Transport: a stream of bytes to the daemon of this machine. Knows addresses and who answers
 * there, nothing of frames. Reading and writing never block; waiting always has a deadline. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trouble.h"

typedef struct Transport Transport;

/* Documented results of reading and writing. */
enum {
    TRANSPORT_E_WOULD_BLOCK = 1,
    TRANSPORT_E_CLOSED = 2, /* by the daemon */
};

/* Where the daemon is expected when nobody says; the caller frees it. 0 or -ENOMEM. */
int transport_default_address(char **ret_address);

/* Connects, and makes sure that it is the system or the caller itself that answers.
 * `deadline_ms` is of the monotonic clock, here and below.
 * 0, TROUBLE_E_TOLD, TROUBLE_E_TIMEOUT, TROUBLE_E_INTERRUPTED, or -errno. */
int transport_open(const char *address, uint64_t deadline_ms, Trouble *trouble,
                   Transport **ret_transport);
/* Takes NULL, returns NULL. */
Transport *transport_close(Transport *transport);

/* At least one byte and at most n_bytes. 0, a result above, or -errno. */
int transport_read(Transport *transport, void *bytes, size_t n_bytes, size_t *ret_n_bytes);
int transport_write(Transport *transport, const void *bytes, size_t n_bytes, size_t *ret_n_bytes);

/* Waits until there is something to read, or, when asked, room to write.
 * 0, TROUBLE_E_TIMEOUT, TROUBLE_E_INTERRUPTED, or -errno. */
int transport_wait(Transport *transport, bool or_write, uint64_t deadline_ms);
