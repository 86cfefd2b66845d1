#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "client/expect.h"

static Expect expect;
static Tb__Verdict verdict;
static Tb__Output out_stream;
static Tb__Exit end;
static Tb__Failure leak, exited;
static Tb__Failure *failures[2] = {&leak, &exited};
static Tb__ProducedFile file;
static Tb__ProducedFile *files[] = {&file};
static char *stages[] = {(char *)"parse", (char *)"allowlist"};
static char *differences;

static ProtobufCBinaryData bytes_of(const char *text) {
    return (ProtobufCBinaryData){.len = strlen(text), .data = (uint8_t *)text};
}

/* A failed verdict with one of everything, and an Expect that it fulfils. */
static void setup(void) {
    expect = (Expect){.kind = TB__VERDICT_KIND__FAILED};
    verdict = (Tb__Verdict)TB__VERDICT__INIT;
    verdict.kind = TB__VERDICT_KIND__FAILED;
    leak = (Tb__Failure)TB__FAILURE__INIT;
    leak.code = (char *)"canary_leak";
    leak.subject = (char *)"mail-1";
    leak.sink = (char *)"stdout";
    leak.transform = (char *)"literal";
    exited = (Tb__Failure)TB__FAILURE__INIT;
    exited.code = (char *)"exited";
    exited.message = (char *)"generated code exited 3: ValueError\nline two";
    exited.line = 7;
    verdict.failures = failures;
    verdict.n_failures = 2;
    verdict.stages = stages;
    verdict.n_stages = 2;
    verdict.child_started = true;
    verdict.attempts = 2;
    end = (Tb__Exit)TB__EXIT__INIT;
    end.code = 3;
    verdict.exit = &end;
    out_stream = (Tb__Output)TB__OUTPUT__INIT;
    out_stream.head = bytes_of("hello wo");
    out_stream.tail = bytes_of("rld\n");
    verdict.stdout = &out_stream;
    file = (Tb__ProducedFile)TB__PRODUCED_FILE__INIT;
    file.name = bytes_of("out.csv");
    file.size_bytes = 12;
    verdict.produced = files;
    verdict.n_produced = 1;
}

static void teardown(void) {
    free(differences);
    differences = NULL;
}

static size_t compare(void) {
    size_t n_bytes = 0;
    FILE *stream = open_memstream(&differences, &n_bytes);
    ck_assert_ptr_nonnull(stream);
    const size_t n_differences = expect_compare(&expect, &verdict, stream);
    ck_assert_int_eq(fclose(stream), 0);
    size_t n_lines = 0;
    for (const char *p = differences; *p; p++) n_lines += *p == '\n';
    ck_assert_uint_eq(n_lines, n_differences);
    return n_differences;
}

static void assert_same(void) {
    ck_assert_msg(compare() == 0, "differs: %s", differences);
}

static void assert_differs(const char *line) {
    ck_assert_uint_eq(compare(), 1);
    ck_assert_str_eq(differences, line);
}

static ExpectCount count_of(uint64_t value) {
    return (ExpectCount){.is_set = true, .value = value};
}

START_TEST(nothing_but_the_kind_is_looked_at_unasked) {
    assert_same();
}
END_TEST

START_TEST(kinds_are_compared) {
    expect.kind = TB__VERDICT_KIND__PASSED;
    assert_differs("verdict: expected passed, got failed\n");
    teardown();
    verdict.kind = (Tb__VerdictKind)9;
    assert_differs("verdict: expected passed, got unknown\n");
}
END_TEST

/* ---- failures ---- */

static ExpectFailure wanted, wanted_too;
static ExpectFailure *all_wanted[] = {&wanted, &wanted_too};

static void want(ExpectFailure first) {
    wanted = first;
    expect.failures = all_wanted;
    expect.n_failures = 1;
}

START_TEST(failures_may_be_partly_named) {
    static const ExpectFailure matching[] = {
        {.code = "canary_leak"},
        {.code = "canary_leak", .subject = "mail-1", .sink = "stdout", .transform = "literal"},
        {.code = "exited", .message_contains = "exited 3", .has_line = true, .line = 7},
        {.code = "exited", .subject = ""},
        {.has_line = true, .line = 0},
    };
    want(matching[_i]);
    assert_same();
}
END_TEST

START_TEST(missing_failures_differ) {
    static const ExpectFailure missing[] = {
        {.code = "timeout"},
        {.code = "canary_leak", .subject = "mail-2"},
        {.code = "canary_leak", .sink = "stderr"},
        {.code = "canary_leak", .transform = "rot13"},
        {.code = "exited", .message_contains = "exited 4"},
        {.code = "exited", .has_line = true, .line = 8},
        {.code = "exited", .sink = "stdout"},
    };
    want(missing[_i]);
    ck_assert_uint_eq(compare(), 1);
}
END_TEST

