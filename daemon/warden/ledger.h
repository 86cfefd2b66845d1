/* Ledger: which step of its life an environment has reached, by one table. What does not fit the
 * table is not recorded: whoever says it is broken, or lies. Never decides what that means. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "verdict/facts.h"

typedef enum LedgerEvent {
    LEDGER_SPAWNED,
    LEDGER_CONFINED,
    LEDGER_VALIDATED,
    LEDGER_DISPATCHED,
    LEDGER_RECEIVED,
    LEDGER_PARSED,
    LEDGER_ALLOWED,
    LEDGER_COMPILED,
    LEDGER_REJECTED, /* a static rule refused the code */
    LEDGER_HELD,     /* stopped before the start, as it was told */
    LEDGER_STARTED,
    LEDGER_ENDED,
    LEDGER_REAPED,
    LEDGER_CHECKED,
    LEDGER_EVENT_COUNT,
} LedgerEvent;

typedef enum LedgerState {
    LEDGER_AT_NOTHING,
    LEDGER_AT_SPAWNED,
    LEDGER_AT_CONFINED,
    LEDGER_AT_VALIDATED,
    LEDGER_AT_DISPATCHED,
    LEDGER_AT_RECEIVED,
    LEDGER_AT_PARSED,
    LEDGER_AT_ALLOWED,
    LEDGER_AT_COMPILED,
    LEDGER_AT_REJECTED,
    LEDGER_AT_HELD,
    LEDGER_AT_STARTED,
    LEDGER_AT_ENDED,
    LEDGER_AT_REAPED,
    LEDGER_AT_CHECKED,
    LEDGER_STATE_COUNT,
} LedgerState;

typedef struct Ledger {
    LedgerState state;
    uint64_t spawned_ns;
    Facts *facts; /* borrowed: phases and their times are written here */
} Ledger;

void ledger_init(Ledger *ledger, Facts *facts);
/* Moves on at `now_ns` (CLOCK_MONOTONIC). False, and nothing recorded, when the event cannot come
 * now. */
bool ledger_note(Ledger *ledger, LedgerEvent event, uint64_t now_ns);
/* True from the start of the code on: what the interpreter says is hostile. */
bool ledger_has_started(const Ledger *ledger);
