#include "warden/checks/produced.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "warden/checks/canaries.h"
#include "warden/redact.h"

enum { BUFFER_BYTES = 1 << 16 };

typedef struct Listing {
    const Order *order;
    const Scanner *scanner;
    const bool *unchanged; /* by input */
    Facts *facts;
    size_t capacity;     /* of facts->produced */
    uint64_t left_bytes; /* that may still be read */
    bool has_full_file;  /* one stands at the limit of a single file */
    bool is_cut;         /* there are more entries than are listed */
} Listing;

static const char *note_for(const WorkdirEntry *entry) {
    switch (entry->file.kind) {
    case WORKDIR_REGULAR:
        return entry->file.fd < 0 ? "cannot be read" : NULL;
    case WORKDIR_DIRECTORY:
        return "directory";
    case WORKDIR_SYMLINK:
        return "symbolic link";
    case WORKDIR_FIFO:
        return "FIFO";
    case WORKDIR_SOCKET:
        return "socket";
    case WORKDIR_DEVICE:
        return "device";
    case WORKDIR_MISSING:
        break;
    }
    return "vanished";
}

static int append_disk_limit(FailureList *findings, const char *message) {
    const Failure failure = {.code = CODE_DISK_LIMIT, .message = (char *)message};
    const int r = failure_list_append(findings, &failure);
    return r < 0 ? error_fold(r) : 0;
}

/* The next free item; zeroed. */
static int append_item(Listing *listing, ProducedFile **ret_item) {
    Facts *facts = listing->facts;
    if (facts->n_produced == listing->capacity) {
        const size_t capacity = listing->capacity ? 2 * listing->capacity : 16;
        ProducedFile *grown = realloc(facts->produced, capacity * sizeof *grown);
        if (!grown) return error_origin(-ENOMEM);
        facts->produced = grown;
        listing->capacity = capacity;
    }
    *ret_item = &facts->produced[facts->n_produced++];
    **ret_item = (ProducedFile){0};
    return 0;
}

static const OrderInput *find_input(const Listing *listing, const char *path, bool *ret_unchanged) {
    for (size_t i = 0; i < listing->order->n_inputs; i++) {
        if (strcmp(listing->order->inputs[i].name, path) != 0) continue;
        *ret_unchanged = listing->unchanged[i];
        return &listing->order->inputs[i];
    }
    *ret_unchanged = false;
    return NULL;
}

/* An input may hold canaries: that it still does after it was changed is no leak. */
static bool holds(const OrderInput *input, const Canary *canary) {
    return input && memmem(input->content.data, input->content.n_bytes, canary->value.data,
                           canary->value.n_bytes);
}

