#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "base/cleanup.h"
#include "verdict/verdict.h"

/* --- Facts → verdict ------------------------------------------------------------------------ */

enum {
    SPAWNED = 1 << PHASE_SPAWNED,
    UP_TO_DISPATCHED = SPAWNED | 1 << PHASE_CONFINED | 1 << PHASE_VALIDATED | 1 << PHASE_DISPATCHED,
    UP_TO_RECEIVED = UP_TO_DISPATCHED | 1 << PHASE_RECEIVED,
    UP_TO_PARSED = UP_TO_RECEIVED | 1 << PHASE_PARSED,
    UP_TO_ALLOWED = UP_TO_PARSED | 1 << PHASE_ALLOWED,
    UP_TO_COMPILED = UP_TO_ALLOWED | 1 << PHASE_COMPILED,
    UP_TO_STARTED = UP_TO_COMPILED | 1 << PHASE_STARTED,
    UP_TO_ENDED = UP_TO_STARTED | 1 << PHASE_ENDED,
    REAPED = 1 << PHASE_REAPED,
    CHECKED = 1 << PHASE_REAPED | 1 << PHASE_CHECKED,
    WHOLE = UP_TO_ENDED | CHECKED,
    MAX_CODES = 6,
};

typedef enum End { NO_STATUS, EXIT, SIGNAL } End;

typedef struct Row {
    const char *name;
    /* Facts. */
    unsigned seen;
    Phase early; /* its time lies before all others; SPAWNED: none */
    Phase late;  /* its time lies after all others; SPAWNED: none */
    End end;
    int status;
    bool killed;
    bool held;
    Code limit;
    Code fault;
    const char *detail;  /* of the limit or the fault */
    const char *subject; /* of the limit; the verdict's first failure has it too */
    const char *excerpt;
    Code rejects[MAX_CODES];
    Code findings[MAX_CODES];
    /* Verdict. */
    VerdictKind kind;
    Code codes[MAX_CODES];
    const char *message; /* of the first failure; NULL: not compared */
    const char *stages;  /* of p, a, c, e */
} Row;

#define PASSED .kind = VERDICT_PASSED, .codes = {CODE_NONE}, .stages = "pace"
#define FAILED .kind = VERDICT_FAILED, .codes
#define INFRA .kind = VERDICT_INFRASTRUCTURE_FAILURE, .stages = "", .codes

