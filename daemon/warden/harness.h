/* Harness: the warden's end of what it and harness.py say to each other. Believes its lines only as
 * far as they are what the protocol allows; what they mean for the ledger is decided elsewhere.
 * Once the code has started, only one exact line is known any more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "platform/child.h"
#include "verdict/facts.h"
#include "warden/order.h"

enum { HARNESS_LINE_MAX_BYTES = 1 << 19 };

/* Of a reject's texts so much is shown. harness.py cuts them later than that, in characters:
 * whoever cuts before a text is redacted cuts a canary in two. */
enum {
    HARNESS_SUBJECT_BYTES = 200,
    HARNESS_MESSAGE_BYTES = 1000,
    HARNESS_SPARE_BYTES = 4096, /* the longest canary */
};

/* Documented results. */
enum {
    HARNESS_E_MORE = 1,      /* no whole line is there */
    HARNESS_E_MALFORMED = 2, /* not what the protocol allows */
};

typedef enum HarnessKind {
    HARNESS_READY,
    HARNESS_UNFIT,
    HARNESS_RECEIVED,
    HARNESS_PARSED,
    HARNESS_ALLOWED,
    HARNESS_COMPILED,
    HARNESS_REJECTED,
    HARNESS_HELD,
    HARNESS_STARTED,
    HARNESS_ENDED,
    HARNESS_SURVEYED, /* a survey's only one */
    HARNESS_KIND_COUNT,
} HarnessKind;

/* What an interpreter says of itself. */
typedef struct HarnessReady {
    char *version;
    char *directory;
    bool hash_randomization;
    bool has_hash_sample;
    uint64_t hash_sample;
    bool has_urandom;
    bool is_isolated;
    bool is_writable; /* its directory */
    size_t n_entries; /* found there */
    ChildEnv environment;
    TextList imports;
} HarnessReady;

/* Owns what it points to. Which fields are set depends on the kind. */
typedef struct HarnessMarker {
    HarnessKind kind;
    HarnessReady ready;
    RootPlan plan;        /* SURVEYED */
    char *step;           /* UNFIT */
    char *error;          /* UNFIT */
    FailureList failures; /* REJECTED: at least one; neither redacted nor cut to size */
} HarnessMarker;

void harness_marker_deinit(HarnessMarker *marker);

/* Queues for the child: the harness itself, or the survey if that is what is wanted, and its
 * set-up. 0 or -ENOMEM. */
int harness_send_setup(Child *child, const Setup *setup);
/* Queues the job; with `hold` it stops before the code starts. 0 or -ENOMEM. */
int harness_send_order(Child *child, const Order *order, bool hold);

/* Assembles lines from what comes over the marker pipe. */
typedef struct HarnessReader {
    char *line;
    size_t line_bytes;
    const uint8_t *bytes; /* borrowed: what was fed and not yet looked at */
    size_t n_bytes;
    bool is_hostile;                    /* the code has started */
    bool is_overlong;                   /* hostile: until the next line begins */
    char nonce[ORDER_NONCE_TEXT_BYTES]; /* of the job; empty until there is one */
} HarnessReader;

/* The caller calls harness_reader_deinit. 0 or -ENOMEM. */
int harness_reader_init(HarnessReader *reader);
void harness_reader_deinit(HarnessReader *reader);
/* Borrows the bytes until harness_next says HARNESS_E_MORE; nothing may be left of earlier ones. */
void harness_feed(HarnessReader *reader, const uint8_t *bytes, size_t n_bytes);
/* The next marker; the caller deinits it. After STARTED everything but the line that says the code
 * ended is passed over. 0, HARNESS_E_MORE, HARNESS_E_MALFORMED, or -ENOMEM. */
int harness_next(HarnessReader *reader, HarnessMarker *ret_marker);

/* Parses one line. `nonce` is what a job's markers must carry. 0, HARNESS_E_MALFORMED, or -ENOMEM.
 */
int harness_parse(const char *line, size_t n_bytes, const char *nonce, HarnessMarker *ret_marker);
