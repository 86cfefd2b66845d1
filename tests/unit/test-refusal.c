#include "broker/refusal.h"

#include <stdbool.h>
#include <string.h>

#include "suite.h"

START_TEST(only_what_passes_gets_a_retry_hint) {
    for (RefusalCode code = REFUSE_MALFORMED; code <= REFUSE_INTERNAL; code++) {
        Refusal refusal;
        const bool is_passing = code == REFUSE_RESOURCE_EXHAUSTED || code == REFUSE_UNAVAILABLE;
        ck_assert_int_eq(refusal_set(&refusal, code, "no %s, %d", "room", 3), 1);
        ck_assert_int_eq(refusal.code, code);
        ck_assert_str_eq(refusal.message, "no room, 3");
        ck_assert_uint_eq(refusal.retry_after_ms, is_passing ? REFUSAL_RETRY_AFTER_MS : 0);
    }
}
END_TEST

START_TEST(a_message_is_one_bounded_line) {
    char hostile[2 * REFUSAL_MESSAGE_BYTES];
    memset(hostile, 'x', sizeof hostile - 1);
    hostile[sizeof hostile - 1] = '\0';
    memcpy(hostile, "a\nb\x1b[1m", 7);
    Refusal refusal;
    refusal_set(&refusal, REFUSE_INVALID_ARGUMENT, "%s", hostile);
    ck_assert_uint_eq(strlen(refusal.message), REFUSAL_MESSAGE_BYTES - 1);
    ck_assert_mem_eq(refusal.message, "a?b?[1mxxx", 10);
}
END_TEST

SUITE_MAIN("refusal", only_what_passes_gets_a_retry_hint, a_message_is_one_bounded_line)