static const Row rows[] = {
    /* The one way to pass. */
    {"passed", WHOLE, .end = EXIT, PASSED},
    {"the ended marker was drained after the death", WHOLE, .late = PHASE_ENDED, .end = EXIT,
     PASSED},

    /* A fault that the warden names. */
    {"fault", UP_TO_DISPATCHED, .fault = CODE_STAGING_FAILED, .detail = "no space",
     INFRA = {CODE_STAGING_FAILED}, .message = "no space"},
    {"fault without a word", UP_TO_DISPATCHED, .fault = CODE_OUT_OF_MEMORY,
     INFRA = {CODE_OUT_OF_MEMORY}, .message = "the environment failed"},
    {"fault on a run that looks passed", WHOLE, .end = EXIT, .fault = CODE_CHECKS_FAILED,
     INFRA = {CODE_CHECKS_FAILED}},
    {"fault on a run that looks failed", WHOLE, .end = EXIT, .status = 1, .fault = CODE_NOT_REAPED,
     .findings = {CODE_CANARY_LEAK}, INFRA = {CODE_NOT_REAPED}},
    {"fault beside a crash", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGSEGV,
     .fault = CODE_CHANNEL_BROKEN, INFRA = {CODE_CHANNEL_BROKEN}},
    {"fault beside a limit", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGKILL,
     .killed = true, .limit = CODE_TIMEOUT, .fault = CODE_NOT_REAPED, INFRA = {CODE_NOT_REAPED}},
    {"a fault before the start marker keeps its name", SPAWNED, .fault = CODE_LAYER_MISSING,
     INFRA = {CODE_LAYER_MISSING}},
    {"a fault that is no fault", WHOLE, .end = EXIT, .fault = CODE_EXITED,
     INFRA = {CODE_CHANNEL_BROKEN}},

    /* No start marker: nothing else counts. */
    {"died on dispatch", UP_TO_DISPATCHED | REAPED, .end = EXIT, .status = 1,
     .excerpt = "Fatal Python error: _Py_HashRandomization_Init: failed to get random numbers\n"
                "Python runtime state: preinitialized\n",
     INFRA = {CODE_CHILD_NEVER_STARTED},
     .message = "the interpreter exited 1 before its start marker: Fatal Python error: "
                "_Py_HashRandomization_Init: failed to get random numbers"},
    {"died on dispatch with a traceback", UP_TO_DISPATCHED, .end = EXIT, .status = 1,
     .excerpt = "Traceback (most recent call last):\n  File \"<string>\", line 1\nOSError: no\n\n",
     INFRA = {CODE_CHILD_NEVER_STARTED},
     .message = "the interpreter exited 1 before its start marker: OSError: no"},
    {"exited 0 silently", UP_TO_DISPATCHED | CHECKED, .end = EXIT,
     INFRA = {CODE_CHILD_NEVER_STARTED},
     .message = "the interpreter exited 0 before its start marker"},
    {"killed before its start marker", UP_TO_DISPATCHED | CHECKED, .end = SIGNAL, .status = SIGSEGV,
     .excerpt = "\n\n", INFRA = {CODE_CHILD_NEVER_STARTED},
     .message = "the interpreter was killed by SIGSEGV before its start marker"},
    {"hung before its start marker", UP_TO_DISPATCHED | CHECKED, .end = SIGNAL, .status = SIGKILL,
     .killed = true, INFRA = {CODE_CHILD_NEVER_STARTED},
     .message = "the interpreter gave no start marker and was stopped"},
    {"a deadline before its start marker", UP_TO_DISPATCHED | CHECKED, .end = SIGNAL,
     .status = SIGKILL, .killed = true, .limit = CODE_TIMEOUT, INFRA = {CODE_CHILD_NEVER_STARTED}},
    {"nothing was seen", 0, INFRA = {CODE_CHILD_NEVER_STARTED},
     .message = "neither a start marker nor an exit status was seen"},
    {"every phase but the start marker", WHOLE & ~(1u << PHASE_RECEIVED), .end = EXIT,
     INFRA = {CODE_CHILD_NEVER_STARTED}},
    {"rejects and leaks without a start marker", UP_TO_DISPATCHED | CHECKED, .end = EXIT,
     .status = 1, .held = true, .rejects = {CODE_FORBIDDEN_IMPORT}, .findings = {CODE_CANARY_LEAK},
     INFRA = {CODE_CHILD_NEVER_STARTED}},

    /* A report that cannot be true. */
    {"started without compiled", WHOLE & ~(1u << PHASE_COMPILED), .end = EXIT,
     INFRA = {CODE_CHANNEL_BROKEN}, .message = "a phase came out of order: started"},
    {"ended without started", WHOLE & ~(1u << PHASE_STARTED), .end = EXIT,
     INFRA = {CODE_CHANNEL_BROKEN}, .message = "a phase came out of order: ended"},
    {"checked without reaped", WHOLE & ~REAPED, .end = EXIT, INFRA = {CODE_CHANNEL_BROKEN}},
    {"received without dispatched", WHOLE & ~(1u << PHASE_DISPATCHED), .end = EXIT,
     INFRA = {CODE_CHANNEL_BROKEN}},
    {"parsed before received", WHOLE, .early = PHASE_PARSED, .end = EXIT,
     INFRA = {CODE_CHANNEL_BROKEN}, .message = "a phase came out of order: parsed"},
    {"ended before started", WHOLE, .early = PHASE_ENDED, .end = EXIT,
     INFRA = {CODE_CHANNEL_BROKEN}},
    {"reaped after checked", WHOLE, .late = PHASE_REAPED, .end = EXIT,
     INFRA = {CODE_CHANNEL_BROKEN}},
    {"a crash out of order", WHOLE & ~(1u << PHASE_PARSED), .end = SIGNAL, .status = SIGSEGV,
     INFRA = {CODE_CHANNEL_BROKEN}},
    {"rejected and yet started", WHOLE, .end = EXIT, .rejects = {CODE_FORBIDDEN_CALL},
     INFRA = {CODE_CHANNEL_BROKEN}, .message = "the report of the run contradicts itself"},
    {"held and yet started", WHOLE, .end = EXIT, .held = true, INFRA = {CODE_CHANNEL_BROKEN}},
    {"a limit that is none", WHOLE, .end = EXIT, .limit = CODE_CRASHED,
     INFRA = {CODE_CHANNEL_BROKEN}},
    {"a reject that is none", UP_TO_PARSED, .end = EXIT, .rejects = {CODE_EXITED},
     INFRA = {CODE_CHANNEL_BROKEN}},
    {"a finding that is none", WHOLE, .end = EXIT, .findings = {CODE_FORBIDDEN_NAME},
     INFRA = {CODE_CHANNEL_BROKEN}},
    {"a fault among the findings", WHOLE, .end = EXIT, .findings = {CODE_WARDEN_LOST},
     INFRA = {CODE_CHANNEL_BROKEN}},

    /* Stopped by us, and no limit says why. */
    {"killed without a reason", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGKILL,
     .killed = true, INFRA = {CODE_HARNESS_FAILED},
     .message = "the interpreter was stopped, and no limit explains it"},
    {"killed without a reason, exit 0", WHOLE, .end = EXIT, .killed = true,
     INFRA = {CODE_HARNESS_FAILED}},
    {"killed without a reason after a reject", UP_TO_PARSED | CHECKED, .end = SIGNAL,
     .status = SIGKILL, .killed = true, .rejects = {CODE_FORBIDDEN_IMPORT},
     INFRA = {CODE_HARNESS_FAILED}},

    /* The interpreter had the code, and it was never executed. */
    {"harness died while parsing", UP_TO_RECEIVED | CHECKED, .end = EXIT, .status = 1,
     INFRA = {CODE_HARNESS_FAILED},
     .message = "the interpreter had the code but neither refused nor started it"},
    {"harness died before starting", UP_TO_COMPILED | CHECKED, .end = EXIT, .status = 3,
     INFRA = {CODE_HARNESS_FAILED}},
    {"harness left before starting", UP_TO_COMPILED | CHECKED, .end = EXIT,
     INFRA = {CODE_HARNESS_FAILED}},
    {"held without a leak", UP_TO_COMPILED | CHECKED, .end = EXIT, .held = true,
     INFRA = {CODE_HARNESS_FAILED}},
    {"held for another finding", UP_TO_COMPILED | CHECKED, .end = EXIT, .held = true,
     .findings = {CODE_INPUT_MODIFIED}, INFRA = {CODE_HARNESS_FAILED}},
    {"a leak in the source, but nobody held the code", UP_TO_COMPILED | CHECKED, .end = EXIT,
     .findings = {CODE_CANARY_LEAK}, INFRA = {CODE_HARNESS_FAILED}},

    /* Started, but the evidence is incomplete. */
    {"passed but not checked", UP_TO_ENDED | REAPED, .end = EXIT, INFRA = {CODE_CHECKS_FAILED}},
    {"passed but not reaped", UP_TO_ENDED, .end = EXIT, INFRA = {CODE_NOT_REAPED}},
    {"exited 1 but not checked", UP_TO_STARTED | REAPED, .end = EXIT, .status = 1,
     INFRA = {CODE_CHECKS_FAILED}},
    {"crashed but not reaped", UP_TO_STARTED, .end = SIGNAL, .status = SIGSEGV,
     INFRA = {CODE_NOT_REAPED}},
    {"timeout but not checked", UP_TO_STARTED | REAPED, .end = SIGNAL, .status = SIGKILL,
     .killed = true, .limit = CODE_TIMEOUT, INFRA = {CODE_CHECKS_FAILED}},
    {"a leak but not checked", UP_TO_ENDED | REAPED, .end = EXIT, .findings = {CODE_CANARY_LEAK},
     INFRA = {CODE_CHECKS_FAILED}},
    {"ended without an exit status", WHOLE, .end = NO_STATUS, INFRA = {CODE_NOT_REAPED}},

    /* Native crash. */
    {"crashed", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGSEGV,
     .excerpt = "Fatal Python error: Segmentation fault", FAILED = {CODE_CRASHED},
     .message = "generated code was killed by SIGSEGV: Fatal Python error: Segmentation fault",
     .stages = "pace"},
    {"crashed after its end", WHOLE, .end = SIGNAL, .status = SIGABRT, FAILED = {CODE_CRASHED},
     .message = "generated code was killed by SIGABRT", .stages = "pace"},
    {"the source crashes the parser", UP_TO_RECEIVED | CHECKED, .end = SIGNAL, .status = SIGSEGV,
     FAILED = {CODE_CRASHED}, .message = "the interpreter, reading the code, was killed by SIGSEGV",
     .stages = ""},
    {"killed by somebody else", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGKILL,
     FAILED = {CODE_CRASHED}, .message = "generated code was killed by SIGKILL", .stages = "pace"},
    {"crashed and overwrote its input", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGBUS,
     .findings = {CODE_INPUT_MODIFIED}, FAILED = {CODE_CRASHED, CODE_INPUT_MODIFIED},
     .stages = "pace"},

    /* Limits. */
    {"timeout", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGKILL, .killed = true,
     .limit = CODE_TIMEOUT, .detail = "wall limit of 10 s", FAILED = {CODE_TIMEOUT},
     .message = "wall limit of 10 s", .stages = "pace"},
    {"timeout after the end", WHOLE, .end = SIGNAL, .status = SIGKILL, .killed = true,
     .limit = CODE_TIMEOUT, FAILED = {CODE_TIMEOUT}, .message = "the limit was exceeded",
     .stages = "pace"},
    {"timeout while the code is read", UP_TO_RECEIVED | CHECKED, .end = SIGNAL, .status = SIGKILL,
     .killed = true, .limit = CODE_TIMEOUT, FAILED = {CODE_TIMEOUT}, .stages = ""},
    {"timeout enforced by an exit code", UP_TO_STARTED | CHECKED, .end = EXIT, .status = 137,
     .killed = true, .limit = CODE_TIMEOUT, FAILED = {CODE_TIMEOUT}, .stages = "pace"},
    {"output limit", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGKILL, .killed = true,
     .limit = CODE_OUTPUT_LIMIT, FAILED = {CODE_OUTPUT_LIMIT}, .stages = "pace"},
    {"the kernel ends it at a limit", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGXFSZ,
     .limit = CODE_DISK_LIMIT, FAILED = {CODE_DISK_LIMIT}, .stages = "pace"},
    {"a limit and an exit of its own", UP_TO_STARTED | CHECKED, .end = EXIT, .status = 1,
     .limit = CODE_DISK_LIMIT, FAILED = {CODE_DISK_LIMIT, CODE_EXITED}, .stages = "pace"},
    {"a limit on a run that looks passed", WHOLE, .end = EXIT, .limit = CODE_DISK_LIMIT,
     FAILED = {CODE_DISK_LIMIT}, .stages = "pace"},
    {"a limit found afterwards", WHOLE, .end = EXIT, .findings = {CODE_DISK_LIMIT},
     FAILED = {CODE_DISK_LIMIT}, .stages = "pace"},
    {"memory limit", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGKILL, .killed = true,
     .limit = CODE_MEMORY_LIMIT, .detail = "used up its 64 bytes of memory",
     FAILED = {CODE_MEMORY_LIMIT}, .message = "used up its 64 bytes of memory", .stages = "pace"},
    {"memory limit after the end", WHOLE, .end = SIGNAL, .status = SIGKILL, .killed = true,
     .limit = CODE_MEMORY_LIMIT, FAILED = {CODE_MEMORY_LIMIT}, .message = "the limit was exceeded",
     .stages = "pace"},
    {"process limit", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGKILL, .killed = true,
     .limit = CODE_PROCESS_LIMIT, .detail = "65 processes", FAILED = {CODE_PROCESS_LIMIT},
     .message = "65 processes", .stages = "pace"},
    {"open files limit", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGKILL, .killed = true,
     .limit = CODE_OPEN_FILES_LIMIT, .detail = "257 files", FAILED = {CODE_OPEN_FILES_LIMIT},
     .message = "257 files", .stages = "pace"},
    {"forbidden call", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGKILL, .killed = true,
     .limit = CODE_FORBIDDEN_SYSCALL, .subject = "ptrace", .detail = "made the system call ptrace",
     FAILED = {CODE_FORBIDDEN_SYSCALL}, .message = "made the system call ptrace", .stages = "pace"},
    {"forbidden call, killed by the filter", UP_TO_STARTED | CHECKED, .end = SIGNAL,
     .status = SIGSYS, .limit = CODE_FORBIDDEN_SYSCALL, .subject = "of another architecture",
     FAILED = {CODE_FORBIDDEN_SYSCALL}, .message = "the limit was exceeded", .stages = "pace"},
    {"forbidden call and a leak", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGKILL,
     .killed = true, .limit = CODE_FORBIDDEN_SYSCALL, .subject = "bpf",
     .findings = {CODE_CANARY_LEAK}, FAILED = {CODE_FORBIDDEN_SYSCALL, CODE_CANARY_LEAK},
     .stages = "pace"},
    {"forbidden call without a start marker", UP_TO_DISPATCHED | CHECKED, .end = SIGNAL,
     .status = SIGKILL, .killed = true, .limit = CODE_FORBIDDEN_SYSCALL, .subject = "bpf",
     INFRA = {CODE_CHILD_NEVER_STARTED}},
    {"timeout and a leak", UP_TO_STARTED | CHECKED, .end = SIGNAL, .status = SIGKILL,
     .killed = true, .limit = CODE_TIMEOUT, .findings = {CODE_CANARY_LEAK},
     FAILED = {CODE_TIMEOUT, CODE_CANARY_LEAK}, .stages = "pace"},

    /* Static rules and the source. */
    {"syntax error", UP_TO_RECEIVED | CHECKED, .end = EXIT, .status = 1,
     .rejects = {CODE_DOES_NOT_PARSE}, FAILED = {CODE_DOES_NOT_PARSE}, .stages = ""},
    {"every static rule at once", UP_TO_PARSED | CHECKED, .end = EXIT,
     .rejects = {CODE_FORBIDDEN_IMPORT, CODE_FORBIDDEN_CALL, CODE_FORBIDDEN_ATTRIBUTE,
                 CODE_FORBIDDEN_NAME},
     FAILED = {CODE_FORBIDDEN_IMPORT, CODE_FORBIDDEN_CALL, CODE_FORBIDDEN_ATTRIBUTE,
               CODE_FORBIDDEN_NAME},
     .stages = "p"},
    {"does not compile", UP_TO_ALLOWED | CHECKED, .end = EXIT, .rejects = {CODE_DOES_NOT_COMPILE},
     FAILED = {CODE_DOES_NOT_COMPILE}, .stages = "pa"},
    {"rejected, exit status and checks unknown", UP_TO_PARSED, .rejects = {CODE_FORBIDDEN_IMPORT},
     FAILED = {CODE_FORBIDDEN_IMPORT}, .stages = "p"},
    {"leak in the source", UP_TO_COMPILED | CHECKED, .end = EXIT, .held = true,
     .findings = {CODE_CANARY_LEAK}, FAILED = {CODE_CANARY_LEAK}, .stages = "pac"},
    {"leak in a source that is rejected too", UP_TO_PARSED | CHECKED, .end = EXIT,
     .rejects = {CODE_FORBIDDEN_IMPORT}, .findings = {CODE_CANARY_LEAK},
     FAILED = {CODE_FORBIDDEN_IMPORT, CODE_CANARY_LEAK}, .stages = "p"},

    /* Ends. */
    {"exit 3", UP_TO_STARTED | CHECKED, .end = EXIT, .status = 3, FAILED = {CODE_EXITED},
     .message = "generated code exited 3", .stages = "pace"},
    {"exit 1 with a traceback", UP_TO_STARTED | CHECKED, .end = EXIT, .status = 1,
     .excerpt = "Traceback (most recent call last):\nKeyError: 'x'", FAILED = {CODE_EXITED},
     .message = "generated code exited 1: Traceback (most recent call last):\nKeyError: 'x'",
     .stages = "pace"},
    {"exit 255 is like any other", UP_TO_STARTED | CHECKED, .end = EXIT, .status = 255,
     FAILED = {CODE_EXITED}, .message = "generated code exited 255", .stages = "pace"},
    {"exit 137 is no signal", UP_TO_STARTED | CHECKED, .end = EXIT, .status = 137,
     FAILED = {CODE_EXITED}, .message = "generated code exited 137", .stages = "pace"},
    {"exit 1 after the end", WHOLE, .end = EXIT, .status = 1, FAILED = {CODE_EXITED},
     .stages = "pace"},
    {"exit 0 without an end", UP_TO_STARTED | CHECKED, .end = EXIT, FAILED = {CODE_ENDED_EARLY},
     .message = "generated code exited 0 before it had run to its end", .stages = "pace"},

    /* Checks after the run. */
    {"input modified", WHOLE, .end = EXIT, .findings = {CODE_INPUT_MODIFIED},
     FAILED = {CODE_INPUT_MODIFIED}, .stages = "pace"},
    {"every check, twice the same", WHOLE, .end = EXIT,
     .findings = {CODE_INPUT_MODIFIED, CODE_PROTECTED_COLUMN, CODE_CANARY_LEAK, CODE_CANARY_LEAK},
     FAILED = {CODE_INPUT_MODIFIED, CODE_PROTECTED_COLUMN, CODE_CANARY_LEAK, CODE_CANARY_LEAK},
     .stages = "pace"},
    {"an exit and every check", UP_TO_STARTED | CHECKED, .end = EXIT, .status = 2,
     .findings = {CODE_INPUT_MODIFIED, CODE_PROTECTED_COLUMN, CODE_CANARY_LEAK},
     FAILED = {CODE_EXITED, CODE_INPUT_MODIFIED, CODE_PROTECTED_COLUMN, CODE_CANARY_LEAK},
     .stages = "pace"},
    {"an early end and a leak", UP_TO_STARTED | CHECKED, .end = EXIT,
     .findings = {CODE_CANARY_LEAK}, FAILED = {CODE_ENDED_EARLY, CODE_CANARY_LEAK},
     .stages = "pace"},
};

