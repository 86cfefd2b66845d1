#include "warden/invalid.h"

#include <signal.h>
#include <string.h>

#include "suite.h"

static void expect(int code, int signal, const char *errors, const char *detail,
                   const char *excerpt) {
    InvalidReport report = {0};
    const ChildExit exit = {.code = code, .signal = signal};
    ck_assert_int_eq(invalid_set_death(&report, NULL, &exit, true, errors, strlen(errors)),
                     INVALID_E_REPORTED);
    ck_assert_int_eq(report.code, CODE_CHILD_NEVER_STARTED);
    ck_assert_str_eq(report.detail, detail);
    if (excerpt)
        ck_assert_str_eq(report.stderr_excerpt, excerpt);
    else
        ck_assert_ptr_null(report.stderr_excerpt);
    invalid_report_deinit(&report);
}

START_TEST(a_death_is_described) {
    expect(1, 0, "\nFatal Python error: x\nmore\n",
           "exited 1 before its start marker: Fatal Python error: x",
           "Fatal Python error: x\nmore");
    expect(0, 0, "", "silent: exited 0 with no output before its start marker", NULL);
    expect(0, 0, "why\n", "exited 0 before its start marker: why", "why");
    expect(2, 0, "", "exited 2 before its start marker", NULL);
    expect(0, SIGSEGV, "", "killed by SIGSEGV before its start marker", NULL);
}
END_TEST

START_TEST(output_is_not_silence) {
    InvalidReport report = {0};
    const ChildExit exit = {0};
    ck_assert_int_eq(invalid_set_death(&report, NULL, &exit, false, "", 0), INVALID_E_REPORTED);
    ck_assert_str_eq(report.detail, "exited 0 before its start marker");
    invalid_report_deinit(&report);
}
END_TEST

START_TEST(a_detail_is_one_line) {
    InvalidReport report = {0};
    ck_assert_int_eq(invalid_set(&report, CODE_LAYER_MISSING, "%s", "a\nb\xff"),
                     INVALID_E_REPORTED);
    ck_assert_str_eq(report.detail, "a?b\xef\xbf\xbd");
    ck_assert_int_eq(invalid_set(&report, CODE_STAGING_FAILED, "again"), INVALID_E_REPORTED);
    ck_assert_int_eq(report.code, CODE_STAGING_FAILED);
    ck_assert_str_eq(report.detail, "again");
    invalid_report_deinit(&report);
}
END_TEST

SUITE_MAIN("invalid", a_death_is_described, output_is_not_silence, a_detail_is_one_line)
