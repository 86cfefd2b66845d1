#include "broker/connection.h"

#include <errno.h>
#include <stdlib.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/error.h"
#include "broker/timer.h"
#include "wire.h"

enum {
    LARGE_FRAME_BYTES = 64 << 10, /* smaller ones may always be received */
    MIN_BYTES_PER_MS = 1024,      /* as fast as a large frame must come at least */
    FRAMES_PER_TURN = 4,          /* any of them may be costly to answer */
    FINISH_TIMEOUT_S = 5,
};

struct Connection {
    ConnectionOwner owner;
    ConnectionLimits limits;
    struct bufferevent *stream;
    struct event *reap;
    struct event *turn;     /* more frames are here than one turn takes */
    struct event *deadline; /* of the frame being received */
    size_t receiving_bytes; /* of that frame, when it is a large one */
    bool finishing;
    bool closing;
};

static void on_reap(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    Connection *connection = data;
    connection->owner.closed(connection, connection->owner.data);
}

void connection_close(Connection *connection) {
    if (connection->closing) return;
    connection->closing = true;
    bufferevent_disable(connection->stream, EV_READ | EV_WRITE);
    event_active(connection->reap, EV_TIMEOUT, 0);
}

size_t connection_receiving(const Connection *connection) {
    return connection->receiving_bytes;
}

static bool is_ending(const Connection *connection) {
    return connection->closing || connection->finishing;
}

static void give_up(Connection *connection, ConnectionFault fault) {
    connection->owner.refused(connection, fault, connection->owner.data);
    connection_finish(connection);
}

static bool reserve(Connection *connection, size_t payload_bytes) {
    if (payload_bytes <= LARGE_FRAME_BYTES || connection->receiving_bytes > 0) return true;
    if (!connection->owner.may_receive(connection, payload_bytes, connection->owner.data))
        return false;
    connection->receiving_bytes = payload_bytes;
    return true;
}

/* The whole of a frame must come in time, however steadily its parts do. */
static void await_rest(Connection *connection, size_t frame_bytes) {
    bufferevent_setwatermark(connection->stream, EV_READ, frame_bytes, 0);
    if (!evtimer_pending(connection->deadline, NULL))
        timer_arm(connection->deadline,
                  connection->limits.frame_ms + frame_bytes / MIN_BYTES_PER_MS);
}

static void on_deadline(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    Connection *connection = data;
    if (!is_ending(connection)) give_up(connection, CONNECTION_TOO_SLOW);
}

/* False when no whole frame is there. */
static bool take_frame(Connection *connection) {
    struct evbuffer *input = bufferevent_get_input(connection->stream);
    uint8_t header[WIRE_HEADER_BYTES];
    if (evbuffer_copyout(input, header, sizeof header) != (ev_ssize_t)sizeof header) return false;
    size_t payload_bytes;
    if (wire_payload_length(header, connection->limits.max_frame_bytes, &payload_bytes) != 0) {
        give_up(connection, CONNECTION_FRAME_TOO_LARGE);
        return false;
    }
    if (!reserve(connection, payload_bytes)) {
        give_up(connection, CONNECTION_OVER_BUDGET);
        return false;
    }
    const size_t frame_bytes = sizeof header + payload_bytes;
    if (evbuffer_get_length(input) < frame_bytes) {
        await_rest(connection, frame_bytes);
        return false;
    }
    const uint8_t *frame = evbuffer_pullup(input, (ev_ssize_t)frame_bytes);
    if (!frame) {
        connection_close(connection);
        return false;
    }
    connection->owner.frame(connection, frame + sizeof header, payload_bytes,
                            connection->owner.data);
    evbuffer_drain(input, frame_bytes);
    event_del(connection->deadline);
    connection->receiving_bytes = 0;
    bufferevent_setwatermark(connection->stream, EV_READ, WIRE_HEADER_BYTES, 0);
    return true;
}

/* A timer's turn comes after everybody else's input: who sends much at once delays itself alone.
 * Until then nothing more is read. */
static void take_turn(Connection *connection) {
    unsigned n_frames = 0;
    while (n_frames < FRAMES_PER_TURN && !is_ending(connection) && take_frame(connection))
        n_frames++;
    if (is_ending(connection)) return;
    if (n_frames < FRAMES_PER_TURN) {
        bufferevent_enable(connection->stream, EV_READ);
        return;
    }
    bufferevent_disable(connection->stream, EV_READ);
    timer_arm(connection->turn, 0);
}

static void on_turn(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    take_turn(data);
}

static void on_read(struct bufferevent *stream, void *data) {
    (void)stream;
    take_turn(data);
}

static void on_write(struct bufferevent *stream, void *data) {
    Connection *connection = data;
    if (connection->finishing && evbuffer_get_length(bufferevent_get_output(stream)) == 0)
        connection_close(connection);
}

static void on_event(struct bufferevent *stream, short what, void *data) {
    (void)stream;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT)) connection_close(data);
}

int connection_new(struct event_base *base, int fd, ConnectionLimits limits, ConnectionOwner owner,
                   Connection **ret_connection) {
    Connection *connection = calloc(1, sizeof *connection);
    if (!connection) return error_origin(-ENOMEM);
    connection->owner = owner;
    connection->limits = limits;
    connection->reap = event_new(base, -1, 0, on_reap, connection);
    connection->turn = evtimer_new(base, on_turn, connection);
    connection->deadline = evtimer_new(base, on_deadline, connection);
    connection->stream = bufferevent_socket_new(base, fd, 0);
    if (!connection->reap || !connection->turn || !connection->deadline || !connection->stream) {
        if (connection->stream) bufferevent_setfd(connection->stream, -1);
        connection_free(connection);
        return error_origin(-ENOMEM);
    }
    bufferevent_setcb(connection->stream, on_read, on_write, on_event, connection);
    bufferevent_setwatermark(connection->stream, EV_READ, WIRE_HEADER_BYTES, 0);
    bufferevent_enable(connection->stream, EV_READ | EV_WRITE);
    *ret_connection = connection;
    return 0;
}

Connection *connection_free(Connection *connection) {
    if (!connection) return NULL;
    if (connection->reap) event_free(connection->reap);
    if (connection->turn) event_free(connection->turn);
    if (connection->deadline) event_free(connection->deadline);
    if (connection->stream) {
        const evutil_socket_t fd = bufferevent_getfd(connection->stream);
        bufferevent_free(connection->stream);
        if (fd >= 0) evutil_closesocket(fd);
    }
    free(connection);
    return NULL;
}

void connection_send(Connection *connection, const uint8_t *frame, size_t frame_bytes) {
    if (connection->closing) return;
    const struct evbuffer *output = bufferevent_get_output(connection->stream);
    if (evbuffer_get_length(output) + frame_bytes > connection->limits.max_unsent_bytes ||
        bufferevent_write(connection->stream, frame, frame_bytes) != 0)
        connection_close(connection);
}

void connection_finish(Connection *connection) {
    if (is_ending(connection)) return;
    const struct timeval limit = {.tv_sec = FINISH_TIMEOUT_S};
    connection->finishing = true;
    bufferevent_disable(connection->stream, EV_READ);
    bufferevent_set_timeouts(connection->stream, NULL, &limit);
    if (evbuffer_get_length(bufferevent_get_output(connection->stream)) == 0)
        connection_close(connection);
}