static char *copy_or_null(const char *text) {
    return text ? strdup(text) : NULL;
}

static void fill_list(FailureList *list, const Code codes[MAX_CODES]) {
    for (size_t i = 0; i < MAX_CODES && codes[i] != CODE_NONE; i++) {
        const Failure failure = {.code = codes[i], .subject = (char *)"subject"};
        ck_assert_int_eq(failure_list_append(list, &failure), 0);
    }
}

static Facts *facts_of(const Row *row) {
    Facts *facts = calloc(1, sizeof *facts);
    ck_assert_ptr_nonnull(facts);
    for (Phase phase = 0; phase < PHASE_COUNT; phase++) {
        facts->seen[phase] = row->seen >> phase & 1;
        facts->at_us[phase] = 100 + 10 * (uint64_t)phase;
    }
    if (row->early != PHASE_SPAWNED) facts->at_us[row->early] = 0;
    if (row->late != PHASE_SPAWNED) facts->at_us[row->late] = 1000;
    facts->exited = row->end != NO_STATUS;
    if (row->end == EXIT) facts->exit_code = row->status;
    if (row->end == SIGNAL) facts->signal = row->status;
    facts->killed_by_warden = row->killed;
    facts->held = row->held;
    facts->limit = row->limit;
    facts->fault = row->fault;
    facts->limit_detail = row->limit ? copy_or_null(row->detail) : NULL;
    facts->limit_subject = copy_or_null(row->subject);
    facts->fault_detail = row->fault ? copy_or_null(row->detail) : NULL;
    facts->excerpt = copy_or_null(row->excerpt);
    facts->environment_id = strdup("e-1");
    facts->produced = calloc(1, sizeof *facts->produced);
    ck_assert_ptr_nonnull(facts->produced);
    facts->produced[0].name = (uint8_t *)strdup("out.csv");
    facts->produced[0].name_bytes = strlen("out.csv");
    facts->n_produced = 1;
    fill_list(&facts->rejects, row->rejects);
    fill_list(&facts->findings, row->findings);
    return facts;
}

