#include "verdict/rule.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

enum { USEFUL_LINE_BYTES = 200 };

typedef struct Rule Rule;
struct Rule {
    VerdictKind kind;
    bool (*applies)(const Facts *facts);
    int (*add)(const Rule *rule, const Facts *facts, FailureList *failures);
    Code code; /* CODE_NONE: the facts bring their own */
    const char *message;
};

/* --- What was seen ------------------------------------------------------------------------- */

static bool started(const Facts *facts) {
    return facts->seen[PHASE_STARTED];
}

static bool has_status(const Facts *facts) {
    return facts->exited || facts->signal != 0;
}

/* An exit that somebody forced has a code of their choosing, at least where there are no signals.
 */
static bool exited_by_itself(const Facts *facts) {
    return facts->exited && facts->signal == 0 && !facts->killed_by_warden;
}

/* The phase that must have come before, no later. */
static const Phase predecessors[PHASE_COUNT] = {
    [PHASE_SPAWNED] = PHASE_SPAWNED,
    [PHASE_CONFINED] = PHASE_SPAWNED,
    [PHASE_VALIDATED] = PHASE_CONFINED,
    [PHASE_DISPATCHED] = PHASE_VALIDATED,
    [PHASE_RECEIVED] = PHASE_DISPATCHED,
    [PHASE_PARSED] = PHASE_RECEIVED,
    [PHASE_ALLOWED] = PHASE_PARSED,
    [PHASE_COMPILED] = PHASE_ALLOWED,
    [PHASE_STARTED] = PHASE_COMPILED,
    [PHASE_ENDED] = PHASE_STARTED,
    /* Not ENDED: its marker lies in a pipe that may be read after the death it preceded. */
    [PHASE_REAPED] = PHASE_SPAWNED,
    [PHASE_CHECKED] = PHASE_REAPED,
};

/* The first phase that came out of order, or PHASE_COUNT. */
static Phase first_disorder(const Facts *facts) {
    Phase phase = PHASE_SPAWNED;
    for (; phase < PHASE_COUNT; phase++) {
        const Phase before = predecessors[phase];
        if (!facts->seen[phase]) continue;
        if (!facts->seen[before] || facts->at_us[phase] < facts->at_us[before]) break;
    }
    return phase;
}

static bool all_codes(const FailureList *list, bool (*is_expected)(Code code)) {
    for (size_t i = 0; i < list->n_items; i++)
        if (!is_expected(list->items[i].code)) return false;
    return true;
}

static bool found(const Facts *facts, Code code) {
    for (size_t i = 0; i < facts->findings.n_items; i++)
        if (facts->findings.items[i].code == code) return true;
    return false;
}

/* --- When a rule applies ------------------------------------------------------------------- */

static bool names_a_fault(const Facts *facts) {
    return code_is_infrastructure(facts->fault);
}

static bool never_received(const Facts *facts) {
    return !facts->seen[PHASE_RECEIVED];
}

static bool is_out_of_order(const Facts *facts) {
    return first_disorder(facts) != PHASE_COUNT;
}

static bool contradicts_itself(const Facts *facts) {
    const bool refused = facts->rejects.n_items > 0 || facts->held;
    return (started(facts) && refused) || facts->fault != CODE_NONE ||
           (facts->limit != CODE_NONE && !code_is_limit(facts->limit)) ||
           !all_codes(&facts->rejects, code_is_reject) ||
           !all_codes(&facts->findings, code_is_finding);
}

static bool killed_without_reason(const Facts *facts) {
    return facts->killed_by_warden && facts->limit == CODE_NONE;
}

static bool crashed(const Facts *facts) {
    return facts->signal != 0 && !facts->killed_by_warden && facts->limit == CODE_NONE;
}

static bool hit_a_limit(const Facts *facts) {
    return facts->limit != CODE_NONE;
}

static bool was_rejected(const Facts *facts) {
    return facts->rejects.n_items > 0;
}

/* Without STARTED an exit status is the harness's, not the code's. */
static bool never_executed(const Facts *facts) {
    const bool held_for_a_leak = facts->held && found(facts, CODE_CANARY_LEAK);
    return !started(facts) && !was_rejected(facts) && !held_for_a_leak && !crashed(facts) &&
           !hit_a_limit(facts);
}

static bool never_reaped(const Facts *facts) {
    if (!started(facts)) return false;
    return !facts->seen[PHASE_REAPED] || (!has_status(facts) && !hit_a_limit(facts));
}

