#include "broker/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop.h"
#include "suite.h"

enum {
    MAX_FRAME_BYTES = 200 << 10,
    MAX_UNSENT_BYTES = 64 << 10,
    LARGE_BYTES = 100 << 10,
    NEVER_MS = 3600000,
};

/* One connection, the client's end of it, and what its owner was told. */
static struct {
    Loop loop;
    uint64_t frame_ms;
    bool is_full; /* no large frame may be received */
    unsigned n_asked;
    int client;
    Connection *connection;
    unsigned n_frames;
    size_t frame_bytes;
    uint8_t frame[256];
    unsigned n_refused;
    ConnectionFault fault;
    unsigned n_closed;
    void (*on_frame)(Connection *connection);
} self;

static void on_frame(Connection *connection, const uint8_t *payload, size_t payload_bytes,
                     void *data) {
    ck_assert_ptr_eq(data, &self);
    self.n_frames++;
    self.frame_bytes = payload_bytes;
    memcpy(self.frame, payload,
           payload_bytes < sizeof self.frame ? payload_bytes : sizeof self.frame);
    if (self.on_frame) self.on_frame(connection);
}

static void on_refused(Connection *connection, ConnectionFault fault, void *data) {
    (void)data;
    self.n_refused++;
    self.fault = fault;
    connection_send(connection, (const uint8_t *)"sorry", 5);
}

static bool may_receive(Connection *connection, size_t payload_bytes, void *data) {
    ck_assert_ptr_eq(data, &self);
    ck_assert_uint_eq(payload_bytes, LARGE_BYTES);
    ck_assert_uint_eq(connection_receiving(connection), 0);
    self.n_asked++;
    return !self.is_full;
}

static void on_closed(Connection *connection, void *data) {
    (void)data;
    self.n_closed++;
    self.connection = connection_free(connection);
}

static void set_up(void) {
    const ConnectionLimits limits = {MAX_FRAME_BYTES, MAX_UNSENT_BYTES,
                                     self.frame_ms ? self.frame_ms : NEVER_MS};
    const ConnectionOwner owner = {on_frame, on_refused, may_receive, on_closed, &self};
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    loop_init(&self.loop);
    self.client = ends[1];
    ck_assert_int_eq(connection_new(self.loop.base, ends[0], limits, owner, &self.connection), 0);
}

static void tear_down(void) {
    self.connection = connection_free(self.connection);
    if (self.client >= 0) close(self.client);
    loop_deinit(&self.loop);
}

static void send_bytes(const void *bytes, size_t n_bytes) {
    ck_assert_int_eq(send(self.client, bytes, n_bytes, MSG_NOSIGNAL), (ssize_t)n_bytes);
}

static void send_header(uint32_t payload_bytes) {
    const uint8_t header[] = {(uint8_t)(payload_bytes >> 24), (uint8_t)(payload_bytes >> 16),
                              (uint8_t)(payload_bytes >> 8), (uint8_t)payload_bytes};
    send_bytes(header, sizeof header);
}

/* What the client has been sent; 0 at its end, -1 when nothing is there. */
static ssize_t receive(char *bytes, size_t n_bytes) {
    return recv(self.client, bytes, n_bytes, 0);
}

static void expect_end(void) {
    char rest;
    const ssize_t n = receive(&rest, 1);
    ck_assert(n == 0 || (n < 0 && errno == ECONNRESET));
}

/* ---- receiving ---- */

START_TEST(a_frame_may_be_split_anywhere) {
    static const uint8_t frame[] = {0, 0, 0, 3, 'a', 'b', 'c', 0, 0, 0, 0, 0, 0, 0, 1, 'z'};
    set_up();
    for (size_t split = 1; split < sizeof frame; split++) {
        const unsigned n_whole = split >= 11 ? 2 : split >= 7 ? 1 : 0;
        self.n_frames = 0;
        send_bytes(frame, split);
        loop_until(&self.loop, self.n_frames == n_whole);
        event_base_loop(self.loop.base, EVLOOP_ONCE);
        ck_assert_uint_eq(self.n_frames, n_whole);
        send_bytes(frame + split, sizeof frame - split);
        loop_until(&self.loop, self.n_frames == 3);
        ck_assert_uint_eq(self.frame_bytes, 1);
        ck_assert_uint_eq(self.frame[0], 'z');
    }
    tear_down();
}
END_TEST

START_TEST(a_frame_may_come_byte_by_byte) {
    static const uint8_t frame[] = {0, 0, 0, 4, 'w', 'x', 'y', 'z'};
    set_up();
    for (size_t i = 0; i < sizeof frame; i++) {
        ck_assert_uint_eq(self.n_frames, 0);
        send_bytes(frame + i, 1);
        event_base_loop(self.loop.base, EVLOOP_ONCE);
    }
    loop_until(&self.loop, self.n_frames == 1);
    ck_assert_uint_eq(self.frame_bytes, 4);
    ck_assert_mem_eq(self.frame, "wxyz", 4);
    tear_down();
}
END_TEST