static Verdict *judge(const Row *row) {
    Facts *facts = facts_of(row);
    NativeCrash *crashes = NULL;
    Verdict *verdict = NULL;
    ck_assert_int_eq(verdict_new(&facts, &crashes, 0, 1, &verdict), 0);
    ck_assert_ptr_null(facts);
    return verdict;
}

static const Row *row_called(const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    ck_abort_msg("no row is called %s", name);
    return NULL;
}

static void assert_codes(const Row *row, const FailureList *failures) {
    size_t n = 0;
    for (; n < MAX_CODES && row->codes[n] != CODE_NONE; n++) {
        ck_assert_msg(n < failures->n_items, "%s: %s is missing", row->name,
                      code_name(row->codes[n]));
        const Code seen = failures->items[n].code;
        ck_assert_msg(seen == row->codes[n], "%s: %s, not %s", row->name, code_name(seen),
                      code_name(row->codes[n]));
    }
    ck_assert_msg(failures->n_items == n, "%s: %zu failures, not %zu", row->name, failures->n_items,
                  n);
    if (row->message) ck_assert_str_eq(failures->items[0].message, row->message);
    if (row->limit && row->kind == VERDICT_FAILED)
        ck_assert_pstr_eq(failures->items[0].subject, row->subject);
}

static void assert_stages(const Row *row, const Verdict *verdict) {
    char stages[8];
    snprintf(stages, sizeof stages, "%s%s%s%s", verdict->stage_parse ? "p" : "",
             verdict->stage_allowlist ? "a" : "", verdict->stage_compile ? "c" : "",
             verdict->stage_execute ? "e" : "");
    ck_assert_msg(strcmp(stages, row->stages) == 0, "%s: stages %s, not %s", row->name, stages,
                  row->stages);
}

