/* Redact: passes a stream on with every canary replaced by its marker, wherever the stream is cut,
 * and notes where each canary was first seen. Of canaries that overlap no byte gets through. Holds
 * back at most what might still become a canary; memory does not grow with the stream. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "warden/scan.h"

/* Takes what may be shown. */
typedef void (*RedactSink)(void *data, const uint8_t *bytes, size_t n_bytes);

typedef struct Redactor Redactor;

/* `scanner` is borrowed; NULL when there are no canaries. Without a sink it only notes what it
 * sees. The caller frees it. 0 or -ENOMEM. */
int redactor_new(const Scanner *scanner, RedactSink sink, void *data, Redactor **ret_redactor);
/* Takes NULL, returns NULL. */
Redactor *redactor_free(Redactor *redactor);

void redactor_feed(Redactor *redactor, const uint8_t *bytes, size_t n_bytes);
/* The stream is at its end: passes on what was held back. */
void redactor_finish(Redactor *redactor);

/* Whether the canary was seen, and at which byte of the stream first. */
bool redactor_saw(const Redactor *redactor, size_t canary, uint64_t *ret_offset);

/* Redacts one text; the caller frees *ret_bytes, which is NUL-terminated as well. `scanner` may be
 * NULL. 0 or -ENOMEM. */
int redact_bytes(const Scanner *scanner, const void *bytes, size_t n_bytes, uint8_t **ret_bytes,
                 size_t *ret_n_bytes);
/* Redacts one text and makes it well-formed; the caller frees it. NULL stays NULL. 0 or -ENOMEM. */
int redact_text(const Scanner *scanner, const char *text, char **ret_text);

static inline void redactor_freep(Redactor **redactor) {
    redactor_free(*redactor);
}
