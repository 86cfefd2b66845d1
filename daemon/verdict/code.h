/* Code: the closed set of reasons a verdict can give. Names are part of the public contract. */
#pragma once

#include <stdbool.h>

typedef enum Code {
    CODE_NONE,
    /* Infrastructure: says nothing about the code. */
    CODE_CHILD_NEVER_STARTED,
    CODE_HARNESS_FAILED,
    CODE_WARDEN_LOST,
    CODE_CHANNEL_BROKEN,
    CODE_STAGING_FAILED,
    CODE_NOT_REAPED,
    CODE_CHECKS_FAILED,
    CODE_LAYER_MISSING,
    CODE_ENVIRONMENT_INVALID,
    CODE_NO_ENVIRONMENT,
    CODE_PROFILE_UNHEALTHY,
    CODE_PROFILE_REMOVED,
    CODE_CANCELLED,
    CODE_SHUTTING_DOWN,
    CODE_OUT_OF_MEMORY,
    /* Failures: about code that was seen to start. */
    CODE_DOES_NOT_PARSE,
    CODE_FORBIDDEN_IMPORT,
    CODE_FORBIDDEN_CALL,
    CODE_FORBIDDEN_ATTRIBUTE,
    CODE_FORBIDDEN_NAME,
    CODE_DOES_NOT_COMPILE,
    CODE_CRASHED,
    CODE_TIMEOUT,
    CODE_MEMORY_LIMIT,
    CODE_PROCESS_LIMIT,
    CODE_OPEN_FILES_LIMIT,
    CODE_OUTPUT_LIMIT,
    CODE_DISK_LIMIT,
    CODE_FORBIDDEN_SYSCALL, /* not a matter of how much, but ended in the same way */
    CODE_EXITED,
    CODE_ENDED_EARLY,
    CODE_INPUT_MODIFIED,
    CODE_PROTECTED_COLUMN,
    CODE_CANARY_LEAK,
    CODE_NONDETERMINISTIC,
    CODE_COUNT,
} Code;

/* Name on the wire, e.g. "does_not_parse"; "" for CODE_NONE. Static. */
const char *code_name(Code code);
/* CODE_COUNT when no code has this name; CODE_NONE for "". */
Code code_from_name(const char *name);
bool code_is_infrastructure(Code code);
/* True for the static rules, which the harness reports before the code starts. */
bool code_is_reject(Code code);
/* True for what a job may use too much of, or not at all: the reasons for which it is stopped. */
bool code_is_limit(Code code);
/* True for what is found around the code: in its source and, once it is dead, in what it left. A
 * limit counts too: that too much lies on disk is seen only then. */
bool code_is_finding(Code code);