static int report_leaks(const Listing *listing, const Redactor *redactor, const OrderInput *input,
                        const char *shown_name) {
    const CanaryList *canaries = scanner_canaries(listing->scanner);
    for (size_t i = 0; i < canaries->n_items; i++) {
        uint64_t offset;
        const Canary *canary = &canaries->items[i];
        if (!redactor_saw(redactor, i, &offset) || holds(input, canary)) continue;
        const int r = canaries_append(&listing->facts->findings, canary, "file", shown_name,
                                      offset);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int read_content(const WorkdirFile *file, Redactor *redactor, ProducedFile *item) {
    uint8_t buffer[BUFFER_BYTES];
    crypto_hash_sha256_state hash;
    crypto_hash_sha256_init(&hash);
    for (;;) {
        size_t n;
        const int r = workdir_read(file, buffer, sizeof buffer, &n);
        if (r < 0) return error_fold(r);
        if (n == 0) break;
        crypto_hash_sha256_update(&hash, buffer, n);
        redactor_feed(redactor, buffer, n);
    }
    redactor_finish(redactor, false);
    crypto_hash_sha256_final(&hash, item->sha256);
    item->has_sha256 = true;
    return 0;
}

/* Hashes and searches one regular file, or the target of a link, which is text that the job chose.
 */
static int search(Listing *listing, const WorkdirEntry *entry, const OrderInput *input,
                  const char *shown_name, ProducedFile *item) {
    if (entry->target) {
        const int r = canaries_check_text(listing->scanner, entry->target, strlen(entry->target),
                                          "file", shown_name, &listing->facts->findings);
        return r < 0 ? error_fold(r) : 0;
    }
    CLEANUP(redactor_freep) Redactor *redactor = NULL;
    int r = redactor_new(listing->scanner, NULL, NULL, &redactor);
    if (r == 0) r = read_content(&entry->file, redactor, item);
    if (r == 0 && listing->scanner) r = report_leaks(listing, redactor, input, shown_name);
    return r < 0 ? error_fold(r) : 0;
}

/* Its size counts in any case; whether it is read depends on what is left. */
static int measure(Listing *listing, const WorkdirEntry *entry, const OrderInput *input,
                   const char *shown_name, ProducedFile *item) {
    const char *note = note_for(entry);
    int r = 0;
    if (entry->file.kind == WORKDIR_REGULAR) {
        const uint64_t size_bytes = entry->file.size_bytes;
        item->size_bytes = size_bytes;
        listing->facts->disk_bytes += size_bytes;
        if (size_bytes >= listing->order->limits.disk_bytes) listing->has_full_file = true;
        if (size_bytes > listing->left_bytes)
            note = "not read: over the disk limit";
        else
            listing->left_bytes -= size_bytes;
    }
    const bool is_searched = !note || entry->target;
    if (is_searched) r = search(listing, entry, input, shown_name, item);
    if (r == 0 && note && !(item->note = strdup(note))) r = error_origin(-ENOMEM);
    return r < 0 ? error_fold(r) : 0;
}

/* Redacted first and cut afterwards: half a canary would not be seen. */
static int name_item(const Listing *listing, const WorkdirEntry *entry, ProducedFile *item,
                     char **ret_shown_name) {
    const Scanner *scanner = listing->scanner;
    char *shown = NULL;
    int r = redact_bytes(scanner, entry->path, strlen(entry->path), &item->name, &item->name_bytes);
    if (r < 0) return error_fold(r);
    r = redact_again(scanner, item->name, item->name_bytes, &shown);
    if (r < 0) return error_fold(r);
    shown[redact_cut(scanner, shown, strlen(shown), PRODUCED_MAX_NAME_BYTES)] = '\0';
    item->name_bytes = redact_cut(scanner, item->name, item->name_bytes, PRODUCED_MAX_NAME_BYTES);
    item->name[item->name_bytes] = '\0';
    *ret_shown_name = shown;
    return 0;
}

static int list_entry(Listing *listing, const WorkdirEntry *entry, const OrderInput *input) {
    CLEANUP(freep) char *shown_name = NULL;
    ProducedFile *item = NULL;
    int r = append_item(listing, &item);
    if (r == 0) r = name_item(listing, entry, item, &shown_name);
    if (r == 0 && !input)
        r = canaries_check_name(listing->scanner, entry->path, entry->name, shown_name,
                                &listing->facts->findings);
    if (r == 0) r = measure(listing, entry, input, shown_name, item);
    return r < 0 ? error_fold(r) : 0;
}

static int take_entry(Listing *listing, const WorkdirEntry *entry) {
    bool is_unchanged;
    const OrderInput *input = find_input(listing, entry->path, &is_unchanged);
    if (is_unchanged) return 0;
    const int r = list_entry(listing, entry, input);
    return r < 0 ? error_fold(r) : 0;
}

static int walk(Listing *listing, const Workdir *workdir) {
    CLEANUP(workdir_walk_freep) WorkdirWalk *pass = NULL;
    const size_t max_entries = PRODUCED_MAX_ENTRIES + listing->order->n_inputs;
    int r = workdir_walk_new(workdir, max_entries, &pass);
    if (r < 0) return error_fold(r);
    WorkdirEntry entry;
    while ((r = workdir_walk_next(pass, &entry)) == 0) {
        r = take_entry(listing, &entry);
        workdir_file_deinit(&entry.file);
        if (r < 0) return error_fold(r);
    }
    listing->is_cut = r == WORKDIR_E_CUT;
    return r < 0 ? error_fold(r) : 0;
}

/* A pass needs every byte searched. */
static int check_bounds(const Listing *listing) {
    if (!listing->is_cut) return 0;
    const int r = append_disk_limit(
        &listing->facts->findings,
        "the job left more entries in its work directory than are searched");
    return r < 0 ? error_fold(r) : 0;
}

static int check_disk(const Listing *listing) {
    const uint64_t used = listing->facts->disk_bytes;
    const uint64_t allowed = listing->order->limits.disk_bytes;
    if (used <= allowed && !listing->has_full_file) return 0;
    if (listing->facts->limit == CODE_DISK_LIMIT) return 0; /* it is told already */
    CLEANUP(freep) char *message = NULL;
    int r = text_format(&message,
                        used > allowed
                            ? "the job's files hold %" PRIu64 " bytes, %" PRIu64 " are allowed"
                            : "a file of the job's stands at the limit: %" PRIu64 " of %" PRIu64
                              " bytes",
                        used, allowed);
    if (r == 0) r = append_disk_limit(&listing->facts->findings, message);
    return r < 0 ? error_fold(r) : 0;
}

int produced_check(const Order *order, const Workdir *workdir, const Scanner *scanner,
                   const bool *unchanged, Facts *facts) {
    Listing listing = {
        .order = order,
        .scanner = scanner,
        .unchanged = unchanged,
        .facts = facts,
        .left_bytes = order->limits.disk_bytes,
    };
    int r = walk(&listing, workdir);
    if (r == 0) r = check_bounds(&listing);
    if (r == 0) r = check_disk(&listing);
    return r < 0 ? error_fold(r) : 0;
}
