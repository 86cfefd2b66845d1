#include "broker/refusal.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

int refusal_set(Refusal *refusal, RefusalCode code, const char *format, ...) {
    const bool is_passing = code == REFUSE_RESOURCE_EXHAUSTED || code == REFUSE_UNAVAILABLE;
    refusal->code = code;
    refusal->retry_after_ms = is_passing ? REFUSAL_RETRY_AFTER_MS : 0;
    va_list args;
    va_start(args, format);
    vsnprintf(refusal->message, sizeof refusal->message, format, args);
    va_end(args);
    text_make_printable(refusal->message);
    return 1;
}
