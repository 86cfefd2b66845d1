/* Fuzzer of the framing: any bytes are a frame. What unpacks must pack again, and from then on
 * unpacking and packing must change nothing. */
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
    if (message) check_repacking(message);
    wire_message_free(message);
    return 0;
}
