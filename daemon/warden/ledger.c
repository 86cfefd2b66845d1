#include "warden/ledger.h"

enum { NS_PER_US = 1000 };

/* state and event → state. LEDGER_AT_NOTHING, which nothing leads to: the event cannot come. */
static const LedgerState transitions[LEDGER_STATE_COUNT][LEDGER_EVENT_COUNT] = {
    [LEDGER_AT_NOTHING] = {[LEDGER_SPAWNED] = LEDGER_AT_SPAWNED},
    [LEDGER_AT_SPAWNED] =
        {[LEDGER_CONFINED] = LEDGER_AT_CONFINED, [LEDGER_REAPED] = LEDGER_AT_REAPED},
    [LEDGER_AT_CONFINED] =
        {[LEDGER_VALIDATED] = LEDGER_AT_VALIDATED, [LEDGER_REAPED] = LEDGER_AT_REAPED},
    [LEDGER_AT_VALIDATED] =
        {[LEDGER_DISPATCHED] = LEDGER_AT_DISPATCHED, [LEDGER_REAPED] = LEDGER_AT_REAPED},
    [LEDGER_AT_DISPATCHED] =
        {[LEDGER_RECEIVED] = LEDGER_AT_RECEIVED, [LEDGER_REAPED] = LEDGER_AT_REAPED},
    [LEDGER_AT_RECEIVED] = {[LEDGER_PARSED] = LEDGER_AT_PARSED,
                            [LEDGER_REJECTED] = LEDGER_AT_REJECTED,
                            [LEDGER_REAPED] = LEDGER_AT_REAPED},
    [LEDGER_AT_PARSED] = {[LEDGER_ALLOWED] = LEDGER_AT_ALLOWED,
                          [LEDGER_REJECTED] = LEDGER_AT_REJECTED,
                          [LEDGER_REAPED] = LEDGER_AT_REAPED},
    [LEDGER_AT_ALLOWED] = {[LEDGER_COMPILED] = LEDGER_AT_COMPILED,
                           [LEDGER_REJECTED] = LEDGER_AT_REJECTED,
                           [LEDGER_REAPED] = LEDGER_AT_REAPED},
    [LEDGER_AT_COMPILED] = {[LEDGER_STARTED] = LEDGER_AT_STARTED,
                            [LEDGER_HELD] = LEDGER_AT_HELD,
                            [LEDGER_REAPED] = LEDGER_AT_REAPED},
    [LEDGER_AT_REJECTED] = {[LEDGER_REAPED] = LEDGER_AT_REAPED},
    [LEDGER_AT_HELD] = {[LEDGER_REAPED] = LEDGER_AT_REAPED},
    [LEDGER_AT_STARTED] = {[LEDGER_ENDED] = LEDGER_AT_ENDED, [LEDGER_REAPED] = LEDGER_AT_REAPED},
    [LEDGER_AT_ENDED] = {[LEDGER_REAPED] = LEDGER_AT_REAPED},
    [LEDGER_AT_REAPED] = {[LEDGER_CHECKED] = LEDGER_AT_CHECKED},
};

/* The phase an event records; PHASE_COUNT for those that end the static part. */
static const Phase phases[LEDGER_EVENT_COUNT] = {
    [LEDGER_SPAWNED] = PHASE_SPAWNED,     [LEDGER_CONFINED] = PHASE_CONFINED,
    [LEDGER_VALIDATED] = PHASE_VALIDATED, [LEDGER_DISPATCHED] = PHASE_DISPATCHED,
    [LEDGER_RECEIVED] = PHASE_RECEIVED,   [LEDGER_PARSED] = PHASE_PARSED,
    [LEDGER_ALLOWED] = PHASE_ALLOWED,     [LEDGER_COMPILED] = PHASE_COMPILED,
    [LEDGER_REJECTED] = PHASE_COUNT,      [LEDGER_HELD] = PHASE_COUNT,
    [LEDGER_STARTED] = PHASE_STARTED,     [LEDGER_ENDED] = PHASE_ENDED,
    [LEDGER_REAPED] = PHASE_REAPED,       [LEDGER_CHECKED] = PHASE_CHECKED,
};

void ledger_init(Ledger *ledger, Facts *facts) {
    *ledger = (Ledger){.state = LEDGER_AT_NOTHING, .facts = facts};
}

bool ledger_note(Ledger *ledger, LedgerEvent event, uint64_t now_ns) {
    const LedgerState next = transitions[ledger->state][event];
    if (next == LEDGER_AT_NOTHING) return false;
    if (event == LEDGER_SPAWNED) ledger->spawned_ns = now_ns;
    ledger->state = next;
    const Phase phase = phases[event];
    if (phase == PHASE_COUNT) return true;
    ledger->facts->seen[phase] = true;
    ledger->facts->at_us[phase] = (now_ns - ledger->spawned_ns) / NS_PER_US;
    return true;
}

bool ledger_has_started(const Ledger *ledger) {
    return ledger->facts->seen[PHASE_STARTED];
}
