/* After Wu and Manber: the last two bytes of a window as long as the shortest canary tell how far
 * the window can move, or which canaries may begin at its start. */
#include "warden/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

enum { BLOCK_COUNT = 1 << 13, SHIFT_MAX = UINT16_MAX };

struct Scanner {
    const CanaryList *canaries;
    size_t shortest_bytes;
    size_t longest_bytes;
    size_t *next; /* of the canaries in one bucket, the longer first; SIZE_MAX ends it */
    size_t first[BLOCK_COUNT];   /* of each bucket */
    uint16_t shift[BLOCK_COUNT]; /* 0: look into the bucket */
};

/* The block that ends at `end` (its last byte), hashed: blocks may share a bucket, since what is in
 * it is compared anyway. With one-byte canaries it is that byte alone. */
static size_t block_at(const Scanner *scanner, const uint8_t *end) {
    return scanner->shortest_bytes == 1 ? end[0] : ((size_t)end[-1] << 5 ^ end[0]) % BLOCK_COUNT;
}

static void add_to_bucket(Scanner *scanner, size_t canary) {
    const Canary *items = scanner->canaries->items;
    const size_t block = block_at(scanner, items[canary].value.data + scanner->shortest_bytes - 1);
    size_t *link = &scanner->first[block];
    while (*link != SIZE_MAX && items[*link].value.n_bytes >= items[canary].value.n_bytes)
        link = &scanner->next[*link];
    scanner->next[canary] = *link;
    *link = canary;
}

static void add_shifts(Scanner *scanner, size_t canary) {
    const uint8_t *value = scanner->canaries->items[canary].value.data;
    const size_t width = scanner->shortest_bytes;
    for (size_t end = width == 1 ? 0 : 1; end < width; end++) {
        uint16_t *shift = &scanner->shift[block_at(scanner, value + end)];
        const size_t distance = width - 1 - end;
        if (distance < *shift) *shift = (uint16_t)distance;
    }
}

static void measure(Scanner *scanner) {
    scanner->shortest_bytes = SIZE_MAX;
    for (size_t i = 0; i < scanner->canaries->n_items; i++) {
        const size_t n = scanner->canaries->items[i].value.n_bytes;
        if (n < scanner->shortest_bytes) scanner->shortest_bytes = n;
        if (n > scanner->longest_bytes) scanner->longest_bytes = n;
    }
}

static void build(Scanner *scanner) {
    measure(scanner);
    const size_t width = scanner->shortest_bytes;
    const size_t far = width == 1 ? 1 : width - 1;
    for (size_t i = 0; i < BLOCK_COUNT; i++) {
        scanner->shift[i] = (uint16_t)(far < SHIFT_MAX ? far : SHIFT_MAX);
        scanner->first[i] = SIZE_MAX;
    }
    for (size_t i = 0; i < scanner->canaries->n_items; i++) {
        add_shifts(scanner, i);
        add_to_bucket(scanner, i);
    }
}

int scanner_new(const CanaryList *canaries, Scanner **ret_scanner) {
    CLEANUP(scanner_freep) Scanner *scanner = calloc(1, sizeof *scanner);
    if (!scanner) return error_origin(-ENOMEM);
    scanner->canaries = canaries;
    scanner->next = malloc(canaries->n_items * sizeof *scanner->next);
    if (!scanner->next) return error_origin(-ENOMEM);
    build(scanner);
    *ret_scanner = TAKE(scanner);
    return 0;
}

Scanner *scanner_free(Scanner *scanner) {
    if (!scanner) return NULL;
    free(scanner->next);
    free(scanner);
    return NULL;
}

size_t scanner_longest_bytes(const Scanner *scanner) {
    return scanner->longest_bytes;
}

const CanaryList *scanner_canaries(const Scanner *scanner) {
    return scanner->canaries;
}

void scanner_scan(const Scanner *scanner, const uint8_t *text, size_t n_bytes, size_t n_starts,
                  const bool *skip, ScanFound found, void *data) {
    const size_t width = scanner->shortest_bytes;
    for (size_t start = 0; start < n_starts && width <= n_bytes - start;) {
        const size_t block = block_at(scanner, text + start + width - 1);
        if (scanner->shift[block] > 0) {
            start += scanner->shift[block];
            continue;
        }
        for (size_t i = scanner->first[block]; i != SIZE_MAX; i = scanner->next[i]) {
            const Bytes *value = &scanner->canaries->items[i].value;
            if (value->n_bytes <= n_bytes - start && !(skip && skip[i]) &&
                memcmp(text + start, value->data, value->n_bytes) == 0)
                found(data, i, start);
        }
        start++;
    }
}
