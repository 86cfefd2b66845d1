#include "verdict/difference.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "verdict/verdict.h"

enum { SHOWN_HASH_BYTES = 8, SHOWN_NAME_BYTES = 80 };

static int append(const char *subject, const char *message, FailureList *failures) {
    const Failure failure = {
        .code = CODE_NONDETERMINISTIC,
        .subject = (char *)subject,
        .message = (char *)message,
    };
    const int r = failure_list_append(failures, &failure);
    return r < 0 ? error_fold(r) : 0;
}

typedef struct EndText {
    char text[48];
} EndText;

static EndText describe_end(const Facts *facts) {
    EndText end;
    if (facts->signal)
        snprintf(end.text, sizeof end.text, "killed by %s", verdict_signal_name(facts->signal));
    else
        snprintf(end.text, sizeof end.text, "exited %d", facts->exit_code);
    return end;
}

static int compare_exit(const Facts *first, const Facts *other, FailureList *failures) {
    if (first->signal == other->signal && first->exit_code == other->exit_code) return 0;
    CLEANUP(freep) char *message = NULL;
    int r = text_format(&message, "the code ended differently: first %s, then %s",
                        describe_end(first).text, describe_end(other).text);
    if (r == 0) r = append("exit", message, failures);
    return r < 0 ? error_fold(r) : 0;
}

typedef struct HashText {
    char text[2 * SHOWN_HASH_BYTES + 1];
} HashText;

static HashText describe_hash(const uint8_t sha256[SHA256_BYTES]) {
    HashText hash;
    for (size_t i = 0; i < SHOWN_HASH_BYTES; i++) snprintf(hash.text + 2 * i, 3, "%02x", sha256[i]);
    return hash;
}

static int compare_stdout(const Facts *first, const Facts *other, FailureList *failures) {
    const OutputFacts *a = &first->out, *b = &other->out;
    if (a->total_bytes == b->total_bytes && memcmp(a->sha256, b->sha256, SHA256_BYTES) == 0)
        return 0;
    CLEANUP(freep) char *message = NULL;
    int r = text_format(&message,
                        "stdout differs: first %" PRIu64 " bytes (SHA-256 %s...), then %" PRIu64
                        " bytes (SHA-256 %s...)",
                        a->total_bytes, describe_hash(a->sha256).text, b->total_bytes,
                        describe_hash(b->sha256).text);
    if (r == 0) r = append("stdout", message, failures);
    return r < 0 ? error_fold(r) : 0;
}

static int compare_names(const ProducedFile *a, const ProducedFile *b) {
    const size_t n = a->name_bytes < b->name_bytes ? a->name_bytes : b->name_bytes;
    const int order = n ? memcmp(a->name, b->name, n) : 0;
    if (order) return order;
    return (a->name_bytes > b->name_bytes) - (a->name_bytes < b->name_bytes);
}

static int compare_entries(const void *a, const void *b) {
    return compare_names(*(const ProducedFile *const *)a, *(const ProducedFile *const *)b);
}

/* The files in the order of their names; the caller frees the array only. */
static int sort_produced(const Facts *facts, const ProducedFile ***ret_sorted) {
    const ProducedFile **sorted = calloc(facts->n_produced + 1, sizeof *sorted);
    if (!sorted) return error_origin(-ENOMEM);
    for (size_t i = 0; i < facts->n_produced; i++) sorted[i] = &facts->produced[i];
    qsort(sorted, facts->n_produced, sizeof *sorted, compare_entries);
    *ret_sorted = sorted;
    return 0;
}

static bool same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_content(const ProducedFile *a, const ProducedFile *b) {
    return a->size_bytes == b->size_bytes && a->has_sha256 == b->has_sha256 &&
           memcmp(a->sha256, b->sha256, SHA256_BYTES) == 0 && same_text(a->note, b->note);
}

static int append_file(const ProducedFile *file, const char *what, FailureList *failures) {
    const bool cut = file->name_bytes > SHOWN_NAME_BYTES;
    CLEANUP(freep) char *name = NULL;
    CLEANUP(freep) char *message = NULL;
    int r = text_sanitize(file->name, cut ? SHOWN_NAME_BYTES : file->name_bytes, &name);
    if (r < 0) return error_fold(r);
    text_make_printable(name);
    r = text_format(&message, "the file %s%s %s", name, cut ? "..." : "", what);
    if (r == 0) r = append("produced", message, failures);
    return r < 0 ? error_fold(r) : 0;
}

/* Walks both sorted arrays, each closed by NULL, up to the first difference. */
static int compare_sorted(const ProducedFile **first, const ProducedFile **other,
                          FailureList *failures) {
    for (; *first || *other; first++, other++) {
        const int order = !*first ? 1 : !*other ? -1 : compare_names(*first, *other);
        if (order < 0) return append_file(*first, "was made in the first run only", failures);
        if (order > 0) return append_file(*other, "was made in a later run only", failures);
        if (!same_content(*first, *other)) return append_file(*first, "differs", failures);
    }
    return 0;
}

static int compare_produced(const Facts *first, const Facts *other, FailureList *failures) {
    CLEANUP(freep) const ProducedFile **a = NULL;
    CLEANUP(freep) const ProducedFile **b = NULL;
    int r = sort_produced(first, &a);
    if (r == 0) r = sort_produced(other, &b);
    if (r == 0) r = compare_sorted(a, b, failures);
    return r < 0 ? error_fold(r) : 0;
}

int difference_append(const Facts *first, const Facts *other, FailureList *failures) {
    int r = compare_exit(first, other, failures);
    if (r == 0) r = compare_stdout(first, other, failures);
    if (r == 0) r = compare_produced(first, other, failures);
    return r < 0 ? error_fold(r) : 0;
}
