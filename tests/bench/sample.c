#include "sample.h"

#include <math.h>
#include <stdlib.h>

void sample_add(Sample *samples, double value) {
    if (samples->n_items < SAMPLE_MAX) samples->items[samples->n_items++] = value;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double sample_quantile(Sample *samples, double share) {
    if (samples->n_items == 0) return 0;
    qsort(samples->items, samples->n_items, sizeof *samples->items, compare);
    size_t rank = (size_t)ceil(share * (double)samples->n_items);
    if (rank > samples->n_items) rank = samples->n_items;
    return samples->items[rank > 0 ? rank - 1 : 0];
}

double sample_median(Sample *samples) {
    return sample_quantile(samples, 0.5);
}
