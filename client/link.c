#include "link.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "transport.h"
#include "wire.h"

enum { LINK_PROTOCOL = 1 };
/* Beyond any verdict or list; a daemon that announces more is none. */
static const size_t max_reply_bytes = (size_t)256 << 20;

struct Link {
    Transport *transport;
    uint64_t last_request_id;
    uint64_t max_request_bytes; /* 0: the daemon did not say */

    uint8_t *out;
    size_t out_bytes;
    size_t out_sent;
    bool out_broken; /* the daemon reads no more, but may still say why */

    uint8_t header[WIRE_HEADER_BYTES];
    size_t header_got;
    uint8_t *payload; /* NULL until its length is known */
    size_t payload_bytes;
    size_t payload_got;
};

Link *link_close(Link *link) {
    if (!link) return NULL;
    transport_close(link->transport);
    free(link->out);
    free(link->payload);
    free(link);
    return NULL;
}

/* Result of a step that had to stop before its end. */
enum { STEP_WOULD_BLOCK = 1, STEP_CLOSED = 2 };

/* ---- out ---- */

static void drop_out(Link *link) {
    free(link->out);
    link->out = NULL;
    link->out_bytes = link->out_sent = 0;
}

/* A failed write is no end: what the daemon said before it closed is still to be read. */
static void send_some(Link *link) {
    while (link->out_sent < link->out_bytes) {
        size_t n_bytes = 0;
        const int r = transport_write(link->transport, link->out + link->out_sent,
                                      link->out_bytes - link->out_sent, &n_bytes);
        if (r == TRANSPORT_E_WOULD_BLOCK) return;
        link->out_broken = r != 0;
        if (r) break;
        link->out_sent += n_bytes;
    }
    drop_out(link);
}

static int queue_frame(Link *link, uint8_t *frame, size_t frame_bytes) {
    if (!link->out) {
        link->out = frame;
        link->out_bytes = frame_bytes;
        return 0;
    }
    uint8_t *out = realloc(link->out, link->out_bytes + frame_bytes);
    if (!out) {
        free(frame);
        return error_origin(-ENOMEM);
    }
    memcpy(out + link->out_bytes, frame, frame_bytes);
    free(frame);
    link->out = out;
    link->out_bytes += frame_bytes;
    return 0;
}

static int check_size(const Link *link, size_t payload_bytes, Trouble *trouble) {
    if (link->max_request_bytes == 0 || payload_bytes <= link->max_request_bytes) return 0;
    return trouble_set(trouble,
                       "refused: the job has %zu bytes with its inputs, the daemon takes %" PRIu64,
                       payload_bytes, link->max_request_bytes);
}

static int send_envelope(Link *link, const Tb__Envelope *envelope, Trouble *trouble) {
    int r = check_size(link, tb__envelope__get_packed_size(envelope), trouble);
    if (r) return r;
    uint8_t *frame = NULL;
    size_t frame_bytes = 0;
    r = wire_pack(&envelope->base, &frame, &frame_bytes);
    if (r == WIRE_E_TOO_LARGE) return trouble_set(trouble, "refused: the job exceeds 4 GiB");
    if (r < 0) return error_fold(r);
    r = queue_frame(link, frame, frame_bytes);
    if (r < 0) return error_fold(r);
    send_some(link);
    return 0;
}

int link_send(Link *link, Tb__Envelope *request, Trouble *trouble, uint64_t *ret_request_id) {
    request->request_id = link->last_request_id + 1;
    const int r = send_envelope(link, request, trouble);
    if (r) return r;
    *ret_request_id = ++link->last_request_id;
    return 0;
}

bool link_is_sending(const Link *link) {
    return link->out != NULL;
}

/* ---- in ---- */

/* Reads on until *got reaches `wanted`. 0, STEP_WOULD_BLOCK, STEP_CLOSED or -errno. */
static int read_until(Link *link, uint8_t *bytes, size_t wanted, size_t *got) {
    while (*got < wanted) {
        size_t n_bytes = 0;
        const int r = transport_read(link->transport, bytes + *got, wanted - *got, &n_bytes);
        if (r == TRANSPORT_E_WOULD_BLOCK) return STEP_WOULD_BLOCK;
        if (r == TRANSPORT_E_CLOSED) return STEP_CLOSED;
        if (r < 0) return error_fold(r);
        *got += n_bytes;
    }
    return 0;
}

static int read_payload_length(Link *link, Trouble *trouble) {
    if (wire_payload_length(link->header, max_reply_bytes, &link->payload_bytes) != 0)
        return trouble_set(trouble, "what answers is not tbsandboxd: it sent a frame of more than "
                                    "256 MiB");
    link->payload = malloc(link->payload_bytes ? link->payload_bytes : 1);
    if (!link->payload) return error_origin(-ENOMEM);
    link->payload_got = 0;
    return 0;
}