START_TEST(many_frames_may_come_at_once) {
    uint8_t frames[50 * 5];
    for (size_t i = 0; i < 50; i++) memcpy(frames + 5 * i, "\0\0\0\1q", 5);
    set_up();
    send_bytes(frames, sizeof frames);
    loop_until(&self.loop, self.n_frames == 50);
    tear_down();
}
END_TEST

START_TEST(others_have_their_turn_in_between) {
    enum { N = 1000 };
    static uint8_t frames[N * 5];
    for (size_t i = 0; i < N; i++) memcpy(frames + 5 * i, "\0\0\0\1q", 5);
    set_up();
    send_bytes(frames, sizeof frames);
    unsigned n_turns = 0, before = 0;
    for (; self.n_frames < N; n_turns++, before = self.n_frames) {
        event_base_loop(self.loop.base, EVLOOP_ONCE);
        ck_assert_uint_le(self.n_frames - before, 4);
    }
    ck_assert_uint_ge(n_turns, N / 4);
    send_bytes(frames, 10); /* and reading goes on */
    loop_until(&self.loop, self.n_frames == N + 2);
    tear_down();
}
END_TEST

START_TEST(what_was_sent_before_the_end_counts) {
    uint8_t frames[50 * 5];
    for (size_t i = 0; i < 50; i++) memcpy(frames + 5 * i, "\0\0\0\1q", 5);
    set_up();
    send_bytes(frames, sizeof frames);
    close(self.client);
    self.client = -1;
    loop_until(&self.loop, self.n_closed == 1);
    ck_assert_uint_eq(self.n_frames, 50);
    tear_down();
}
END_TEST

static void send_large(void) {
    static uint8_t payload[LARGE_BYTES];
    payload[0] = 'L';
    send_header(sizeof payload);
    for (size_t at = 0; at < sizeof payload;) {
        const ssize_t n = send(self.client, payload + at, sizeof payload - at, MSG_NOSIGNAL);
        if (n > 0) at += (size_t)n;
        event_base_loop(self.loop.base, EVLOOP_ONCE);
    }
}

START_TEST(a_large_frame_arrives) {
    set_up();
    for (unsigned n = 1; n <= 2; n++) {
        send_large();
        loop_until(&self.loop, self.n_frames == n);
        ck_assert_uint_eq(self.frame_bytes, LARGE_BYTES);
        ck_assert_uint_eq(self.frame[0], 'L');
        ck_assert_uint_eq(self.n_asked, n); /* once for each */
        ck_assert_uint_eq(connection_receiving(self.connection), 0);
    }
    tear_down();
}
END_TEST

/* A byte now and then is no life sign. */
static void expect_too_slow(uint32_t announced_bytes) {
    const uint64_t began_ms = clock_mono_ms();
    memset(&self, 0, sizeof self);
    self.frame_ms = 100;
    set_up();
    send_header(announced_bytes);
    while (self.n_closed == 0) {
        (void)!send(self.client, "x", 1, MSG_NOSIGNAL);
        usleep(1000);
        event_base_loop(self.loop.base, EVLOOP_ONCE);
        ck_assert_uint_lt(clock_mono_ms(), began_ms + LOOP_DEADLINE_MS);
    }
    ck_assert_uint_eq(self.n_frames, 0);
    ck_assert_uint_eq(self.n_refused, 1);
    ck_assert_int_eq(self.fault, CONNECTION_TOO_SLOW);
    char reply[16];
    ck_assert_int_eq(receive(reply, sizeof reply), 5);
    tear_down();
}

START_TEST(a_frame_must_be_whole_in_time) {
    expect_too_slow(5000);
    const uint64_t began_ms = clock_mono_ms();
    expect_too_slow(LARGE_BYTES);
    ck_assert_uint_ge(clock_mono_ms() - began_ms, 150); /* which takes its size into account */
}
END_TEST

START_TEST(between_frames_there_is_no_hurry) {
    self.frame_ms = 1;
    set_up();
    send_bytes("\0\0", 2); /* not even a header */
    usleep(20000);
    loop_idle(&self.loop);
    send_bytes("\0\1a", 3);
    loop_until(&self.loop, self.n_frames == 1);
    usleep(20000);
    loop_idle(&self.loop);
    ck_assert_uint_eq(self.n_refused, 0);
    ck_assert_uint_eq(self.n_closed, 0);
    tear_down();
}
END_TEST

START_TEST(a_frame_over_the_bound_is_refused_by_its_header) {
    set_up();
    send_header(MAX_FRAME_BYTES + 1);
    loop_until(&self.loop, self.n_closed == 1);
    ck_assert_uint_eq(self.n_refused, 1);
    ck_assert_int_eq(self.fault, CONNECTION_FRAME_TOO_LARGE);
    ck_assert_uint_eq(self.n_frames, 0);
    char reply[16];
    ck_assert_int_eq(receive(reply, sizeof reply), 5); /* the owner's last words were sent */
    ck_assert_mem_eq(reply, "sorry", 5);
    expect_end();
    tear_down();
}
END_TEST

