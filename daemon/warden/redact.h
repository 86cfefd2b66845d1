/* Redact: passes a stream on with every canary replaced by its marker, wherever the stream is cut,
 * and notes where each canary was first seen. Of canaries that overlap no byte gets through. Holds
 * back at most what might still become a canary; memory does not grow with the stream.
 * What is shown is redacted first and cut afterwards, and never cut inside a marker. */
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
/* The stream is at its end: passes on what was held back. With `is_cut` there was more of it, and
 * what may be the first part of a canary is left out. */
void redactor_finish(Redactor *redactor, bool is_cut);

/* Whether the canary was seen, and at which byte of the stream first. */
bool redactor_saw(const Redactor *redactor, size_t canary, uint64_t *ret_offset);

/* Redacts one text; the caller frees *ret_bytes, which is NUL-terminated as well. `scanner` may be
 * NULL, here and below. 0 or -ENOMEM. */
int redact_bytes(const Scanner *scanner, const void *bytes, size_t n_bytes, uint8_t **ret_bytes,
                 size_t *ret_n_bytes);
/* Makes a text well-formed that was redacted as bytes, and redacts what became a canary by that;
 * the markers in it stay. Nothing is left only of a canary that is no text itself and stands in the
 * replacement character. The caller frees *ret_text. 0 or -ENOMEM. */
int redact_again(const Scanner *scanner, const void *bytes, size_t n_bytes, char **ret_text);
/* The same as one line of at most max_bytes. */
int redact_again_line(const Scanner *scanner, const void *bytes, size_t n_bytes, size_t max_bytes,
                      char **ret_line);
/* Redacts one text and makes it one well-formed line of at most max_bytes. `is_cut` as for
 * redactor_finish. The caller frees *ret_line. 0 or -ENOMEM. */
int redact_line(const Scanner *scanner, const char *text, size_t max_bytes, bool is_cut,
                char **ret_line);

/* How much of a redacted text is shown where max_bytes may be: no marker and no character is cut.
 */
size_t redact_cut(const Scanner *scanner, const void *text, size_t n_bytes, size_t max_bytes);
/* Of a redacted text that was cut: bytes at its end that begin a marker, and at its start that end
 * one. */
size_t redact_begun_bytes(const Scanner *scanner, const void *text, size_t n_bytes);
size_t redact_ended_bytes(const Scanner *scanner, const void *text, size_t n_bytes);

static inline void redactor_freep(Redactor **redactor) {
    redactor_free(*redactor);
}