START_TEST(facts_give_the_verdict_of_the_table) {
    const Row *row = &rows[_i];
    CLEANUP(verdict_freep) Verdict *verdict = judge(row);
    ck_assert_msg(verdict->kind == row->kind, "%s: %s, not %s", row->name,
                  verdict_kind_name(verdict->kind), verdict_kind_name(row->kind));
    assert_codes(row, &verdict->failures);
    assert_stages(row, verdict);
    ck_assert_int_eq(verdict->child_started, row->seen >> PHASE_RECEIVED & 1);
    ck_assert_uint_eq(verdict->attempts, 1);
    const bool is_infra = row->kind == VERDICT_INFRASTRUCTURE_FAILURE;
    ck_assert_uint_eq(verdict->facts->n_produced, is_infra ? 0 : 1);
    if (is_infra) ck_assert(!verdict->has_exit);
}
END_TEST

/* Every combination of phases, ends and causes: a pass is what the one row says and nothing else,
 * and no verdict on the code is given without its start. */
START_TEST(no_other_facts_pass) {
    static const Code limits[] = {CODE_NONE, CODE_TIMEOUT};
    static const struct {
        End end;
        int status;
    } ends[] = {{NO_STATUS, 0}, {EXIT, 0}, {EXIT, 1}, {SIGNAL, SIGSEGV}};
    size_t n_passed = 0;
    for (unsigned i = 0; i < (1u << PHASE_COUNT) * 4 * 2 * 2 * 2; i++) {
        const Row row = {
            .seen = i % (1u << PHASE_COUNT),
            .end = ends[i >> PHASE_COUNT & 3].end,
            .status = ends[i >> PHASE_COUNT & 3].status,
            .killed = i >> (PHASE_COUNT + 2) & 1,
            .held = i >> (PHASE_COUNT + 3) & 1,
            .limit = limits[i >> (PHASE_COUNT + 4) & 1],
        };
        CLEANUP(verdict_freep) Verdict *verdict = judge(&row);
        if (verdict->kind != VERDICT_INFRASTRUCTURE_FAILURE) ck_assert(verdict->child_started);
        ck_assert_int_eq(verdict->kind == VERDICT_PASSED, verdict->failures.n_items == 0);
        if (verdict->kind != VERDICT_PASSED) continue;
        n_passed++;
        ck_assert_uint_eq(row.seen, WHOLE);
        ck_assert_int_eq(row.end, EXIT);
        ck_assert_int_eq(row.status, 0);
    }
    ck_assert_uint_eq(n_passed, 1);
}
END_TEST

