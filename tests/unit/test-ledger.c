#include "warden/ledger.h"

#include "suite.h"

static const LedgerEvent way_to_pass[] = {
    LEDGER_SPAWNED,  LEDGER_CONFINED, LEDGER_VALIDATED, LEDGER_DISPATCHED,
    LEDGER_RECEIVED, LEDGER_PARSED,   LEDGER_ALLOWED,   LEDGER_COMPILED,
    LEDGER_STARTED,  LEDGER_ENDED,    LEDGER_REAPED,    LEDGER_CHECKED,
};

enum { WAY = sizeof way_to_pass / sizeof *way_to_pass };

/* A ledger after the first n events of the way. */
static Ledger walk(Facts *facts, size_t n) {
    Ledger ledger;
    *facts = (Facts){0};
    ledger_init(&ledger, facts);
    for (size_t i = 0; i < n; i++)
        ck_assert(ledger_note(&ledger, way_to_pass[i], 5000 + 2000 * (uint64_t)i));
    return ledger;
}

START_TEST(the_whole_way_is_recorded) {
    Facts facts;
    walk(&facts, WAY);
    for (Phase phase = 0; phase < PHASE_COUNT; phase++) {
        ck_assert(facts.seen[phase]);
        ck_assert_uint_eq(facts.at_us[phase], 2 * (uint64_t)phase);
    }
}
END_TEST

/* Which events may come after each step of the way, besides the next one. */
static bool may_follow(size_t step, LedgerEvent event) {
    if (step < WAY && event == way_to_pass[step]) return true;
    const LedgerEvent last = step == 0 ? LEDGER_EVENT_COUNT : way_to_pass[step - 1];
    if (event == LEDGER_REAPED) return step > 0 && last != LEDGER_REAPED && last != LEDGER_CHECKED;
    if (event == LEDGER_REJECTED)
        return last == LEDGER_RECEIVED || last == LEDGER_PARSED || last == LEDGER_ALLOWED;
    return event == LEDGER_HELD && last == LEDGER_COMPILED;
}

START_TEST(nothing_else_is_recorded) {
    for (size_t step = 0; step <= WAY; step++) {
        for (LedgerEvent event = 0; event < LEDGER_EVENT_COUNT; event++) {
            Facts facts;
            Ledger ledger = walk(&facts, step);
            const Facts before = facts;
            const bool was_noted = ledger_note(&ledger, event, 99000);
            ck_assert_msg(was_noted == may_follow(step, event), "step %zu, event %d", step, event);
            if (!was_noted)
                for (Phase phase = 0; phase < PHASE_COUNT; phase++)
                    ck_assert(facts.seen[phase] == before.seen[phase]);
        }
    }
}
END_TEST

START_TEST(a_refusal_is_followed_by_death_only) {
    static const LedgerEvent ends[] = {LEDGER_REJECTED, LEDGER_HELD};
    for (size_t i = 0; i < 2; i++) {
        for (LedgerEvent event = 0; event < LEDGER_EVENT_COUNT; event++) {
            Facts facts;
            Ledger ledger = walk(&facts, i == 0 ? 6 : 8);
            ck_assert(ledger_note(&ledger, ends[i], 50000));
            ck_assert_int_eq(ledger_note(&ledger, event, 60000), event == LEDGER_REAPED);
            ck_assert(!facts.seen[PHASE_STARTED]);
        }
    }
}
END_TEST

START_TEST(the_start_divides) {
    Facts facts;
    Ledger ledger = walk(&facts, 8);
    ck_assert(!ledger_has_started(&ledger));
    ledger_note(&ledger, LEDGER_STARTED, 50000);
    ck_assert(ledger_has_started(&ledger));
    ledger_note(&ledger, LEDGER_REAPED, 60000);
    ck_assert(ledger_has_started(&ledger));
}
END_TEST

SUITE_MAIN("ledger", the_whole_way_is_recorded, nothing_else_is_recorded,
           a_refusal_is_followed_by_death_only, the_start_divides)
