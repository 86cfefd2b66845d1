#include "broker/marker.h"

#include <string.h>

#include <sodium.h>

#include "base/error.h"
#include "platform/directory.h"

enum { MARKER_HMAC_BYTES = 8 };

_Static_assert(MARKER_KEY_BYTES == crypto_auth_hmacsha256_KEYBYTES, "key size of HMAC-SHA256");

int marker_key_load(const char *state_directory, MarkerKey *ret_key) {
    const int r = directory_load_secret(state_directory, "redaction.key", ret_key->bytes,
                                        sizeof ret_key->bytes);
    return r < 0 ? error_fold(r) : 0;
}

void marker_make(const MarkerKey *key, const void *value, size_t n_bytes,
                 char ret_marker[MARKER_BYTES]) {
    unsigned char hmac[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256(hmac, value, n_bytes, key->bytes);
    char hex[2 * MARKER_HMAC_BYTES + 1];
    sodium_bin2hex(hex, sizeof hex, hmac, MARKER_HMAC_BYTES);
    memcpy(ret_marker, "[REDACTED:", 10);
    memcpy(ret_marker + 10, hex, sizeof hex - 1);
    memcpy(ret_marker + 10 + sizeof hex - 1, "]", 2);
}