static bool never_checked(const Facts *facts) {
    return started(facts) && !facts->seen[PHASE_CHECKED];
}

static bool exited_nonzero(const Facts *facts) {
    return started(facts) && exited_by_itself(facts) && facts->exit_code != 0;
}

static bool ended_early(const Facts *facts) {
    return started(facts) && exited_by_itself(facts) && facts->exit_code == 0 &&
           !facts->seen[PHASE_ENDED];
}

static bool has_findings(const Facts *facts) {
    return facts->findings.n_items > 0;
}

static bool ran_to_its_end(const Facts *facts) {
    return facts->seen[PHASE_ENDED] && facts->seen[PHASE_CHECKED] && exited_by_itself(facts) &&
           facts->exit_code == 0;
}

/* --- What a rule says ---------------------------------------------------------------------- */

/* `message` or `message: detail`. */
static int add_reason(Code code, const char *message, const char *detail, FailureList *failures) {
    CLEANUP(freep) char *text = NULL;
    const bool has_detail = detail && detail[0];
    int r = text_format(&text, "%s%s%s", message, has_detail ? ": " : "", has_detail ? detail : "");
    if (r == 0) r = failure_list_append(failures, &(Failure){.code = code, .message = text});
    return r < 0 ? error_fold(r) : 0;
}

static int add_message(const Rule *rule, const Facts *facts, FailureList *failures) {
    (void)facts;
    return add_reason(rule->code, rule->message, NULL, failures);
}

static int add_fault(const Rule *rule, const Facts *facts, FailureList *failures) {
    const bool has_detail = facts->fault_detail && facts->fault_detail[0];
    return add_reason(facts->fault, has_detail ? facts->fault_detail : rule->message, NULL,
                      failures);
}

static int add_disorder(const Rule *rule, const Facts *facts, FailureList *failures) {
    return add_reason(rule->code, rule->message, phase_name(first_disorder(facts)), failures);
}

/* Of a traceback the last line, of anything else the first; blank ones do not count. */
static int copy_useful_line(const char *excerpt, char **ret_line) {
    const bool is_traceback = strncmp(excerpt, "Traceback ", strlen("Traceback ")) == 0;
    const char *line = "";
    size_t line_bytes = 0;
    for (const char *p = excerpt; *p; p += strspn(p, "\n")) {
        const size_t n = strcspn(p, "\n");
        if (strspn(p, " \t\r") < n && (is_traceback || line_bytes == 0)) {
            line = p;
            line_bytes = n < USEFUL_LINE_BYTES ? n : USEFUL_LINE_BYTES;
        }
        p += n;
    }
    /* The bound may have cut a character in two. */
    const int r = text_sanitize(line, line_bytes, ret_line);
    return r < 0 ? error_fold(r) : 0;
}

static int describe_death(const Facts *facts, char **ret_text) {
    static const char when[] = "before its start marker";
    int r;
    if (facts->killed_by_warden)
        r = text_format(ret_text, "the interpreter gave no start marker and was stopped");
    else if (facts->signal)
        r = text_format(ret_text, "the interpreter was killed by %s %s",
                        verdict_signal_name(facts->signal), when);
    else if (facts->exited)
        r = text_format(ret_text, "the interpreter exited %d %s", facts->exit_code, when);
    else
        r = text_format(ret_text, "neither a start marker nor an exit status was seen");
    return r < 0 ? error_fold(r) : 0;
}

static int add_never_started(const Rule *rule, const Facts *facts, FailureList *failures) {
    CLEANUP(freep) char *seen = NULL;
    CLEANUP(freep) char *line = NULL;
    int r = facts->fault_detail && facts->fault_detail[0]
                ? text_format(&seen, "%s", facts->fault_detail)
                : describe_death(facts, &seen);
    if (r == 0 && facts->excerpt) r = copy_useful_line(facts->excerpt, &line);
    if (r == 0) r = add_reason(rule->code, seen, line, failures);
    return r < 0 ? error_fold(r) : 0;
}

static int add_crash(const Rule *rule, const Facts *facts, FailureList *failures) {
    CLEANUP(freep) char *seen = NULL;
    int r = text_format(&seen, "%s was killed by %s",
                        started(facts) ? "generated code" : "the interpreter, reading the code,",
                        verdict_signal_name(facts->signal));
    if (r == 0) r = add_reason(rule->code, seen, facts->excerpt, failures);
    return r < 0 ? error_fold(r) : 0;
}

