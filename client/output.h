/* Output: what is known of one output stream of a job. Head and tail are one text when nothing lies
 * between them. */
#pragma once

#include <stdint.h>

#include "tbsandbox.pb-c.h"

/* Head and tail in one piece, which the caller frees; no output is an empty one. What lies between
 * them is not in it. 0 or -ENOMEM. */
int output_join(const Tb__Output *output, ProtobufCBinaryData *ret_joined);
/* Bytes that the daemon left out. */
uint64_t output_omitted_bytes(const Tb__Output *output);
