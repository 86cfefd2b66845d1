#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static void copy(uint8_t *to, ProtobufCBinaryData from) {
    if (from.len) memcpy(to, from.data, from.len);
}

int output_join(const Tb__Output *output, ProtobufCBinaryData *ret_joined) {
    const ProtobufCBinaryData none = {0};
    const ProtobufCBinaryData head = output ? output->head : none;
    const ProtobufCBinaryData tail = output ? output->tail : none;
    uint8_t *bytes = malloc(head.len + tail.len + 1);
    if (!bytes) return error_origin(-ENOMEM);
    copy(bytes, head);
    copy(bytes + head.len, tail);
    *ret_joined = (ProtobufCBinaryData){.len = head.len + tail.len, .data = bytes};
    return 0;
}

uint64_t output_omitted_bytes(const Tb__Output *output) {
    return output ? output->omitted_bytes : 0;
}