START_TEST(nothing_is_read_after_a_refusal) {
    set_up();
    send_header(UINT32_MAX);
    send_bytes("\0\0\0\1x", 5);
    loop_until(&self.loop, self.n_closed == 1);
    ck_assert_uint_eq(self.n_refused, 1);
    ck_assert_uint_eq(self.n_frames, 0);
    tear_down();
}
END_TEST

START_TEST(the_owner_says_whether_a_large_frame_may_come) {
    set_up();
    self.is_full = true;
    send_bytes("\0\0\0\1x", 5); /* for small ones it is not asked */
    loop_until(&self.loop, self.n_frames == 1);
    ck_assert_uint_eq(self.n_asked, 0);
    self.is_full = false;
    send_header(LARGE_BYTES);
    loop_until(&self.loop, connection_receiving(self.connection) == LARGE_BYTES);
    self.is_full = true; /* what is on its way may go on */
    send_bytes("x", 1);
    loop_idle(&self.loop);
    ck_assert_uint_eq(self.n_refused, 0);
    tear_down();
    memset(&self, 0, sizeof self);
    set_up();
    self.is_full = true;
    send_header(LARGE_BYTES);
    loop_until(&self.loop, self.n_closed == 1);
    ck_assert_int_eq(self.fault, CONNECTION_OVER_BUDGET);
    tear_down();
}
END_TEST

/* ---- sending and ending ---- */

START_TEST(a_client_that_does_not_read_is_closed) {
    static const uint8_t frame[4096];
    set_up();
    for (int i = 0; i < 1000 && self.n_closed == 0; i++) {
        connection_send(self.connection, frame, sizeof frame);
        event_base_loop(self.loop.base, EVLOOP_ONCE);
    }
    ck_assert_uint_eq(self.n_closed, 1);
    tear_down();
}
END_TEST

START_TEST(a_reply_over_the_bound_closes_from_the_loop) {
    static const uint8_t frame[MAX_UNSENT_BYTES + 1];
    set_up();
    connection_send(self.connection, frame, sizeof frame);
    ck_assert_uint_eq(self.n_closed, 0); /* never inside the call */
    connection_send(self.connection, frame, 1);
    connection_close(self.connection);
    loop_until(&self.loop, self.n_closed > 0);
    loop_idle(&self.loop);
    ck_assert_uint_eq(self.n_closed, 1);
    expect_end();
    tear_down();
}
END_TEST

START_TEST(finishing_sends_the_rest_first) {
    static uint8_t frame[60 << 10];
    static char received[sizeof frame + 1];
    memset(frame, 'r', sizeof frame);
    set_up();
    const int small = 4096;
    setsockopt(self.client, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    connection_send(self.connection, frame, sizeof frame);
    connection_finish(self.connection);
    connection_finish(self.connection);
    size_t at = 0;
    for (ssize_t n = -1; n != 0;) {
        event_base_loop(self.loop.base, EVLOOP_ONCE);
        n = receive(received + at, sizeof received - at);
        if (n > 0) at += (size_t)n;
        ck_assert(n >= 0 || errno == EAGAIN);
    }
    ck_assert_uint_eq(at, sizeof frame);
    ck_assert_mem_eq(received, frame, sizeof frame);
    ck_assert_uint_eq(self.n_closed, 1);
    tear_down();
}
END_TEST

static void finish_at_once(Connection *connection) {
    connection_finish(connection);
}

static void close_at_once(Connection *connection) {
    connection_close(connection);
}

START_TEST(an_owner_may_end_it_inside_a_frame) {
    static void (*const endings[])(Connection *) = {finish_at_once, close_at_once};
    for (size_t i = 0; i < 2; i++) {
        memset(&self, 0, sizeof self);
        set_up();
        self.on_frame = endings[i];
        send_bytes("\0\0\0\1a\0\0\0\1b", 10);
        loop_until(&self.loop, self.n_closed == 1);
        ck_assert_uint_eq(self.n_frames, 1); /* the second frame is not handed out any more */
        tear_down();
    }
}
END_TEST

START_TEST(a_client_that_goes_is_closed_once) {
    set_up();
    send_bytes("\0\0\0\7ab", 6);
    close(self.client);
    self.client = -1;
    loop_until(&self.loop, self.n_closed > 0);
    loop_idle(&self.loop);
    ck_assert_uint_eq(self.n_closed, 1);
    ck_assert_uint_eq(self.n_frames, 0);
    ck_assert_uint_eq(self.n_refused, 0);
    tear_down();
}
END_TEST

SUITE_MAIN("connection", a_frame_may_be_split_anywhere, a_frame_may_come_byte_by_byte,
           many_frames_may_come_at_once, others_have_their_turn_in_between,
           what_was_sent_before_the_end_counts, a_large_frame_arrives,
           a_frame_must_be_whole_in_time, between_frames_there_is_no_hurry,
           a_frame_over_the_bound_is_refused_by_its_header, nothing_is_read_after_a_refusal,
           the_owner_says_whether_a_large_frame_may_come, a_client_that_does_not_read_is_closed,
           a_reply_over_the_bound_closes_from_the_loop, finishing_sends_the_rest_first,
           an_owner_may_end_it_inside_a_frame, a_client_that_goes_is_closed_once)
