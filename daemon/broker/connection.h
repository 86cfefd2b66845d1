/* Connection: whole frames to and from one client, within bounds: of a frame, of what is being
 * received at once, of what a slow reader leaves unsent, of the time a frame may take, of how many
 * are handed out before others have their turn. Knows no request. Never frees itself inside its own
 * callbacks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
typedef struct Connection Connection;

typedef struct ConnectionLimits {
    size_t max_frame_bytes;
    size_t max_unsent_bytes;
    uint64_t frame_ms; /* in which a frame must be whole; a millisecond more for each KiB of it */
} ConnectionLimits;

/* Why nothing more can be received. */
typedef enum ConnectionFault {
    CONNECTION_FRAME_TOO_LARGE,
    CONNECTION_OVER_BUDGET,
    CONNECTION_TOO_SLOW,
} ConnectionFault;

typedef struct ConnectionOwner {
    /* One payload; borrowed during the call. */
    void (*frame)(Connection *connection, const uint8_t *payload, size_t payload_bytes, void *data);
    /* Framing is lost: the owner may still send a last reply; the connection is closed after it. */
    void (*refused)(Connection *connection, ConnectionFault fault, void *data);
    /* Whether a large frame may be received now, beside those that are on their way. */
    bool (*may_receive)(Connection *connection, size_t payload_bytes, void *data);
    /* It is closed; the owner frees it now. */
    void (*closed)(Connection *connection, void *data);
    void *data;
} ConnectionOwner;

/* Takes over `fd` on success. 0 or -ENOMEM. */
int connection_new(struct event_base *base, int fd, ConnectionLimits limits, ConnectionOwner owner,
                   Connection **ret_connection);
/* Takes NULL, returns NULL. */
Connection *connection_free(Connection *connection);

/* Bytes of the large frame that is on its way, or 0. */
size_t connection_receiving(const Connection *connection);
/* Queues a frame; copies it. A client that leaves too much unread is closed. */
void connection_send(Connection *connection, const uint8_t *frame, size_t frame_bytes);
/* Reads no more and closes when everything was sent, or after a few seconds. */
void connection_finish(Connection *connection);
/* Closes from the loop: `closed` follows. */
void connection_close(Connection *connection);
