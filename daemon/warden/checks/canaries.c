#include "warden/checks/canaries.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

int canaries_append(FailureList *findings, const Canary *canary, const char *sink,
                    const char *where, uint64_t offset) {
    if (findings->n_items >= CANARIES_MAX_FINDINGS) return 0;
    CLEANUP(freep) char *message = NULL;
    int r = text_format(&message, "canary %s appears literally in %s at byte %" PRIu64, canary->id,
                        where, offset);
    if (r < 0) return error_fold(r);
    const Failure failure = {
        .code = CODE_CANARY_LEAK,
        .subject = canary->id,
        .message = message,
        .sink = (char *)sink,
        .transform = (char *)"literal",
        .offset = offset,
    };
    r = failure_list_append(findings, &failure);
    return r < 0 ? error_fold(r) : 0;
}

int canaries_check_text(const Scanner *scanner, const void *text, size_t n_bytes, const char *sink,
                        const char *where, FailureList *findings) {
    if (!scanner) return 0;
    CLEANUP(redactor_freep) Redactor *redactor = NULL;
    int r = redactor_new(scanner, NULL, NULL, &redactor);
    if (r < 0) return error_fold(r);
    redactor_feed(redactor, text, n_bytes);
    redactor_finish(redactor, false);
    const CanaryList *canaries = scanner_canaries(scanner);
    for (size_t i = 0; r == 0 && i < canaries->n_items; i++) {
        uint64_t offset;
        if (redactor_saw(redactor, i, &offset))
            r = canaries_append(findings, &canaries->items[i], sink, where, offset);
    }
    return r < 0 ? error_fold(r) : 0;
}

int canaries_check_source(const Scanner *scanner, const Order *order, FailureList *findings) {
    int r = canaries_check_text(scanner, order->code.data, order->code.n_bytes, "source",
                                "the source", findings);
    if (r == 0)
        r = canaries_check_text(scanner, order->file_name, strlen(order->file_name), "file_name",
                                "the name of the source", findings);
    return r < 0 ? error_fold(r) : 0;
}

int canaries_check_output(const Scanner *scanner, const Output *output, const char *sink,
                          FailureList *findings) {
    if (!scanner) return 0;
    const CanaryList *canaries = scanner_canaries(scanner);
    for (size_t i = 0; i < canaries->n_items; i++) {
        uint64_t offset;
        if (!output_saw(output, i, &offset)) continue;
        const int r = canaries_append(findings, &canaries->items[i], sink, sink, offset);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

typedef struct NameScan {
    const CanaryList *canaries;
    size_t name_start; /* of the last component in the path */
    const char *shown;
    FailureList *findings;
    bool *is_told; /* by canary */
    int result;
} NameScan;

static void on_name(void *data, size_t index, size_t start) {
    NameScan *scan = data;
    const Canary *canary = &scan->canaries->items[index];
    if (start + canary->value.n_bytes <= scan->name_start || scan->result < 0) return;
    scan->is_told[index] = true;
    scan->result = canaries_append(scan->findings, canary, "file_name", scan->shown, start);
}

int canaries_check_name(const Scanner *scanner, const char *path, const char *name,
                        const char *shown, FailureList *findings) {
    if (!scanner) return 0;
    const CanaryList *canaries = scanner_canaries(scanner);
    CLEANUP(freep) bool *is_told = calloc(canaries->n_items, sizeof *is_told);
    if (!is_told) return error_origin(-ENOMEM);
    const size_t n_bytes = strlen(path);
    NameScan scan = {
        .canaries = canaries,
        .name_start = n_bytes - strlen(name),
        .shown = shown,
        .findings = findings,
        .is_told = is_told,
    };
    scanner_scan(scanner, (const uint8_t *)path, n_bytes, n_bytes, is_told, on_name, &scan);
    return scan.result < 0 ? error_fold(scan.result) : 0;
}