START_TEST(a_missing_failure_is_told_exactly) {
    want((ExpectFailure){.code = "timeout", .subject = "x"});
    assert_differs("failures: expected timeout subject=\"x\", got canary_leak subject=\"mail-1\" "
                   "sink=\"stdout\" transform=\"literal\"; exited message=\"generated code exited "
                   "3: ValueError\\nline two\" line=7\n");
}
END_TEST

START_TEST(exact_failures_allow_no_other) {
    want((ExpectFailure){.code = "exited"});
    expect.failures_exact = true;
    ck_assert_uint_eq(compare(), 2);
    teardown();
    wanted_too = (ExpectFailure){.code = "canary_leak"};
    expect.n_failures = 2;
    assert_same();
    teardown();
    verdict.n_failures = 0;
    expect.n_failures = 0;
    assert_same();
}
END_TEST

START_TEST(exact_failures_count_twins) {
    want((ExpectFailure){.code = "exited"});
    expect.failures_exact = true;
    leak = exited;
    assert_differs("failures: expected 1, got 2\n");
}
END_TEST

/* ---- stages, end, counts ---- */

START_TEST(stages_are_compared_in_order) {
    char *wanted_stages[] = {(char *)"allowlist", (char *)"parse"};
    expect.has_stages = true;
    expect.stages = (ExpectTexts){stages, 2};
    assert_same();
    teardown();
    expect.stages = (ExpectTexts){wanted_stages, 2};
    assert_differs("stages: expected [allowlist, parse], got [parse, allowlist]\n");
    teardown();
    expect.stages = (ExpectTexts){NULL, 0};
    assert_differs("stages: expected [], got [parse, allowlist]\n");
}
END_TEST

START_TEST(exits_are_compared) {
    expect.exit_code = count_of(3);
    assert_same();
    teardown();
    expect.exit_code = count_of(0);
    assert_differs("exit: expected 0, got exit 3\n");
    teardown();
    verdict.exit = NULL;
    assert_differs("exit: expected 0, got none\n");
}
END_TEST

START_TEST(a_signal_is_no_exit) {
    end.code = 0;
    end.signal = 11;
    end.signal_name = (char *)"SIGSEGV";
    expect.exit_code = count_of(0);
    assert_differs("exit: expected 0, got signal SIGSEGV (11)\n");
}
END_TEST

START_TEST(signals_are_compared_by_name_or_number) {
    expect.signal = "SIGSEGV";
    assert_differs("signal: expected SIGSEGV, got exit 3\n");
    teardown();
    end.signal = 11;
    end.signal_name = (char *)"SIGSEGV";
    assert_same();
    teardown();
    expect.signal = "11";
    assert_same();
    teardown();
    expect.signal = "SIGABRT";
    assert_differs("signal: expected SIGABRT, got signal SIGSEGV (11)\n");
}
END_TEST

START_TEST(counts_are_compared) {
    expect.attempts = count_of(2);
    expect.native_crashes = count_of(0);
    expect.child_started = count_of(1);
    assert_same();
    teardown();
    expect.attempts = count_of(1);
    expect.native_crashes = count_of(1);
    expect.child_started = count_of(0);
    ck_assert_uint_eq(compare(), 3);
    ck_assert_str_eq(differences, "child_started: expected false, got true\n"
                                  "native_crashes: expected 1, got 0\n"
                                  "attempts: expected 1, got 2\n");
}
END_TEST

/* ---- outputs ---- */

static char *text_hello[] = {(char *)"hello"}, *text_lo_world[] = {(char *)"lo world"},
            *text_bye[] = {(char *)"bye"};

START_TEST(head_and_tail_are_one_text) {
    expect.out.equals = "hello world\n";
    expect.out.contains = (ExpectTexts){text_lo_world, 1};
    expect.out.lacks = (ExpectTexts){text_bye, 1};
    expect.err.equals = "";
    assert_same();
}
END_TEST

START_TEST(other_outputs_differ_exactly) {
    expect.out.equals = "hello\tWorld\n";
    assert_differs("stdout: expected \"hello\\tWorld\\n\", got \"hello world\\n\"; they differ at "
                   "byte 5\n");
    teardown();
    expect.out.equals = "hello world";
    assert_differs("stdout: expected \"hello world\", got \"hello world\\n\"; they differ at byte "
                   "11\n");
    teardown();
    expect.out.equals = NULL;
    expect.err.equals = "oh";
    assert_differs("stderr: expected \"oh\", got \"\"; they differ at byte 0\n");
}
END_TEST