static int add_limit(const Rule *rule, const Facts *facts, FailureList *failures) {
    const bool has_detail = facts->limit_detail && facts->limit_detail[0];
    const Failure failure = {
        .code = facts->limit,
        .subject = facts->limit_subject,
        .message = has_detail ? facts->limit_detail : (char *)rule->message,
    };
    const int r = failure_list_append(failures, &failure);
    return r < 0 ? error_fold(r) : 0;
}

static int add_exit(const Rule *rule, const Facts *facts, FailureList *failures) {
    CLEANUP(freep) char *seen = NULL;
    int r = text_format(&seen, "generated code exited %d", facts->exit_code);
    if (r == 0) r = add_reason(rule->code, seen, facts->excerpt, failures);
    return r < 0 ? error_fold(r) : 0;
}

static int add_all(const FailureList *from, FailureList *failures) {
    for (size_t i = 0; i < from->n_items; i++) {
        const int r = failure_list_append(failures, &from->items[i]);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int add_rejects(const Rule *rule, const Facts *facts, FailureList *failures) {
    (void)rule;
    return add_all(&facts->rejects, failures);
}

static int add_findings(const Rule *rule, const Facts *facts, FailureList *failures) {
    (void)rule;
    return add_all(&facts->findings, failures);
}

/* --- The table ----------------------------------------------------------------------------- */

#define INFRA VERDICT_INFRASTRUCTURE_FAILURE
#define FAILED VERDICT_FAILED

/* The first infrastructure rule that applies decides alone. Otherwise every failure that applies is
 * listed. In order. */
static const Rule rules[] = {
    {INFRA, names_a_fault, add_fault, CODE_NONE, "the environment failed"},
    {INFRA, never_received, add_never_started, CODE_CHILD_NEVER_STARTED, NULL},
    {INFRA, is_out_of_order, add_disorder, CODE_CHANNEL_BROKEN, "a phase came out of order"},
    {INFRA, contradicts_itself, add_message, CODE_CHANNEL_BROKEN,
     "the report of the run contradicts itself"},
    {INFRA, killed_without_reason, add_message, CODE_HARNESS_FAILED,
     "the interpreter was stopped, and no limit explains it"},
    {INFRA, never_executed, add_message, CODE_HARNESS_FAILED,
     "the interpreter had the code but neither refused nor started it"},
    {INFRA, never_reaped, add_message, CODE_NOT_REAPED,
     "not every process of the job was seen to be dead"},
    {INFRA, never_checked, add_message, CODE_CHECKS_FAILED,
     "the checks after the run were not completed"},

    {FAILED, crashed, add_crash, CODE_CRASHED, NULL},
    {FAILED, hit_a_limit, add_limit, CODE_NONE, "the limit was exceeded"},
    {FAILED, was_rejected, add_rejects, CODE_NONE, NULL},
    {FAILED, exited_nonzero, add_exit, CODE_EXITED, NULL},
    {FAILED, ended_early, add_message, CODE_ENDED_EARLY,
     "generated code exited 0 before it had run to its end"},
    {FAILED, has_findings, add_findings, CODE_NONE, NULL},
};

/* What no rule above knows and what is not a pass either. */
static const Rule no_rule_fits = {INFRA, NULL, add_message, CODE_HARNESS_FAILED,
                                  "the report of the run fits no rule"};

static const Rule *infrastructure_rule(const Facts *facts) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].kind == INFRA && rules[i].applies(facts)) return &rules[i];
    return NULL;
}

static int add_failures(const Facts *facts, FailureList *failures) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const Rule *rule = &rules[i];
        if (rule->kind != FAILED || !rule->applies(facts)) continue;
        const int r = rule->add(rule, facts, failures);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

int rule_judge(const Facts *facts, VerdictKind *ret_kind, FailureList *ret_failures) {
    CLEANUP(failure_list_deinit) FailureList failures = {0};
    int r = 0;
    const Rule *infrastructure = infrastructure_rule(facts);
    if (!infrastructure) r = add_failures(facts, &failures);
    const bool has_failed = failures.n_items > 0;
    if (!infrastructure && !has_failed && !ran_to_its_end(facts)) infrastructure = &no_rule_fits;
    if (r == 0 && infrastructure) r = infrastructure->add(infrastructure, facts, &failures);
    if (r < 0) return error_fold(r);
    *ret_kind = infrastructure ? INFRA : has_failed ? FAILED : VERDICT_PASSED;
    *ret_failures = failures;
    failures = (FailureList){0};
    return 0;
}

bool facts_are_native_crash(const Facts *facts) {
    return !infrastructure_rule(facts) && crashed(facts);
}
