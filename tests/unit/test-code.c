#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "verdict/code.h"

enum Class { NOTHING, INFRASTRUCTURE, REJECT, LIMIT, FINDING, OTHER };

/* The public contract: every code, its name, its class. */
static const struct {
    Code code;
    const char *name;
    enum Class class;
} codes[] = {
    {CODE_NONE, "", NOTHING},
    {CODE_CHILD_NEVER_STARTED, "child_never_started", INFRASTRUCTURE},
    {CODE_HARNESS_FAILED, "harness_failed", INFRASTRUCTURE},
    {CODE_WARDEN_LOST, "warden_lost", INFRASTRUCTURE},
    {CODE_CHANNEL_BROKEN, "channel_broken", INFRASTRUCTURE},
    {CODE_STAGING_FAILED, "staging_failed", INFRASTRUCTURE},
    {CODE_NOT_REAPED, "not_reaped", INFRASTRUCTURE},
    {CODE_CHECKS_FAILED, "checks_failed", INFRASTRUCTURE},
    {CODE_LAYER_MISSING, "layer_missing", INFRASTRUCTURE},
    {CODE_ENVIRONMENT_INVALID, "environment_invalid", INFRASTRUCTURE},
    {CODE_NO_ENVIRONMENT, "no_environment", INFRASTRUCTURE},
    {CODE_PROFILE_UNHEALTHY, "profile_unhealthy", INFRASTRUCTURE},
    {CODE_PROFILE_REMOVED, "profile_removed", INFRASTRUCTURE},
    {CODE_CANCELLED, "cancelled", INFRASTRUCTURE},
    {CODE_SHUTTING_DOWN, "shutting_down", INFRASTRUCTURE},
    {CODE_OUT_OF_MEMORY, "out_of_memory", INFRASTRUCTURE},
    {CODE_DOES_NOT_PARSE, "does_not_parse", REJECT},
    {CODE_FORBIDDEN_IMPORT, "forbidden_import", REJECT},
    {CODE_FORBIDDEN_CALL, "forbidden_call", REJECT},
    {CODE_FORBIDDEN_ATTRIBUTE, "forbidden_attribute", REJECT},
    {CODE_FORBIDDEN_NAME, "forbidden_name", REJECT},
    {CODE_DOES_NOT_COMPILE, "does_not_compile", REJECT},
    {CODE_CRASHED, "crashed", OTHER},
    {CODE_TIMEOUT, "timeout", LIMIT},
    {CODE_MEMORY_LIMIT, "memory_limit", LIMIT},
    {CODE_PROCESS_LIMIT, "process_limit", LIMIT},
    {CODE_OPEN_FILES_LIMIT, "open_files_limit", LIMIT},
    {CODE_OUTPUT_LIMIT, "output_limit", LIMIT},
    {CODE_DISK_LIMIT, "disk_limit", LIMIT},
    {CODE_FORBIDDEN_SYSCALL, "forbidden_syscall", LIMIT},
    {CODE_EXITED, "exited", OTHER},
    {CODE_ENDED_EARLY, "ended_early", OTHER},
    {CODE_INPUT_MODIFIED, "input_modified", FINDING},
    {CODE_PROTECTED_COLUMN, "protected_column", FINDING},
    {CODE_CANARY_LEAK, "canary_leak", FINDING},
    {CODE_NONDETERMINISTIC, "nondeterministic", OTHER},
};

START_TEST(every_code_is_in_the_table) {
    ck_assert_uint_eq(sizeof codes / sizeof *codes, CODE_COUNT);
}
END_TEST

START_TEST(names_and_codes_agree) {
    ck_assert_int_eq(codes[_i].code, _i);
    ck_assert_str_eq(code_name(codes[_i].code), codes[_i].name);
    ck_assert_int_eq(code_from_name(codes[_i].name), codes[_i].code);
}
END_TEST

START_TEST(classes) {
    const enum Class class = codes[_i].class;
    const Code code = codes[_i].code;
    ck_assert_int_eq(code_is_infrastructure(code), class == INFRASTRUCTURE);
    ck_assert_int_eq(code_is_reject(code), class == REJECT);
    ck_assert_int_eq(code_is_limit(code), class == LIMIT);
    ck_assert_int_eq(code_is_finding(code), class == FINDING || class == LIMIT);
}
END_TEST

START_TEST(unknown_names_have_no_code) {
    static const char *const unknown[] = {"Timeout", "timeout ", " ", "passed", "exite", "exitedd"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        ck_assert_int_eq(code_from_name(unknown[i]), CODE_COUNT);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("code");
    TCase *tests = tcase_create("code");
    tcase_add_test(tests, every_code_is_in_the_table);
    tcase_add_loop_test(tests, names_and_codes_agree, 0, CODE_COUNT);
    tcase_add_loop_test(tests, classes, 0, CODE_COUNT);
    tcase_add_test(tests, unknown_names_have_no_code);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
