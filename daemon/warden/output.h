/* Output: one stream that a job writes: counted and hashed as it comes, redacted, and kept at its
 * head and tail only. Memory is fixed whatever is written. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "verdict/facts.h"
#include "warden/redact.h"

typedef struct Output Output;

/* `scanner` as for redactor_new. The caller frees it. 0 or -ENOMEM. */
int output_new(const Scanner *scanner, size_t keep_bytes, Output **ret_output);
/* Takes NULL, returns NULL. */
Output *output_free(Output *output);

void output_add(Output *output, const uint8_t *bytes, size_t n_bytes);
/* Written so far, before redaction. */
uint64_t output_total_bytes(const Output *output);
/* The stream is at its end: hands over what was kept; nothing is added after that. */
void output_finish(Output *output, OutputFacts *ret_facts);
/* As redactor_saw; all is known once the output is finished. */
bool output_saw(const Output *output, size_t canary, uint64_t *ret_offset);

static inline void output_freep(Output **output) {
    output_free(*output);
}
