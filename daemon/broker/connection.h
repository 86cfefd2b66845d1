/* Connection: whole frames to and from one client, within bounds: of a frame, of what is being
 * received by all clients together, of what a slow reader leaves unsent, of the time a frame may
 * take. Knows no request. Never frees itself inside its own callbacks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/refusal.h"

struct event_base;
typedef struct Connection Connection;

typedef struct ConnectionLimits {
    size_t max_frame_bytes;
    size_t max_unsent_bytes;
} ConnectionLimits;

typedef struct ConnectionOwner {
    /* One payload; borrowed during the call. */
    void (*frame)(Connection *connection, const uint8_t *payload, size_t payload_bytes, void *data);
    /* Framing is lost: the owner may still send a last reply; the connection is closed after it. */
    void (*refused)(Connection *connection, RefusalCode code, void *data);
    /* It is closed; the owner frees it now. */
    void (*closed)(Connection *connection, void *data);
    void *data;
} ConnectionOwner;

/* Takes over `fd` on success. `receive_budget` is shared by all connections: bytes of large frames
 * that may be on their way at once. 0 or -ENOMEM. */
int connection_new(struct event_base *base, int fd, ConnectionLimits limits, size_t *receive_budget,
                   ConnectionOwner owner, Connection **ret_connection);
/* Takes NULL, returns NULL. */
Connection *connection_free(Connection *connection);

/* Queues a frame; copies it. A client that leaves too much unread is closed. */
void connection_send(Connection *connection, const uint8_t *frame, size_t frame_bytes);
/* Reads no more and closes when everything was sent, or after a few seconds. */
void connection_finish(Connection *connection);
/* Closes from the loop: `closed` follows. */
void connection_close(Connection *connection);
