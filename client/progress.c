#include "progress.h"

#include <stdio.h>

#include "host.h"

static const char clear_line[] = "\r\x1b[K";

Progress progress_start(size_t total) {
    return (Progress){.enabled = total > 1 && host_is_terminal(stderr), .total = total};
}

void progress_count(Progress *progress, Tb__VerdictKind kind) {
    progress->done++;
    if (kind == TB__VERDICT_KIND__FAILED) progress->failed++;
    if (kind == TB__VERDICT_KIND__INFRASTRUCTURE_FAILURE) progress->infrastructure++;
}

void progress_show(Progress *progress) {
    if (!progress->enabled) return;
    fprintf(stderr, "%s%zu/%zu done", clear_line, progress->done, progress->total);
    if (progress->failed) fprintf(stderr, ", %zu failed", progress->failed);
    if (progress->infrastructure)
        fprintf(stderr, ", %zu infrastructure failures", progress->infrastructure);
    fflush(stderr);
    progress->shown = true;
}

void progress_clear(Progress *progress) {
    if (!progress->shown) return;
    fputs(clear_line, stderr);
    fflush(stderr);
    progress->shown = false;
}
