/* Report: the figures of one run, with their bounds: a table for people and JSON for programs.
 * Judges nothing but whether a bound is met; never measures. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "sample.h"

typedef struct Report Report;

typedef enum BoundKind { BOUND_NONE, BOUND_AT_MOST, BOUND_AT_LEAST } BoundKind;

typedef struct Bound {
    BoundKind kind;
    double value;
    bool of_p99; /* otherwise of the median, or of the only value */
} Bound;

#define NO_BOUND ((Bound){BOUND_NONE, 0, false})

/* 0 or -ENOMEM. */
int report_new(Report **ret_report);
/* Takes NULL, returns NULL. */
Report *report_free(Report *report);

/* What follows is about this. Texts are borrowed here and below, or copied where they are made. */
void report_section(Report *report, const char *title);
/* Units are static texts. A figure without a sample is one that is missing. */
void report_samples(Report *report, const char *name, const char *unit, Sample *samples,
                    Bound bound);
void report_value(Report *report, const char *name, const char *unit, double value, Bound bound);
/* The whole section could not be measured, or not to its end. */
void report_missing(Report *report, const char *why);
bool report_is_complete(const Report *report);

/* A fact about the run, for the JSON alone. */
void report_note(Report *report, const char *key, long long value);

void report_print(const Report *report, FILE *stream);
/* Writes the JSON to `path`, making its directory. 0 or -errno. */
int report_save(const Report *report, const char *path);

static inline void report_freep(Report **report) {
    report_free(*report);
}
