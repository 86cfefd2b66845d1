/* Sample: one figure, measured many times. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_MAX = 4096 };

typedef struct Sample {
    uint64_t values[SAMPLE_MAX];
    size_t n_values;
} Sample;

/* What is over SAMPLE_MAX is dropped. */
void sample_add(Sample *sample, uint64_t value);
/* The value that `percent` of all are not above; sorts. 0 of none. */
uint64_t sample_percentile(Sample *sample, unsigned percent);
