#include "warden/checks/canaries.h"

#include <inttypes.h>
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
    redactor_finish(redactor);
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
