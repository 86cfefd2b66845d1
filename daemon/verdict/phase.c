#include "verdict/phase.h"

const char *phase_name(Phase phase) {
    static const char *const names[PHASE_COUNT] = {
        [PHASE_SPAWNED] = "spawned",     [PHASE_CONFINED] = "confined",
        [PHASE_VALIDATED] = "validated", [PHASE_DISPATCHED] = "dispatched",
        [PHASE_RECEIVED] = "received",   [PHASE_PARSED] = "parsed",
        [PHASE_ALLOWED] = "allowed",     [PHASE_COMPILED] = "compiled",
        [PHASE_STARTED] = "started",     [PHASE_ENDED] = "ended",
        [PHASE_REAPED] = "reaped",       [PHASE_CHECKED] = "checked",
    };
    return names[phase];
}
