/* Health: the circuit of one profile: whether it may serve jobs, and when to try again. A pure
 * state machine: the caller tells it what happened and what time it is; it starts nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum HealthState {
    HEALTH_TESTING, /* first fill and self-test: jobs wait */
    HEALTH_SERVING,
    HEALTH_UNHEALTHY, /* circuit open: jobs get the diagnosis at once, until retry_at_ms */
    HEALTH_RETESTING, /* trying again: jobs still get the diagnosis */
    HEALTH_STATE_COUNT,
} HealthState;

typedef enum HealthEvent {
    HEALTH_EVENT_FILL_FAILED, /* an environment that never became or did not stay valid */
    HEALTH_EVENT_RUN_OK,      /* an environment took a job and gave its result */
    HEALTH_EVENT_TEST_PASSED,
    HEALTH_EVENT_TEST_FAILED,
    HEALTH_EVENT_RETRY_DUE,
    HEALTH_EVENT_COUNT,
} HealthEvent;

typedef struct HealthPolicy {
    uint32_t failures; /* in a row, until the circuit opens */
    uint64_t backoff_min_ms;
    uint64_t backoff_max_ms;
} HealthPolicy;

typedef struct Health {
    HealthPolicy policy;
    HealthState state;
    uint32_t failures_in_a_row;
    uint64_t backoff_ms;  /* of the next opening */
    uint64_t retry_at_ms; /* while unhealthy */
} Health;

void health_init(Health *health, HealthPolicy policy);
/* Moves by the one table. True when the state changed. */
bool health_note(Health *health, HealthEvent event, uint64_t now_ms);
/* May a client's job be started? */
bool health_serves(const Health *health);
/* Must a client's job be turned away with the diagnosis? */
bool health_refuses(const Health *health);
/* "testing", "serving", "unhealthy", "retesting". */
const char *health_state_name(HealthState state);
