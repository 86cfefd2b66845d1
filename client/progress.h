/* Progress: the line on a terminal that says how far many jobs have come. Shows nothing when
 * standard error is no terminal or there is but one job. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tbsandbox.pb-c.h"

typedef struct Progress {
    bool enabled;
    bool shown;
    size_t total;
    size_t done;
    size_t failed;
    size_t infrastructure;
} Progress;

Progress progress_start(size_t total);
/* Counts one more; UNSPECIFIED for one that was only accepted. */
void progress_count(Progress *progress, Tb__VerdictKind kind);
void progress_show(Progress *progress);
/* Makes room for other lines. */
void progress_clear(Progress *progress);
