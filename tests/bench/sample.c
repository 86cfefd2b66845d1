#include "sample.h"

#include <stdlib.h>

void sample_add(Sample *sample, uint64_t value) {
    if (sample->n_values < SAMPLE_MAX) sample->values[sample->n_values++] = value;
}

static int compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t sample_percentile(Sample *sample, unsigned percent) {
    if (sample->n_values == 0) return 0;
    qsort(sample->values, sample->n_values, sizeof *sample->values, compare);
    const size_t at = (sample->n_values * percent + 99) / 100;
    return sample->values[at > 0 ? at - 1 : 0];
}
