/* Sample: the values that one figure was measured at, and where most of them lie. Never knows what
 * they mean. */
#pragma once

#include <stddef.h>

enum { SAMPLE_MAX = 4096 };

typedef struct Sample {
    double items[SAMPLE_MAX]; /* sorted when the last thing done was to ask for a quantile */
    size_t n_items;
} Sample;

/* Beyond SAMPLE_MAX they are not kept. */
void sample_add(Sample *samples, double value);
/* The smallest value that at least this share of all do not exceed, 0 < share <= 1; 0 without any.
 */
double sample_quantile(Sample *samples, double share);
double sample_median(Sample *samples);
