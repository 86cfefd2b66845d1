#include "warden/redact.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

enum { CHUNK_BYTES = 1 << 16 };

/* The window holds the stream from the first byte at which a canary might still begin unseen. */
struct Redactor {
    const Scanner *scanner;
    RedactSink sink;
    void *data;
    uint8_t *window;
    size_t window_bytes;
    size_t covered_bytes; /* of the window, passed on or replaced already */
    size_t shown_bytes;   /* of the window at most: less than all at the end of a cut stream */
    uint64_t offset;      /* of the window in the stream */
    bool *seen;           /* by canary */
    uint64_t *first_offset;
};

int redactor_new(const Scanner *scanner, RedactSink sink, void *data, Redactor **ret_redactor) {
    CLEANUP(redactor_freep) Redactor *redactor = calloc(1, sizeof *redactor);
    if (!redactor) return error_origin(-ENOMEM);
    *redactor = (Redactor){.scanner = scanner, .sink = sink, .data = data, .shown_bytes = SIZE_MAX};
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
    if (end > redactor->shown_bytes) end = redactor->shown_bytes;
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
    redactor->covered_bytes -= n_starts < redactor->covered_bytes ? n_starts
                                                                  : redactor->covered_bytes;
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

/* The longest end of the bytes, not all of `whole`, with which `whole` begins. */
static size_t overlap(const uint8_t *bytes, size_t n_bytes, const void *whole, size_t whole_bytes) {
    if (whole_bytes == 0) return 0;
    size_t n = n_bytes < whole_bytes ? n_bytes : whole_bytes - 1;
    while (n > 0 && memcmp(bytes + n_bytes - n, whole, n) != 0) n--;
    return n;
}

static size_t begun_canary_bytes(const Redactor *redactor) {
    const CanaryList *canaries = scanner_canaries(redactor->scanner);
    size_t most = 0;
    for (size_t i = 0; i < canaries->n_items; i++) {
        const Bytes *value = &canaries->items[i].value;
        const size_t n = overlap(redactor->window, redactor->window_bytes, value->data,
                                 value->n_bytes);
        if (n > most) most = n;
    }
    return most;
}

void redactor_finish(Redactor *redactor, bool is_cut) {
    if (!redactor->scanner) return;
    if (is_cut) redactor->shown_bytes = redactor->window_bytes - begun_canary_bytes(redactor);
    settle(redactor, redactor->window_bytes);
    redactor->shown_bytes = SIZE_MAX;
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

/* Hands over what was gathered. */
static int take(Gatherer *gatherer, uint8_t **ret_bytes, size_t *ret_n_bytes) {
    gather(gatherer, NULL, 0);
    if (gatherer->failed) {
        free(gatherer->bytes);
        return error_origin(-ENOMEM);
    }
    *ret_bytes = gatherer->bytes;
    *ret_n_bytes = gatherer->n_bytes;
    return 0;
}

static int redact_part(const Scanner *scanner, const void *bytes, size_t n_bytes, bool is_cut,
                       uint8_t **ret_bytes, size_t *ret_n_bytes) {
    Gatherer gatherer = {0};
    CLEANUP(redactor_freep) Redactor *redactor = NULL;
    int r = redactor_new(scanner, gather, &gatherer, &redactor);
    if (r < 0) return error_fold(r);
    redactor_feed(redactor, bytes, n_bytes);
    redactor_finish(redactor, is_cut);
    r = take(&gatherer, ret_bytes, ret_n_bytes);
    return r < 0 ? error_fold(r) : 0;
}

int redact_bytes(const Scanner *scanner, const void *bytes, size_t n_bytes, uint8_t **ret_bytes,
                 size_t *ret_n_bytes) {
    const int r = redact_part(scanner, bytes, n_bytes, false, ret_bytes, ret_n_bytes);
    return r < 0 ? error_fold(r) : 0;
}

/* --- Markers in a text --------------------------------------------------------------------- */

/* Length of the marker that the text begins with, or 0. */
static size_t marker_bytes(const CanaryList *canaries, const char *text) {
    for (size_t i = 0; i < canaries->n_items; i++) {
        const size_t n = strlen(canaries->items[i].marker);
        if (strncmp(text, canaries->items[i].marker, n) == 0) return n;
    }
    return 0;
}

/* The first marker in the text, or its end. */
static const char *find_marker(const CanaryList *canaries, const bool *begins, const char *text,
                               size_t *ret_n_bytes) {
    *ret_n_bytes = 0;
    for (; *text; text++) {
        if (begins[(unsigned char)*text]) *ret_n_bytes = marker_bytes(canaries, text);
        if (*ret_n_bytes > 0) break;
    }
    return text;
}

/* Redacts what stands between the markers: one of them may hold a short canary by chance. */
static int redact_between(const Scanner *scanner, const char *text, bool is_cut,
                          uint8_t **ret_bytes, size_t *ret_n_bytes) {
    const CanaryList *canaries = scanner_canaries(scanner);
    bool begins[UINT8_MAX + 1] = {false}; /* a marker, by first byte */
    for (size_t i = 0; i < canaries->n_items; i++)
        begins[(unsigned char)canaries->items[i].marker[0]] = true;
    Gatherer gatherer = {0};
    CLEANUP(redactor_freep) Redactor *redactor = NULL;
    int r = redactor_new(scanner, gather, &gatherer, &redactor);
    if (r < 0) return error_fold(r);
    for (;;) {
        size_t n_bytes;
        const char *marker = find_marker(canaries, begins, text, &n_bytes);
        redactor_feed(redactor, (const uint8_t *)text, (size_t)(marker - text));
        redactor_finish(redactor, is_cut && n_bytes == 0);
        if (n_bytes == 0) break;
        gather(&gatherer, (const uint8_t *)marker, n_bytes);
        text = marker + n_bytes;
    }
    r = take(&gatherer, ret_bytes, ret_n_bytes);
    return r < 0 ? error_fold(r) : 0;
}

size_t redact_begun_bytes(const Scanner *scanner, const void *text, size_t n_bytes) {
    size_t most = 0;
    for (size_t i = 0; scanner && i < scanner_canaries(scanner)->n_items; i++) {
        const char *marker = scanner_canaries(scanner)->items[i].marker;
        const size_t n = overlap(text, n_bytes, marker, strlen(marker));
        if (n > most) most = n;
    }
    return most;
}

size_t redact_ended_bytes(const Scanner *scanner, const void *text, size_t n_bytes) {
    size_t most = 0;
    for (size_t i = 0; scanner && i < scanner_canaries(scanner)->n_items; i++) {
        const char *marker = scanner_canaries(scanner)->items[i].marker;
        const size_t length = strlen(marker);
        for (size_t n = most + 1; n < length && n <= n_bytes; n++)
            if (memcmp(text, marker + length - n, n) == 0) most = n;
    }
    return most;
}

size_t redact_cut(const Scanner *scanner, const void *text, size_t n_bytes, size_t max_bytes) {
    enum { CHARACTER_MAX_BYTES = 4 };
    const uint8_t *bytes = text;
    if (n_bytes <= max_bytes) return n_bytes;
    size_t shown = max_bytes;
    for (int i = 1; i < CHARACTER_MAX_BYTES && shown > 0 && (bytes[shown] & 0xc0) == 0x80; i++)
        shown--;
    return shown - redact_begun_bytes(scanner, bytes, shown);
}

/* --- Well-formed texts --------------------------------------------------------------------- */

/* Runs of white space become one space, and none is left at either end. */
static void make_line(char *text) {
    char *out = text;
    for (const char *p = text; *p; p++) {
        if (!isspace((unsigned char)*p))
            *out++ = *p;
        else if (out > text && out[-1] != ' ')
            *out++ = ' ';
    }
    while (out > text && out[-1] == ' ') out--;
    *out = '\0';
}

static int shape(const Scanner *scanner, const void *bytes, size_t n_bytes, bool is_line,
                 bool is_cut, char **ret_text) {
    CLEANUP(freep) char *text = NULL;
    CLEANUP(freep) uint8_t *shown = NULL;
    size_t shown_bytes;
    int r = text_sanitize(bytes, n_bytes, &text);
    if (r < 0) return error_fold(r);
    if (is_line) make_line(text);
    if (!scanner) {
        *ret_text = TAKE(text);
        return 0;
    }
    r = redact_between(scanner, text, is_cut, &shown, &shown_bytes);
    /* A canary that is no text may have left a part of a character. */
    if (r == 0) r = text_sanitize(shown, shown_bytes, ret_text);
    return r < 0 ? error_fold(r) : 0;
}

/* In place; where there is room for them, dots tell that something is left out. */
static void shorten(const Scanner *scanner, char *line, size_t max_bytes) {
    static const char dots[] = "...";
    const size_t n_bytes = strlen(line);
    if (n_bytes <= max_bytes) return;
    const size_t n_dots = max_bytes > strlen(dots) ? strlen(dots) : 0;
    const size_t shown = redact_cut(scanner, line, n_bytes, max_bytes - n_dots);
    memcpy(line + shown, dots, n_dots);
    line[shown + n_dots] = '\0';
}

int redact_again(const Scanner *scanner, const void *bytes, size_t n_bytes, char **ret_text) {
    const int r = shape(scanner, bytes, n_bytes, false, false, ret_text);
    return r < 0 ? error_fold(r) : 0;
}

int redact_again_line(const Scanner *scanner, const void *bytes, size_t n_bytes, size_t max_bytes,
                      char **ret_line) {
    const int r = shape(scanner, bytes, n_bytes, true, false, ret_line);
    if (r < 0) return error_fold(r);
    shorten(scanner, *ret_line, max_bytes);
    return 0;
}

int redact_line(const Scanner *scanner, const char *text, size_t max_bytes, bool is_cut,
                char **ret_line) {
    CLEANUP(freep) uint8_t *shown = NULL;
    size_t shown_bytes;
    int r = redact_part(scanner, text, strlen(text), is_cut, &shown, &shown_bytes);
    if (r == 0) r = shape(scanner, shown, shown_bytes, true, is_cut, ret_line);
    if (r < 0) return error_fold(r);
    shorten(scanner, *ret_line, max_bytes);
    return 0;
}
