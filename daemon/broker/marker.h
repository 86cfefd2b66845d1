/* Marker: what stands in a canary's place in everything that is shown: [REDACTED:<hmac>], keyed by
 * a secret of this host, so that the same canary shows the same marker and no marker tells its
 * canary. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { MARKER_KEY_BYTES = 32, MARKER_BYTES = 28 }; /* "[REDACTED:" 16 hex "]" NUL */

typedef struct MarkerKey {
    uint8_t bytes[MARKER_KEY_BYTES];
} MarkerKey;

/* The key kept in the state directory, made there the first time. 0 or -errno. */
int marker_key_load(const char *state_directory, MarkerKey *ret_key);
/* HMAC-SHA256 (RFC 2104, FIPS 180-4) of the value, its first 64 bits in hex. */
void marker_make(const MarkerKey *key, const void *value, size_t n_bytes,
                 char ret_marker[MARKER_BYTES]);