static int explain_loss(int r, Trouble *trouble) {
    if (r == STEP_CLOSED)
        trouble_set(trouble, "tbsandboxd closed the connection");
    else
        trouble_set(trouble, "the connection to tbsandboxd was lost: %s", strerror(-r));
    return TROUBLE_E_TOLD;
}

/* Reads on in a frame; *ret_complete says whether it is whole. 0, TROUBLE_E_TOLD or -ENOMEM. */
static int read_frame(Link *link, bool *ret_complete, Trouble *trouble) {
    *ret_complete = false;
    int r = read_until(link, link->header, WIRE_HEADER_BYTES, &link->header_got);
    if (r == 0 && !link->payload) {
        r = read_payload_length(link, trouble);
        if (r) return r;
    }
    if (r == 0) r = read_until(link, link->payload, link->payload_bytes, &link->payload_got);
    if (r == STEP_WOULD_BLOCK) return 0;
    if (r) return explain_loss(r, trouble);
    *ret_complete = true;
    return 0;
}

static int unpack_frame(Link *link, Trouble *trouble, Tb__Envelope **ret_envelope) {
    CLEANUP(freep) uint8_t *payload = TAKE(link->payload);
    link->header_got = 0;
    ProtobufCMessage *message = NULL;
    if (wire_unpack(&tb__envelope__descriptor, payload, link->payload_bytes, &message) != 0) {
        trouble_set(trouble, "the reply cannot be read; what answers is not tbsandboxd, or of "
                             "another version");
        return TROUBLE_E_TOLD;
    }
    *ret_envelope = (Tb__Envelope *)message;
    return 0;
}

static int receive_any(Link *link, uint64_t deadline_ms, Trouble *trouble,
                       Tb__Envelope **ret_envelope) {
    for (;;) {
        if (link->out) send_some(link);
        bool complete;
        int r = read_frame(link, &complete, trouble);
        if (r) return r;
        if (complete) return unpack_frame(link, trouble, ret_envelope);
        if (link->out_broken) return explain_loss(STEP_CLOSED, trouble);
        r = transport_wait(link->transport, link->out != NULL, deadline_ms);
        if (r) return r;
    }
}

int link_receive(Link *link, uint64_t deadline_ms, Trouble *trouble, Tb__Envelope **ret_envelope) {
    CLEANUP(link_message_freep) Tb__Envelope *envelope = NULL;
    const int r = receive_any(link, deadline_ms, trouble, &envelope);
    if (r) return r;
    /* No request has the id 0 but Hello: an error there is about the connection. */
    if (envelope->request_id == 0 && envelope->body_case == TB__ENVELOPE__BODY_ERROR) {
        link_explain_error(envelope->error, trouble);
        return TROUBLE_E_TOLD;
    }
    *ret_envelope = TAKE(envelope);
    return 0;
}

Tb__Envelope *link_message_free(Tb__Envelope *envelope) {
    if (envelope) wire_message_free(&envelope->base);
    return NULL;
}

void link_explain_error(const Tb__Error *error, Trouble *trouble) {
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(
        &tb__error_code__descriptor, (int)error->code);
    trouble_set(trouble, "refused: %s (%s)",
                error->message[0] ? error->message : "the daemon does not say why",
                value ? value->name : "unknown error");
}

/* ---- Hello ---- */

static int greet(Link *link, Trouble *trouble) {
    char software[] = "tbclient " TBSANDBOX_VERSION;
    Tb__Hello hello = TB__HELLO__INIT;
    hello.protocol = LINK_PROTOCOL;
    hello.software = software;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_HELLO;
    envelope.hello = &hello;
    return send_envelope(link, &envelope, trouble);
}

static int await_hello(Link *link, uint64_t deadline_ms, Trouble *trouble) {
    CLEANUP(link_message_freep) Tb__Envelope *reply = NULL;
    const int r = link_receive(link, deadline_ms, trouble, &reply);
    if (r) return r;
    if (reply->body_case != TB__ENVELOPE__BODY_HELLO)
        return trouble_set(trouble, "what answers is not tbsandboxd: it does not say hello");
    if (reply->hello->protocol != LINK_PROTOCOL)
        return trouble_set(trouble, "%.100s speaks protocol %" PRIu32 ", tbclient speaks %d",
                           reply->hello->software, reply->hello->protocol, LINK_PROTOCOL);
    link->max_request_bytes = reply->hello->max_frame_bytes;
    return 0;
}

int link_open(const char *address, uint64_t deadline_ms, Trouble *trouble, Link **ret_link) {
    CLEANUP(link_closep) Link *link = calloc(1, sizeof *link);
    if (!link) return error_origin(-ENOMEM);
    int r = transport_open(address, deadline_ms, trouble, &link->transport);
    if (r == 0) r = greet(link, trouble);
    if (r == 0) r = await_hello(link, deadline_ms, trouble);
    if (r) return r;
    *ret_link = TAKE(link);
    return 0;
}
