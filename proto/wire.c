#include "wire.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

/* Unpacked messages cost more than their bytes; a submission of a few large fields needs little
 * over its size. What goes beyond this is an attack by many tiny fields. */
enum { UNPACK_FACTOR = 3, UNPACK_SLACK_BYTES = 4 << 20 };

typedef struct Budget {
    size_t left_bytes;
} Budget;

static void *budget_alloc(void *data, size_t n_bytes) {
    Budget *budget = data;
    if (n_bytes > budget->left_bytes) return NULL;
    budget->left_bytes -= n_bytes;
    /* protobuf-c asks for 0 bytes for an empty field and takes NULL for failure. */
    return malloc(n_bytes ? n_bytes : 1);
}

static void budget_free(void *data, void *pointer) {
    (void)data;
    free(pointer);
}

int wire_payload_length(const uint8_t header[WIRE_HEADER_BYTES], size_t max_payload_bytes,
                        size_t *ret_payload_bytes) {
    const uint32_t length = (uint32_t)header[0] << 24 | (uint32_t)header[1] << 16 |
                            (uint32_t)header[2] << 8 | (uint32_t)header[3];
    if (length > max_payload_bytes) return WIRE_E_TOO_LARGE;
    *ret_payload_bytes = length;
    return 0;
}

int wire_pack(const ProtobufCMessage *message, uint8_t **ret_frame, size_t *ret_frame_bytes) {
    const size_t payload_bytes = protobuf_c_message_get_packed_size(message);
    if (payload_bytes > UINT32_MAX) return WIRE_E_TOO_LARGE;
    uint8_t *frame = malloc(WIRE_HEADER_BYTES + payload_bytes);
    if (!frame) return error_origin(-ENOMEM);
    for (int i = 0; i < WIRE_HEADER_BYTES; i++)
        frame[i] = (uint8_t)(payload_bytes >> (8 * (WIRE_HEADER_BYTES - 1 - i)));
    protobuf_c_message_pack(message, frame + WIRE_HEADER_BYTES);
    *ret_frame = frame;
    *ret_frame_bytes = WIRE_HEADER_BYTES + payload_bytes;
    return 0;
}

int wire_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *payload,
                size_t payload_bytes, ProtobufCMessage **ret_message) {
    Budget budget = {payload_bytes * UNPACK_FACTOR + UNPACK_SLACK_BYTES};
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &budget};
    ProtobufCMessage *message = protobuf_c_message_unpack(type, &allocator, payload_bytes, payload);
    if (!message) return WIRE_E_MALFORMED;
    *ret_message = message;
    return 0;
}

ProtobufCMessage *wire_message_free(ProtobufCMessage *message) {
    /* The default allocator's free is that of budget_alloc's malloc. */
    if (message) protobuf_c_message_free_unpacked(message, NULL);
    return NULL;
}
