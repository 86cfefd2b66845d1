/* Request: codec of what clients send: one frame's payload in, one checked request out. The only
 * place where a client's bytes are judged: what leaves here is within every bound of PROTOCOL.md.
 * Acts on nothing. */
#pragma once

#include "broker/job.h"
#include "broker/refusal.h"

/* Bounds of the public protocol. */
enum {
    REQUEST_MAX_CODE_BYTES = 4 << 20,
    REQUEST_MAX_TOKEN_BYTES = 64,
    REQUEST_MAX_INPUTS = 64,
    REQUEST_MAX_COLUMNS = 256,
    REQUEST_MAX_COLUMN_BYTES = 1024,
    REQUEST_MAX_CANARIES = 1000,
    REQUEST_MAX_CANARY_BYTES = 4096,
    REQUEST_MAX_LABELS = 32,
    REQUEST_MAX_LABEL_BYTES = 256,
    REQUEST_MAX_REPEATS = 16,
    REQUEST_MAX_LISTED = 1000,
    REQUEST_LISTED = 100, /* when the client names no number */
    REQUEST_PROTOCOL = 1,
};

typedef enum RequestKind {
    REQUEST_HELLO,
    REQUEST_SUBMIT,
    REQUEST_WAIT,
    REQUEST_GET,
    REQUEST_LIST,
    REQUEST_CANCEL,
    REQUEST_STATUS,
    REQUEST_DOCTOR,
    REQUEST_DRAIN,
    REQUEST_RESUME,
    REQUEST_RELOAD,
} RequestKind;

/* What List selects. */
typedef struct JobFilter {
    int state;   /* JobState, or -1 for any */
    int verdict; /* VerdictKind, or 0 for any */
    JobLabel *labels;
    size_t n_labels;
    uint64_t since_ms;
    uint32_t max_jobs;
} JobFilter;

/* Owns what it points to. Which fields are set depends on the kind. */
typedef struct Request {
    uint64_t id;
    RequestKind kind;
    uint32_t protocol;         /* HELLO */
    JobSpec spec;              /* SUBMIT */
    bool follow;               /* SUBMIT: events and verdict; WAIT: events too */
    char job_id[JOB_ID_BYTES]; /* WAIT, GET, CANCEL */
    JobFilter filter;          /* LIST */
    char *profile;             /* DOCTOR: NULL for every profile */
} Request;

/* Documented result. */
enum { REQUEST_E_REFUSED = 1 };

/* Decodes one payload. The caller calls request_deinit. ret_request->id is set whenever it could be
 * read, for the reply. 0, REQUEST_E_REFUSED (*ret_refusal says why), or -ENOMEM. */
int request_decode(const uint8_t *payload, size_t payload_bytes, Request *ret_request,
                   Refusal *ret_refusal);
void request_deinit(Request *request);

/* True when the job has every label and property that the filter names. */
bool job_filter_matches(const JobFilter *filter, const Job *job);
