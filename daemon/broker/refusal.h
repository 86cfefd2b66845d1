/* Refusal: why a request was not served: what the error reply says. */
#pragma once

#include <stdint.h>

typedef enum RefusalCode {
    REFUSE_MALFORMED,
    REFUSE_FRAME_TOO_LARGE,
    REFUSE_HELLO_REQUIRED,
    REFUSE_VERSION_MISMATCH,
    REFUSE_UNIMPLEMENTED,
    REFUSE_INVALID_ARGUMENT,
    REFUSE_PERMISSION_DENIED,
    REFUSE_NOT_FOUND,
    REFUSE_RESOURCE_EXHAUSTED,
    REFUSE_UNAVAILABLE,
    REFUSE_INTERNAL,
} RefusalCode;

enum { REFUSAL_MESSAGE_BYTES = 320, REFUSAL_RETRY_AFTER_MS = 500 };

typedef struct Refusal {
    RefusalCode code;
    char message[REFUSAL_MESSAGE_BYTES];
    uint64_t retry_after_ms; /* 0: trying again is no use */
} Refusal;

/* Fills it in; busy and unavailable get a retry hint. Returns 1, a documented result of the
 * callers. */
int refusal_set(Refusal *refusal, RefusalCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
