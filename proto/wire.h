/* Wire: frames of both protocols: a 4-byte big-endian payload length, then one protobuf message.
 * Used by the codecs and the client only. Never allocates for a length that was not checked, and
 * bounds what unpacking may allocate, so that a small hostile frame cannot grow a thousandfold. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

enum { WIRE_HEADER_BYTES = 4 };

/* Documented results. */
enum {
    WIRE_E_TOO_LARGE = 1, /* the announced length exceeds the limit */
    WIRE_E_MALFORMED = 2, /* not a message of the expected type, or it would unpack to too much */
};

/* Reads the payload length from a header. 0, or WIRE_E_TOO_LARGE when it exceeds max_payload_bytes
 * (then *ret_payload_bytes is untouched). */
int wire_payload_length(const uint8_t header[WIRE_HEADER_BYTES], size_t max_payload_bytes,
                        size_t *ret_payload_bytes);

/* Packs a message with its header into a new frame; the caller frees it.
 * 0, WIRE_E_TOO_LARGE (payload over UINT32_MAX), or -ENOMEM. */
int wire_pack(const ProtobufCMessage *message, uint8_t **ret_frame, size_t *ret_frame_bytes);

/* Unpacks one payload; the caller frees the message with wire_message_free.
 * 0 or WIRE_E_MALFORMED. */
int wire_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *payload,
                size_t payload_bytes, ProtobufCMessage **ret_message);

/* Frees a message made by wire_unpack. Takes NULL, returns NULL. */
ProtobufCMessage *wire_message_free(ProtobufCMessage *message);
