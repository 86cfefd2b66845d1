#include "broker/health.h"

typedef enum Action { STAY, COUNT_FAILURE, RESET, CLOSE, OPEN, RETRY } Action;

/* state and event → what to do. An event a state does not know changes nothing. */
static const Action actions[HEALTH_STATE_COUNT][HEALTH_EVENT_COUNT] = {
    [HEALTH_TESTING] =
        {
            [HEALTH_EVENT_FILL_FAILED] = COUNT_FAILURE,
            [HEALTH_EVENT_TEST_PASSED] = CLOSE,
            [HEALTH_EVENT_TEST_FAILED] = OPEN,
        },
    [HEALTH_SERVING] =
        {
            [HEALTH_EVENT_FILL_FAILED] = COUNT_FAILURE,
            [HEALTH_EVENT_RUN_OK] = RESET,
            [HEALTH_EVENT_TEST_FAILED] = OPEN,
        },
    [HEALTH_UNHEALTHY] =
        {
            [HEALTH_EVENT_RETRY_DUE] = RETRY,
        },
    [HEALTH_RETESTING] =
        {
            [HEALTH_EVENT_FILL_FAILED] = OPEN,
            [HEALTH_EVENT_TEST_PASSED] = CLOSE,
            [HEALTH_EVENT_TEST_FAILED] = OPEN,
        },
};

void health_init(Health *health, HealthPolicy policy) {
    *health = (Health){
        .policy = policy,
        .state = HEALTH_TESTING,
        .backoff_ms = policy.backoff_min_ms,
    };
}

static void open_circuit(Health *health, uint64_t now_ms) {
    health->state = HEALTH_UNHEALTHY;
    health->failures_in_a_row = 0;
    health->retry_at_ms = now_ms + health->backoff_ms;
    const uint64_t doubled_ms = health->backoff_ms * 2;
    health->backoff_ms = doubled_ms < health->policy.backoff_max_ms ? doubled_ms
                                                                    : health->policy.backoff_max_ms;
}

bool health_note(Health *health, HealthEvent event, uint64_t now_ms) {
    const HealthState before = health->state;
    switch (actions[health->state][event]) {
    case STAY:
        break;
    case COUNT_FAILURE:
        if (++health->failures_in_a_row >= health->policy.failures) open_circuit(health, now_ms);
        break;
    case RESET:
        health->failures_in_a_row = 0;
        health->backoff_ms = health->policy.backoff_min_ms;
        break;
    case CLOSE:
        health->state = HEALTH_SERVING;
        health->failures_in_a_row = 0;
        break;
    case OPEN:
        open_circuit(health, now_ms);
        break;
    case RETRY:
        health->state = HEALTH_RETESTING;
        break;
    }
    return health->state != before;
}

bool health_serves(const Health *health) {
    return health->state == HEALTH_SERVING;
}

bool health_refuses(const Health *health) {
    return health->state == HEALTH_UNHEALTHY || health->state == HEALTH_RETESTING;
}

const char *health_state_name(HealthState state) {
    static const char *const names[] = {"testing", "serving", "unhealthy", "retesting"};
    return names[state];
}
