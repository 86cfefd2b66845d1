/* Scan: finds every literal occurrence of a set of canaries, in one pass whose cost hardly depends
 * on their number. Never decides what an occurrence means. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "warden/order.h"

typedef struct Scanner Scanner;

/* Borrows the canaries for its whole life; there is at least one. The caller frees it. 0 or
 * -ENOMEM.
 */
int scanner_new(const CanaryList *canaries, Scanner **ret_scanner);
/* Takes NULL, returns NULL. */
Scanner *scanner_free(Scanner *scanner);
/* Length of the longest canary. */
size_t scanner_longest_bytes(const Scanner *scanner);
const CanaryList *scanner_canaries(const Scanner *scanner);

typedef void (*ScanFound)(void *data, size_t canary, size_t start);

/* Calls `found` for each occurrence that begins in the first n_starts bytes of the text: in order
 * of where they begin, the longest first. Canaries with skip[canary] set are not looked for; `skip`
 * may be NULL, and `found` may change it. */
void scanner_scan(const Scanner *scanner, const uint8_t *text, size_t n_bytes, size_t n_starts,
                  const bool *skip, ScanFound found, void *data);

static inline void scanner_freep(Scanner **scanner) {
    scanner_free(*scanner);
}
