/* Fuzzer of the framing: any bytes are a frame. What unpacks must pack again, and from then on
 * unpacking and packing must change nothing. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tbsandbox.pb-c.h"
#include "wire.h"

/* Inputs up to here unpack within the slack of the bound, whatever they hold, so that a shorter
 * spelling of the same message cannot be refused. */
enum { MAX_INPUT_BYTES = 8192 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition) {
    if (!condition) abort();
}

static void check_header(const uint8_t *header, size_t max_payload_bytes) {
    size_t payload_bytes = SIZE_MAX;
    const int r = wire_payload_length(header, max_payload_bytes, &payload_bytes);
    require(r == 0 || r == WIRE_E_TOO_LARGE);
    require(r == 0 ? payload_bytes <= max_payload_bytes : payload_bytes == SIZE_MAX);
}

static bool keeps_field_zero(const ProtobufCMessage *message);

/* The messages that one field holds: none, one, or an array of them. */
static bool field_keeps_field_zero(const ProtobufCMessage *message,
                                   const ProtobufCFieldDescriptor *field) {
    const char *base = (const char *)message;
    const void *member = base + field->offset;
    const void *quantifier = base + field->quantifier_offset;
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) return false;
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        const bool is_other_of_oneof = field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF &&
                                       *(const uint32_t *)quantifier != field->id;
        const ProtobufCMessage *child = *(ProtobufCMessage *const *)member;
        return !is_other_of_oneof && child && keeps_field_zero(child);
    }
    ProtobufCMessage *const *children = *(ProtobufCMessage * *const *)member;
    for (size_t i = 0; i < *(const size_t *)quantifier; i++)
        if (keeps_field_zero(children[i])) return true;
    return false;
}

/* protobuf-c takes the field number 0 for an unknown field when it is spelt in two bytes, and
 * refuses the one byte that it makes of it itself. */
static bool keeps_field_zero(const ProtobufCMessage *message) {
    for (unsigned i = 0; i < message->n_unknown_fields; i++)
        if (message->unknown_fields[i].tag == 0) return true;
    for (unsigned i = 0; i < message->descriptor->n_fields; i++)
        if (field_keeps_field_zero(message, &message->descriptor->fields[i])) return true;
    return false;
}

static void check_repacking(const ProtobufCMessage *message) {
    uint8_t *frame = NULL, *again = NULL;
    size_t frame_bytes = 0, again_bytes = 0;
    require(wire_pack(message, &frame, &frame_bytes) == 0);
    size_t payload_bytes = 0;
    require(wire_payload_length(frame, UINT32_MAX, &payload_bytes) == 0);
    require(payload_bytes + WIRE_HEADER_BYTES == frame_bytes);

    ProtobufCMessage *copy = NULL;
    require(wire_unpack(&tb__envelope__descriptor, frame + WIRE_HEADER_BYTES, payload_bytes,
                        &copy) == 0);
    require(wire_pack(copy, &again, &again_bytes) == 0);
    require(again_bytes == frame_bytes && memcmp(again, frame, frame_bytes) == 0);
    wire_message_free(copy);
    free(again);
    free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < WIRE_HEADER_BYTES || size > MAX_INPUT_BYTES) return 0;
    check_header(data, size - WIRE_HEADER_BYTES);
    ProtobufCMessage *message = NULL;
    const int r = wire_unpack(&tb__envelope__descriptor, data + WIRE_HEADER_BYTES,
                              size - WIRE_HEADER_BYTES, &message);
    require(r == 0 || r == WIRE_E_MALFORMED);
    require((r == 0) == (message != NULL));
    if (message && !keeps_field_zero(message)) check_repacking(message);
    wire_message_free(message);
    return 0;
}
