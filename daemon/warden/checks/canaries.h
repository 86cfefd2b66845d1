/* Canaries: findings for canaries that turned up where they must not. A finding names the canary,
 * the sink and the place, never the value. */
#pragma once

#include "verdict/facts.h"
#include "warden/order.h"
#include "warden/output.h"
#include "warden/scan.h"

/* More of them tell nobody anything. */
enum { CANARIES_MAX_FINDINGS = 1000 };

/* Appends one finding; `where` names the place, redacted. 0 or -ENOMEM. */
int canaries_append(FailureList *findings, const Canary *canary, const char *sink,
                    const char *where, uint64_t offset);
/* The job's code and file name. `scanner` NULL: there are no canaries. 0 or -ENOMEM. */
int canaries_check_source(const Scanner *scanner, const Order *order, FailureList *findings);
/* A finished output. 0 or -ENOMEM. */
int canaries_check_output(const Scanner *scanner, const Output *output, const char *sink,
                          FailureList *findings);
/* One short text. 0 or -ENOMEM. */
int canaries_check_text(const Scanner *scanner, const void *text, size_t n_bytes, const char *sink,
                        const char *where, FailureList *findings);
/* The name of a produced file: what of its path ends in the last component, so that a directory's
 * name is told once. `shown` is the path, redacted. 0 or -ENOMEM. */
int canaries_check_name(const Scanner *scanner, const char *path, const char *name,
                        const char *shown, FailureList *findings);