START_TEST(only_unexplained_signals_are_native_crashes) {
    static const struct {
        const char *row;
        bool is_crash;
    } cases[] = {
        {"crashed", true},
        {"crashed after its end", true},
        {"the source crashes the parser", true},
        {"killed by somebody else", true},
        {"killed before its start marker", false},
        {"timeout", false},
        {"the kernel ends it at a limit", false},
        {"forbidden call", false},
        {"forbidden call, killed by the filter", false},
        {"memory limit", false},
        {"killed without a reason", false},
        {"fault beside a crash", false},
        {"crashed but not reaped", false},
        {"a crash out of order", false},
        {"exit 137 is no signal", false},
        {"passed", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEANUP(facts_freep) Facts *facts = facts_of(row_called(cases[i].row));
        ck_assert_msg(facts_are_native_crash(facts) == cases[i].is_crash, "%s", cases[i].row);
    }
}
END_TEST

START_TEST(an_exit_is_reported_only_when_it_is_the_codes_own) {
    static const struct {
        const char *row;
        bool has_exit;
    } cases[] = {
        {"passed", true},
        {"exit 3", true},
        {"crashed", true},
        {"the source crashes the parser", true},
        {"timeout", true},
        {"timeout while the code is read", false},
        {"syntax error", false},
        {"leak in the source", false},
        {"died on dispatch", false},
        {"harness died before starting", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEANUP(verdict_freep) Verdict *verdict = judge(row_called(cases[i].row));
        ck_assert_msg(verdict->has_exit == cases[i].has_exit, "%s", cases[i].row);
    }
}
END_TEST

START_TEST(an_infrastructure_failure_carries_no_artifacts) {
    CLEANUP(verdict_freep) Verdict *verdict = judge(row_called("fault on a run that looks failed"));
    ck_assert_ptr_null(verdict->facts->produced);
    ck_assert_uint_eq(verdict->facts->findings.n_items, 0);
    ck_assert_ptr_null(verdict->facts->excerpt);
    ck_assert_str_eq(verdict->facts->environment_id, "e-1");
    ck_assert(verdict->facts->seen[PHASE_CHECKED]);
}
END_TEST

START_TEST(a_long_first_line_is_cut) {
    Row row = *row_called("died on dispatch");
    char line[5001];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    row.excerpt = line;
    row.message = NULL;
    CLEANUP(verdict_freep) Verdict *verdict = judge(&row);
    static const char prefix[] = "the interpreter exited 1 before its start marker: ";
    ck_assert_uint_eq(strlen(verdict->failures.items[0].message), strlen(prefix) + 200);
}
END_TEST

START_TEST(failures_keep_what_was_found) {
    Facts *facts = facts_of(row_called("passed"));
    const Failure leak = {
        .code = CODE_CANARY_LEAK,
        .subject = (char *)"mail-1",
        .message = (char *)"canary mail-1 is in a produced file",
        .sink = (char *)"file",
        .transform = (char *)"literal",
        .offset = 17,
    };
    ck_assert_int_eq(failure_list_append(&facts->findings, &leak), 0);
    NativeCrash *crashes = NULL;
    CLEANUP(verdict_freep) Verdict *verdict = NULL;
    ck_assert_int_eq(verdict_new(&facts, &crashes, 0, 1, &verdict), 0);
    ck_assert_uint_eq(verdict->failures.n_items, 1);
    const Failure *seen = &verdict->failures.items[0];
    ck_assert_str_eq(seen->subject, "mail-1");
    ck_assert_str_eq(seen->message, "canary mail-1 is in a produced file");
    ck_assert_str_eq(seen->sink, "file");
    ck_assert_str_eq(seen->transform, "literal");
    ck_assert_uint_eq(seen->offset, 17);
}
END_TEST

START_TEST(crashes_are_taken_over) {
    Facts *facts = facts_of(row_called("passed"));
    NativeCrash *crashes = calloc(1, sizeof *crashes);
    ck_assert_ptr_nonnull(crashes);
    crashes[0] = (NativeCrash){1, SIGSEGV, strdup("head"), strdup("e-0")};
    CLEANUP(verdict_freep) Verdict *verdict = NULL;
    ck_assert_int_eq(verdict_new(&facts, &crashes, 1, 2, &verdict), 0);
    ck_assert_ptr_null(crashes);
    ck_assert_int_eq(verdict->kind, VERDICT_PASSED);
    ck_assert_uint_eq(verdict->attempts, 2);
    ck_assert_uint_eq(verdict->n_native_crashes, 1);
    ck_assert_str_eq(verdict->native_crashes[0].environment_id, "e-0");
}
END_TEST

START_TEST(infrastructure_without_a_run) {
    CLEANUP(verdict_freep) Verdict *verdict = NULL;
    ck_assert_int_eq(verdict_new_infrastructure(CODE_NO_ENVIRONMENT, "none in 30 s", 0, &verdict),
                     0);
    ck_assert_int_eq(verdict->kind, VERDICT_INFRASTRUCTURE_FAILURE);
    ck_assert_uint_eq(verdict->failures.n_items, 1);
    ck_assert_int_eq(verdict->failures.items[0].code, CODE_NO_ENVIRONMENT);
    ck_assert_str_eq(verdict->failures.items[0].message, "none in 30 s");
    ck_assert_ptr_null(verdict->failures.items[0].subject);
    ck_assert(!verdict->child_started);
    ck_assert(!verdict->has_exit);
    ck_assert_ptr_null(verdict->facts);
    ck_assert_uint_eq(verdict->attempts, 0);
}
END_TEST

/* --- Names ----------------------------------------------------------------------------------- */

START_TEST(kinds_and_signals_have_names) {
    ck_assert_str_eq(verdict_kind_name(VERDICT_PASSED), "passed");
    ck_assert_str_eq(verdict_kind_name(VERDICT_FAILED), "failed");
    ck_assert_str_eq(verdict_kind_name(VERDICT_INFRASTRUCTURE_FAILURE), "infrastructure_failure");
    ck_assert_str_eq(verdict_signal_name(1), "SIGHUP");
    ck_assert_str_eq(verdict_signal_name(6), "SIGABRT");
    ck_assert_str_eq(verdict_signal_name(9), "SIGKILL");
    ck_assert_str_eq(verdict_signal_name(11), "SIGSEGV");
    ck_assert_str_eq(verdict_signal_name(25), "SIGXFSZ");
    ck_assert_str_eq(verdict_signal_name(31), "SIGSYS");
    ck_assert_str_eq(verdict_signal_name(32), "SIG32");
    ck_assert_str_eq(verdict_signal_name(0), "SIG0");
    ck_assert_str_eq(verdict_signal_name(-1), "SIG-1");
}
END_TEST

static Suite *make_suite(void) {
    Suite *suite = suite_create("verdict");
    TCase *judging = tcase_create("judging");
    tcase_set_timeout(judging, 60);
    tcase_add_loop_test(judging, facts_give_the_verdict_of_the_table, 0,
                        sizeof rows / sizeof *rows);
    tcase_add_test(judging, no_other_facts_pass);
    tcase_add_test(judging, only_unexplained_signals_are_native_crashes);
    tcase_add_test(judging, an_exit_is_reported_only_when_it_is_the_codes_own);
    tcase_add_test(judging, an_infrastructure_failure_carries_no_artifacts);
    tcase_add_test(judging, a_long_first_line_is_cut);
    tcase_add_test(judging, failures_keep_what_was_found);
    tcase_add_test(judging, crashes_are_taken_over);
    tcase_add_test(judging, infrastructure_without_a_run);
    tcase_add_test(judging, kinds_and_signals_have_names);
    suite_add_tcase(suite, judging);
    return suite;
}

int main(void) {
    SRunner *runner = srunner_create(make_suite());
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
