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
/* The stream is at its end: hands over what was kept; nothing is added after that. `is_cut`: who
 * wrote was killed, perhaps within a canary. Nor do head and tail end or begin within a marker when
 * something is left out between them. */
void output_finish(Output *output, bool is_cut, OutputFacts *ret_facts);
/* Head and tail in one text; a gap between them ends a line. The caller frees *ret_text. 0 or
 * -ENOMEM. */
int output_join(const OutputFacts *facts, char **ret_text, size_t *ret_n_bytes);
/* As redactor_saw; all is known once the output is finished. */
bool output_saw(const Output *output, size_t canary, uint64_t *ret_offset);

static inline void output_freep(Output **output) {
    output_free(*output);
}
