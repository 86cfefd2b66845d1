#include "warden/redact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

enum { CHUNK_BYTES = 1 << 16 };

/* The window holds the stream from the first byte at which a canary might still begin unseen. */
struct Redactor {
    const Scanner *scanner;
    RedactSink sink;
    void *data;
    uint8_t *window;
    size_t window_bytes;
    size_t covered_bytes; /* of the window, passed on or replaced already */
    uint64_t offset;      /* of the window in the stream */
    bool *seen;           /* by canary */
    uint64_t *first_offset;
};

int redactor_new(const Scanner *scanner, RedactSink sink, void *data, Redactor **ret_redactor) {
    CLEANUP(redactor_freep) Redactor *redactor = calloc(1, sizeof *redactor);
    if (!redactor) return error_origin(-ENOMEM);
    *redactor = (Redactor){.scanner = scanner, .sink = sink, .data = data};
    if (scanner) {
        const size_t n_canaries = scanner_canaries(scanner)->n_items;
        redactor->window = malloc(scanner_longest_bytes(scanner) + CHUNK_BYTES);
        redactor->seen = calloc(n_canaries, sizeof *redactor->seen);
        redactor->first_offset = calloc(n_canaries, sizeof *redactor->first_offset);
        if (!redactor->window || !redactor->seen || !redactor->first_offset)
            return error_origin(-ENOMEM);
    }
    *ret_redactor = TAKE(redactor);
    return 0;
}

Redactor *redactor_free(Redactor *redactor) {
    if (!redactor) return NULL;
    free(redactor->window);
    free(redactor->seen);
    free(redactor->first_offset);
    free(redactor);
    return NULL;
}

/* Passes on what is plain up to `end` in the window. */
static void pass_on(Redactor *redactor, size_t end) {
    if (end <= redactor->covered_bytes) return;
    if (redactor->sink)
        redactor->sink(redactor->data, redactor->window + redactor->covered_bytes,
                       end - redactor->covered_bytes);
    redactor->covered_bytes = end;
}

static void on_found(void *data, size_t index, size_t start) {
    Redactor *redactor = data;
    const Canary *canary = &scanner_canaries(redactor->scanner)->items[index];
    if (!redactor->seen[index]) {
        redactor->seen[index] = true;
        redactor->first_offset[index] = redactor->offset + start;
    }
    const size_t end = start + canary->value.n_bytes;
    if (end <= redactor->covered_bytes) return; /* inside another one */
    pass_on(redactor, start);
    if (redactor->sink)
        redactor->sink(redactor->data, (const uint8_t *)canary->marker, strlen(canary->marker));
    redactor->covered_bytes = end;
}

/* Settles the first n_starts bytes of the window: whatever begins there is known by now. */
static void settle(Redactor *redactor, size_t n_starts) {
    /* Who only wants to know needs to see each canary once. */
    const bool *skip = redactor->sink ? NULL : redactor->seen;
    scanner_scan(redactor->scanner, redactor->window, redactor->window_bytes, n_starts, skip,
                 on_found, redactor);
    pass_on(redactor, n_starts);
    memmove(redactor->window, redactor->window + n_starts, redactor->window_bytes - n_starts);
    redactor->window_bytes -= n_starts;
    redactor->covered_bytes -= n_starts;
    redactor->offset += n_starts;
}

void redactor_feed(Redactor *redactor, const uint8_t *bytes, size_t n_bytes) {
    if (!redactor->scanner) {
        if (redactor->sink) redactor->sink(redactor->data, bytes, n_bytes);
        return;
    }
    const size_t held_bytes = scanner_longest_bytes(redactor->scanner) - 1;
    while (n_bytes > 0) {
        const size_t taken = n_bytes < CHUNK_BYTES ? n_bytes : CHUNK_BYTES;
        memcpy(redactor->window + redactor->window_bytes, bytes, taken);
        redactor->window_bytes += taken;
        bytes += taken;
        n_bytes -= taken;
        if (redactor->window_bytes > held_bytes)
            settle(redactor, redactor->window_bytes - held_bytes);
    }
}

void redactor_finish(Redactor *redactor) {
    if (redactor->scanner) settle(redactor, redactor->window_bytes);
}

bool redactor_saw(const Redactor *redactor, size_t canary, uint64_t *ret_offset) {
    if (!redactor->scanner || !redactor->seen[canary]) return false;
    *ret_offset = redactor->first_offset[canary];
    return true;
}

/* --- One text ------------------------------------------------------------------------------ */

typedef struct Gatherer {
    uint8_t *bytes;
    size_t n_bytes;
    size_t capacity;
    bool failed;
} Gatherer;

static void gather(void *data, const uint8_t *bytes, size_t n_bytes) {
    Gatherer *gatherer = data;
    if (gatherer->failed) return;
    const size_t wanted = gatherer->n_bytes + n_bytes + 1;
    if (wanted > gatherer->capacity) {
        const size_t capacity = wanted > 2 * gatherer->capacity ? wanted : 2 * gatherer->capacity;
        uint8_t *grown = realloc(gatherer->bytes, capacity);
        gatherer->failed = !grown;
        if (!grown) return;
        gatherer->bytes = grown;
        gatherer->capacity = capacity;
    }
    if (n_bytes) memcpy(gatherer->bytes + gatherer->n_bytes, bytes, n_bytes);
    gatherer->n_bytes += n_bytes;
    gatherer->bytes[gatherer->n_bytes] = '\0';
}

int redact_bytes(const Scanner *scanner, const void *bytes, size_t n_bytes, uint8_t **ret_bytes,
                 size_t *ret_n_bytes) {
    Gatherer gatherer = {0};
    CLEANUP(redactor_freep) Redactor *redactor = NULL;
    const int r = redactor_new(scanner, gather, &gatherer, &redactor);
    if (r < 0) return error_fold(r);
    gather(&gatherer, NULL, 0);
    redactor_feed(redactor, bytes, n_bytes);
    redactor_finish(redactor);
    if (gatherer.failed) {
        free(gatherer.bytes);
        return error_origin(-ENOMEM);
    }
    *ret_bytes = gatherer.bytes;
    *ret_n_bytes = gatherer.n_bytes;
    return 0;
}

int redact_text(const Scanner *scanner, const char *text, char **ret_text) {
    if (!text) {
        *ret_text = NULL;
        return 0;
    }
    CLEANUP(freep) uint8_t *shown = NULL;
    size_t shown_bytes;
    int r = redact_bytes(scanner, text, strlen(text), &shown, &shown_bytes);
    if (r == 0) r = text_sanitize(shown, shown_bytes, ret_text);
    return r < 0 ? error_fold(r) : 0;
}