START_TEST(parts_of_outputs_differ) {
    expect.out.contains = (ExpectTexts){text_bye, 1};
    assert_differs("stdout: expected to contain \"bye\", got \"hello world\\n\"\n");
    teardown();
    expect.out.contains = (ExpectTexts){NULL, 0};
    expect.out.lacks = (ExpectTexts){text_hello, 1};
    assert_differs("stdout: expected no \"hello\", got \"hello world\\n\"\n");
}
END_TEST

START_TEST(what_was_left_out_is_never_as_expected) {
    out_stream.omitted_bytes = 5;
    expect.out.equals = "hello world\n";
    ck_assert_uint_eq(compare(), 1);
    teardown();
    expect.out.equals = NULL;
    expect.out.contains = (ExpectTexts){text_lo_world, 1};
    ck_assert_uint_eq(compare(), 1);
    teardown();
    expect.out.contains = (ExpectTexts){text_hello, 1};
    assert_same();
    teardown();
    expect.out.lacks = (ExpectTexts){text_bye, 1};
    assert_differs("stdout: expected no \"bye\", which cannot be known: 5 bytes are left out\n");
}
END_TEST

START_TEST(long_outputs_are_shown_around_the_difference) {
    char got[1001], expected[1001];
    memset(got, 'g', 1000);
    memset(expected, 'g', 1000);
    got[1000] = expected[1000] = '\0';
    expected[500] = 'x';
    out_stream.head = bytes_of(got);
    out_stream.tail = bytes_of("");
    expect.out.equals = expected;
    ck_assert_uint_eq(compare(), 1);
    ck_assert_ptr_nonnull(strstr(differences, "(1000 bytes); they differ at byte 500\n"));
    ck_assert_ptr_nonnull(strstr(differences, "gx"));
    ck_assert_uint_lt(strlen(differences), 600);
}
END_TEST

START_TEST(output_may_be_missing) {
    verdict.stdout = NULL;
    expect.out.equals = "";
    expect.out.lacks = (ExpectTexts){text_hello, 1};
    assert_same();
}
END_TEST

/* ---- produced files ---- */

static ExpectFile wanted_file = {.name = "out.csv"};
static ExpectFile *wanted_files[] = {&wanted_file};

START_TEST(produced_files_are_compared) {
    expect.produced = wanted_files;
    expect.n_produced = 1;
    expect.produced_exact = true;
    assert_same();
    teardown();
    wanted_file = (ExpectFile){.name = "out.csv", .has_size = true, .size_bytes = 13};
    assert_differs("produced: expected \"out.csv\" (13 bytes), got \"out.csv\" (12 bytes)\n");
    teardown();
    wanted_file = (ExpectFile){.name = "out"};
    assert_differs("produced: expected \"out\", got \"out.csv\" (12 bytes)\n");
}
END_TEST

START_TEST(exact_files_allow_no_other) {
    assert_same();
    teardown();
    expect.produced_exact = true;
    assert_differs("produced: expected 0 files, got \"out.csv\" (12 bytes)\n");
}
END_TEST

static TCase *cases(void) {
    TCase *tests = tcase_create("expect");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, nothing_but_the_kind_is_looked_at_unasked);
    tcase_add_test(tests, kinds_are_compared);
    tcase_add_loop_test(tests, failures_may_be_partly_named, 0, 5);
    tcase_add_loop_test(tests, missing_failures_differ, 0, 7);
    tcase_add_test(tests, a_missing_failure_is_told_exactly);
    tcase_add_test(tests, exact_failures_allow_no_other);
    tcase_add_test(tests, exact_failures_count_twins);
    tcase_add_test(tests, stages_are_compared_in_order);
    tcase_add_test(tests, exits_are_compared);
    tcase_add_test(tests, a_signal_is_no_exit);
    tcase_add_test(tests, signals_are_compared_by_name_or_number);
    tcase_add_test(tests, counts_are_compared);
    tcase_add_test(tests, head_and_tail_are_one_text);
    tcase_add_test(tests, other_outputs_differ_exactly);
    tcase_add_test(tests, parts_of_outputs_differ);
    tcase_add_test(tests, what_was_left_out_is_never_as_expected);
    tcase_add_test(tests, long_outputs_are_shown_around_the_difference);
    tcase_add_test(tests, output_may_be_missing);
    tcase_add_test(tests, produced_files_are_compared);
    tcase_add_test(tests, exact_files_allow_no_other);
    return tests;
}

int main(void) {
    Suite *suite = suite_create("expect");
    suite_add_tcase(suite, cases());
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
