#include "verdict/code.h"

#include <string.h>

static const char *const names[CODE_COUNT] = {
    [CODE_NONE] = "",
    [CODE_CHILD_NEVER_STARTED] = "child_never_started",
    [CODE_HARNESS_FAILED] = "harness_failed",
    [CODE_WARDEN_LOST] = "warden_lost",
    [CODE_CHANNEL_BROKEN] = "channel_broken",
    [CODE_STAGING_FAILED] = "staging_failed",
    [CODE_NOT_REAPED] = "not_reaped",
    [CODE_CHECKS_FAILED] = "checks_failed",
    [CODE_LAYER_MISSING] = "layer_missing",
    [CODE_ENVIRONMENT_INVALID] = "environment_invalid",
    [CODE_NO_ENVIRONMENT] = "no_environment",
    [CODE_PROFILE_UNHEALTHY] = "profile_unhealthy",
    [CODE_PROFILE_REMOVED] = "profile_removed",
    [CODE_CANCELLED] = "cancelled",
    [CODE_SHUTTING_DOWN] = "shutting_down",
    [CODE_OUT_OF_MEMORY] = "out_of_memory",
    [CODE_DOES_NOT_PARSE] = "does_not_parse",
    [CODE_FORBIDDEN_IMPORT] = "forbidden_import",
    [CODE_FORBIDDEN_CALL] = "forbidden_call",
    [CODE_FORBIDDEN_ATTRIBUTE] = "forbidden_attribute",
    [CODE_FORBIDDEN_NAME] = "forbidden_name",
    [CODE_DOES_NOT_COMPILE] = "does_not_compile",
    [CODE_CRASHED] = "crashed",
    [CODE_TIMEOUT] = "timeout",
    [CODE_MEMORY_LIMIT] = "memory_limit",
    [CODE_PROCESS_LIMIT] = "process_limit",
    [CODE_OPEN_FILES_LIMIT] = "open_files_limit",
    [CODE_OUTPUT_LIMIT] = "output_limit",
    [CODE_DISK_LIMIT] = "disk_limit",
    [CODE_FORBIDDEN_SYSCALL] = "forbidden_syscall",
    [CODE_EXITED] = "exited",
    [CODE_ENDED_EARLY] = "ended_early",
    [CODE_INPUT_MODIFIED] = "input_modified",
    [CODE_PROTECTED_COLUMN] = "protected_column",
    [CODE_CANARY_LEAK] = "canary_leak",
    [CODE_NONDETERMINISTIC] = "nondeterministic",
};

const char *code_name(Code code) {
    return names[code];
}

Code code_from_name(const char *name) {
    Code code = CODE_NONE;
    while (code < CODE_COUNT && strcmp(names[code], name) != 0) code++;
    return code;
}

bool code_is_infrastructure(Code code) {
    return code >= CODE_CHILD_NEVER_STARTED && code <= CODE_OUT_OF_MEMORY;
}

bool code_is_reject(Code code) {
    return code >= CODE_DOES_NOT_PARSE && code <= CODE_DOES_NOT_COMPILE;
}

bool code_is_limit(Code code) {
    return code >= CODE_TIMEOUT && code <= CODE_FORBIDDEN_SYSCALL;
}

bool code_is_finding(Code code) {
    return code == CODE_INPUT_MODIFIED || code == CODE_PROTECTED_COLUMN ||
           code == CODE_CANARY_LEAK || code_is_limit(code);
}
