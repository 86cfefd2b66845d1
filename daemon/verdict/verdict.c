#include "verdict/verdict.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "verdict/difference.h"
#include "verdict/rule.h"

const char *verdict_kind_name(VerdictKind kind) {
    static const char *const names[] = {
        [VERDICT_PASSED] = "passed",
        [VERDICT_FAILED] = "failed",
        [VERDICT_INFRASTRUCTURE_FAILURE] = "infrastructure_failure",
    };
    return names[kind];
}

enum { SIGNAL_NAMES = 32 };

/* By number, as Linux counts them: the number on the wire means the same on every platform. */
const char *verdict_signal_name(int signal) {
    static const char *const names[SIGNAL_NAMES] = {
        NULL,        "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
        "SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
        "SIGSTKFLT", "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
        "SIGXCPU",   "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS",
    };
    static _Thread_local char unnamed[24];
    if (signal > 0 && signal < SIGNAL_NAMES) return names[signal];
    snprintf(unnamed, sizeof unnamed, "SIG%d", signal);
    return unnamed;
}

/* The exit of an interpreter that never ran the code is not the code's, unless reading it was what
 * killed it. */
static bool exit_belongs_to_code(const Facts *facts) {
    if (!facts->exited && facts->signal == 0) return false;
    return facts->seen[PHASE_STARTED] || facts_are_native_crash(facts);
}

static void note_progress(Verdict *verdict, const Facts *facts) {
    verdict->stage_parse = facts->seen[PHASE_PARSED];
    verdict->stage_allowlist = facts->seen[PHASE_ALLOWED];
    verdict->stage_compile = facts->seen[PHASE_COMPILED];
    verdict->stage_execute = facts->seen[PHASE_STARTED];
    verdict->has_exit = exit_belongs_to_code(facts);
}

int verdict_new(Facts **facts, NativeCrash **crashes, size_t n_crashes, unsigned attempts,
                Verdict **ret_verdict) {
    CLEANUP(verdict_freep) Verdict *verdict = calloc(1, sizeof *verdict);
    if (!verdict) return error_origin(-ENOMEM);
    const int r = rule_judge(*facts, &verdict->kind, &verdict->failures);
    if (r < 0) return error_fold(r);
    verdict->attempts = attempts;
    verdict->child_started = (*facts)->seen[PHASE_RECEIVED];
    if (verdict->kind == VERDICT_INFRASTRUCTURE_FAILURE)
        facts_drop_artifacts(*facts);
    else
        note_progress(verdict, *facts);
    verdict->facts = TAKE(*facts);
    verdict->native_crashes = TAKE(*crashes);
    verdict->n_native_crashes = n_crashes;
    *ret_verdict = TAKE(verdict);
    return 0;
}

int verdict_new_infrastructure(Code code, const char *message, unsigned attempts,
                               Verdict **ret_verdict) {
    assert(code_is_infrastructure(code));
    CLEANUP(verdict_freep) Verdict *verdict = calloc(1, sizeof *verdict);
    if (!verdict) return error_origin(-ENOMEM);
    const Failure failure = {.code = code, .message = (char *)message};
    const int r = failure_list_append(&verdict->failures, &failure);
    if (r < 0) return error_fold(r);
    verdict->kind = VERDICT_INFRASTRUCTURE_FAILURE;
    verdict->attempts = attempts;
    *ret_verdict = TAKE(verdict);
    return 0;
}

static bool is_listed(const FailureList *list, const Failure *failure) {
    for (size_t i = 0; i < list->n_items; i++)
        if (list->items[i].code == failure->code && list->items[i].subject &&
            strcmp(list->items[i].subject, failure->subject) == 0)
            return true;
    return false;
}

int verdict_compare_runs(Verdict *verdict, const Facts *first, const Facts *other) {
    if (verdict->kind == VERDICT_INFRASTRUCTURE_FAILURE) return 0;
    CLEANUP(failure_list_deinit) FailureList differences = {0};
    int r = difference_append(first, other, &differences);
    for (size_t i = 0; r == 0 && i < differences.n_items; i++) {
        if (is_listed(&verdict->failures, &differences.items[i])) continue;
        r = failure_list_append(&verdict->failures, &differences.items[i]);
        if (r == 0) verdict->kind = VERDICT_FAILED;
    }
    return r < 0 ? error_fold(r) : 0;
}

static void free_crashes(NativeCrash *crashes, size_t n_crashes) {
    for (size_t i = 0; i < n_crashes; i++) {
        free(crashes[i].excerpt);
        free(crashes[i].environment_id);
    }
    free(crashes);
}

Verdict *verdict_free(Verdict *verdict) {
    if (!verdict) return NULL;
    failure_list_deinit(&verdict->failures);
    free_crashes(verdict->native_crashes, verdict->n_native_crashes);
    facts_free(verdict->facts);
    free(verdict);
    return NULL;
}
