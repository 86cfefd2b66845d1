/* Verdict: facts in, verdict out. Pure rules, no I/O, no clock: the table of what a run that looked
 * like this may be called. Fails closed: facts that fit no rule are an infrastructure failure. */
#pragma once

#include "verdict/facts.h"

typedef enum VerdictKind {
    VERDICT_PASSED = 1,
    VERDICT_FAILED = 2,
    VERDICT_INFRASTRUCTURE_FAILURE = 3,
} VerdictKind;

enum { VERDICT_MAX_NATIVE_CRASHES = 2 };

typedef struct NativeCrash {
    unsigned attempt;
    int signal;
    char *excerpt;
    char *environment_id;
} NativeCrash;

typedef struct Verdict {
    VerdictKind kind;
    FailureList failures; /* failed: all that apply; infrastructure: exactly one; passed: none */
    bool stage_parse, stage_allowlist, stage_compile, stage_execute;
    bool child_started;
    unsigned attempts;
    bool has_exit;
    NativeCrash *native_crashes;
    size_t n_native_crashes;
    Facts *facts; /* of the last run; NULL when there was none */
} Verdict;

const char *verdict_kind_name(VerdictKind kind); /* "passed", "failed", "infrastructure_failure" */

/* True when the run was ended by a signal that we did not send, after the start marker, and
 * neither a limit nor an infrastructure failure explains it. */
bool facts_are_native_crash(const Facts *facts);

/* Judges the last run. Takes over *facts (and nulls it) and *crashes on success. `crashes` lists
 * every native crash so far, this run's included; `attempts` counts the runs. 0 or -ENOMEM. */
int verdict_new(Facts **facts, NativeCrash **crashes, size_t n_crashes, unsigned attempts,
                Verdict **ret_verdict);

/* A verdict that says nothing about the code; `code` is an infrastructure one. The
 * message is copied. 0 or -ENOMEM. */
int verdict_new_infrastructure(Code code, const char *message, unsigned attempts,
                               Verdict **ret_verdict);

/* Adds a difference between two runs of the same code as `nondeterministic`, when there is one;
 * both must have been judged alone before. Compares stdout, exit and produced files. Turns PASSED
 * into FAILED. 0 or -ENOMEM. */
int verdict_compare_runs(Verdict *verdict, const Facts *first, const Facts *other);

/* Takes NULL, returns NULL. */
Verdict *verdict_free(Verdict *verdict);

static inline void verdict_freep(Verdict **verdict) {
    verdict_free(*verdict);
}

/* "SIGSEGV" for 11 and so on; "SIG33" for one without a name. Static or thread-local buffer. */
const char *verdict_signal_name(int signal);
