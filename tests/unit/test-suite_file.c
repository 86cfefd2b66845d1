#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "client/suite_file.h"

static SuiteFile *suite;
static ProblemList problems;

static void setup(void) {
    suite = NULL;
    ck_assert_int_eq(problem_list_init(&problems, "s.yaml"), 0);
}

static void teardown(void) {
    suite = suite_file_free(suite);
    problem_list_deinit(&problems);
}

static int parse(const char *text) {
    return suite_file_parse(text, strlen(text), "/no-such-dir", &problems, &suite);
}

static void assert_parsed(const char *text) {
    const int r = parse(text);
    if (r == 1) problem_list_print(&problems, stderr);
    ck_assert_int_eq(r, 0);
}

static void assert_bytes(ProtobufCBinaryData bytes, const char *expected) {
    ck_assert_uint_eq(bytes.len, strlen(expected));
    ck_assert_mem_eq(bytes.data, expected, bytes.len);
}

START_TEST(documented_suite_is_read) {
    assert_parsed(
        "suite: name\n"
        "defaults: {profile: stdlib, timeout_s: 10, inputs: [{name: your_data.csv, text: "
        "\"a,b\\n1,x\\n\"}], protected: [a], canaries: {mail-1: \"tb.gen+leak@example.invalid\"}}\n"
        "cases:\n"
        "  - name: reads-the-input\n"
        "    code: |\n"
        "      import pandas as pd\n"
        "      print(1)\n"
        "    expect: {verdict: passed, stages: [parse, allowlist, compile, execute], stdout: "
        "\"1\\n\"}\n"
        "  - name: no-sockets\n"
        "    code: import socket\n"
        "    expect: {verdict: failed, failures: [{code: forbidden_import, subject: socket}]}\n");
    ck_assert_str_eq(suite->name, "name");
    ck_assert_uint_eq(suite->n_cases, 2);
    const SuiteCase *first = &suite->cases[0], *second = &suite->cases[1];
    ck_assert_str_eq(first->name, "reads-the-input");
    ck_assert_str_eq(first->submit.file_name, "reads-the-input.py");
    assert_bytes(first->submit.code, "import pandas as pd\nprint(1)\n");
    ck_assert_str_eq(first->submit.profile, "stdlib");
    ck_assert_uint_eq(first->submit.limits->wall_ms, 10000);
    ck_assert_uint_eq(first->submit.n_inputs, 1);
    assert_bytes(first->submit.inputs[0]->content, "a,b\n1,x\n");
    ck_assert_str_eq(first->submit.protected_columns[0], "a");
    ck_assert_str_eq(first->submit.canaries[0]->id, "mail-1");
    ck_assert_int_eq(first->expect.kind, TB__VERDICT_KIND__PASSED);
    ck_assert_uint_eq(first->expect.stages.n_items, 4);
    ck_assert_str_eq(first->expect.out.equals, "1\n");
    ck_assert_int_eq(second->expect.kind, TB__VERDICT_KIND__FAILED);
    ck_assert_uint_eq(second->expect.n_failures, 1);
    ck_assert_str_eq(second->expect.failures[0]->subject, "socket");
    ck_assert_ptr_null(second->expect.failures[0]->sink);
}
END_TEST

START_TEST(a_case_overrides_the_defaults) {
    assert_parsed("suite: s\n"
                  "defaults: {inputs: [{text: x}, {name: b, text: y}], canaries: {a: b}, repeats: "
                  "2, labels: {k: v}, protected: [p, q]}\n"
                  "cases:\n"
                  "- {name: one, code: x}\n"
                  "- {name: two, code: x, inputs: [], canaries: {}, protected: z, repeats: 3, "
                  "timeout_s: 0.5, labels: {l: w}}\n");
    const Tb__Submit *one = &suite->cases[0].submit, *two = &suite->cases[1].submit;
    ck_assert_uint_eq(one->n_inputs, 2);
    ck_assert_str_eq(one->inputs[0]->name, "your_data.csv");
    ck_assert_ptr_null(one->limits);
    ck_assert_str_eq(one->profile, "pandas");
    ck_assert_uint_eq(two->n_inputs, 0);
    ck_assert_uint_eq(two->n_canaries, 0);
    ck_assert_uint_eq(two->n_protected_columns, 1);
    ck_assert_str_eq(two->protected_columns[0], "z");
    ck_assert_uint_eq(two->repeats, 3);
    ck_assert_uint_eq(two->limits->wall_ms, 500);
    ck_assert_str_eq(two->labels[0]->key, "l");
    ck_assert_uint_eq(one->repeats, 2);
    ck_assert_str_eq(one->labels[0]->key, "k");
}
END_TEST

START_TEST(every_expectation_is_read) {
    assert_parsed("suite: s\ncases:\n- name: one\n  code: ''\n  expect:\n"
                  "    verdict: failed\n    failures_exact: true\n"
                  "    failures: [{code: c, subject: s, sink: stdout, transform: literal, "
                  "message_contains: m, line: 7}]\n"
                  "    stages: []\n    exit: 3\n    stdout_contains: a\n    stdout_lacks: [b, c]\n"
                  "    stderr: ''\n    stderr_contains: [d]\n    stderr_lacks: e\n"
                  "    child_started: false\n    native_crashes: 1\n    attempts: 2\n"
                  "    produced: [{name: f, size: 2KiB}, {name: g}]\n    produced_exact: true\n");
    const Expect *expect = &suite->cases[0].expect;
    ck_assert(expect->failures_exact && expect->has_stages && expect->produced_exact);
    ck_assert_uint_eq(expect->stages.n_items, 0);
    ck_assert_uint_eq(expect->failures[0]->line, 7);
    ck_assert_str_eq(expect->failures[0]->message_contains, "m");
    ck_assert(expect->exit_code.is_set);
    ck_assert_uint_eq(expect->exit_code.value, 3);
    ck_assert_ptr_null(expect->out.equals);
    ck_assert_str_eq(expect->out.contains.items[0], "a");
    ck_assert_str_eq(expect->out.lacks.items[1], "c");
    ck_assert_str_eq(expect->err.equals, "");
    ck_assert_str_eq(expect->err.lacks.items[0], "e");
    ck_assert(expect->child_started.is_set);
    ck_assert_uint_eq(expect->child_started.value, 0);
    ck_assert_uint_eq(expect->native_crashes.value, 1);
    ck_assert_uint_eq(expect->attempts.value, 2);
    ck_assert_uint_eq(expect->produced[0]->size_bytes, 2048);
    ck_assert(!expect->produced[1]->has_size);
}
END_TEST

static const struct {
    const char *expect;
    Tb__VerdictKind kind;
} kinds[] = {
    {"{}", TB__VERDICT_KIND__PASSED},
    {"{stdout: x}", TB__VERDICT_KIND__PASSED},
    {"{failures: []}", TB__VERDICT_KIND__PASSED},
    {"{failures: [{code: x}]}", TB__VERDICT_KIND__FAILED},
    {"{verdict: infrastructure_failure}", TB__VERDICT_KIND__INFRASTRUCTURE_FAILURE},
};

START_TEST(a_verdict_is_always_expected) {
    char text[256];
    snprintf(text, sizeof text, "suite: s\ncases: [{name: a, code: x, expect: %s}]\n",
             kinds[_i].expect);
    assert_parsed(text);
    ck_assert_int_eq(suite->cases[0].expect.kind, kinds[_i].kind);
}
END_TEST

START_TEST(inputs_come_as_base64_too) {
    assert_parsed("suite: s\ncases: [{name: a, code: x, inputs: [{name: b, base64: 'AP8K'}]}]\n");
    const ProtobufCBinaryData content = suite->cases[0].submit.inputs[0]->content;
    ck_assert_uint_eq(content.len, 3);
    ck_assert_mem_eq(content.data, "\0\xff\n", 3);
}
END_TEST

/* In a suite of one case, or the whole text when it begins with "suite". */
static const struct {
    const char *part;
    const char *message;
} wrong[] = {
    {"suite: s\n", "the suite has no cases"},
    {"suite: s\ncases: []\n", "expected 1 to 10000 cases, found 0"},
    {"suite: s\ncases: {}\n", "expected a list of cases, found a mapping"},
    {"suite: s\ncases: [x]\n", "expected a mapping, found a single value"},
    {"suite: s\ndefaults: {code: x}\ncases: [{name: a, code: x}]\n", "unknown key"},
    {"suite: s\ncases: [{name: a, code: x}, {name: a, code: y}]\n",
     "a case named 'a' is on line 2 already"},
    {"suite: s\ncases: [{code: x}]\n", "the case has no name"},
    {"code: x, file: y", "the case needs either code or file"},
    {"timeout_s: 1", "the case needs either code or file"},
    {"file: nothing.py", "cannot read /no-such-dir/nothing.py: No such file or directory"},
    {"file: /dev/zero", "cannot read /dev/zero: it is not a regular file"},
    {"code: x, colour: red", "unknown key"},
    {"code: x, timeout_s: soon", "expected seconds such as 10 or 0.5, found 'soon'"},
    {"code: x, repeats: 0", "expected 1 to 16, found '0'"},
    {"code: x, inputs: a.csv", "expected a list of inputs, found a single value"},
    {"code: x, inputs: [{name: a}]", "needs exactly one of text, file, base64"},
    {"code: x, inputs: [{text: a, base64: ''}]", "needs exactly one of text, file, base64"},
    {"code: x, inputs: [{base64: '?'}]", "is not base64"},
    {"code: x, inputs: [{text: a}, {text: b}]", "there are two inputs named 'your_data.csv'"},
    {"code: x, inputs: [{name: a/b, text: a}]", "input 'a/b': its name must be a plain file name"},
    {"code: x, canaries: [a]", "expected a mapping of ids to values, found a list"},
    {"code: x, canaries: {a: ''}", "canary 'a' has no value"},
    {"code: x, expect: failed", "expected a mapping, found a single value"},
    {"code: x, expect: {verdict: maybe}",
     "expected passed, failed or infrastructure_failure, found 'maybe'"},
    {"code: x, expect: {stages: [parse, link]}",
     "there is no stage 'link'; there are parse, allowlist, compile, execute"},
    {"code: x, expect: {failures: [{}]}", "an empty mapping would match any failure"},
    {"code: x, expect: {failures: [{kode: x}]}", "unknown key"},
    {"code: x, expect: {verdict: passed, failures: [{code: x}]}", "what is passed has no failures"},
    {"code: x, expect: {exit: 3, signal: SIGSEGV}",
     "a process ends by exit or by signal, not by both"},
    {"code: x, expect: {exit: -1}", "expected a whole number such as 8, found '-1'"},
    {"code: x, expect: {child_started: yes}", "expected true or false, found 'yes'"},
    {"code: x, expect: {produced: [{size: 1}]}", "has no name"},
    {"code: x, expect: {stdout_contains: {}}",
     "expected a text or a list of texts, found a mapping"},
};

START_TEST(wrong_suites_are_told) {
    char text[512];
    const bool is_whole = strncmp(wrong[_i].part, "suite", 5) == 0;
    snprintf(text, sizeof text, is_whole ? "%s" : "suite: s\ncases: [{name: a, %s}]\n",
             wrong[_i].part);
    ck_assert_int_eq(parse(text), 1);
    ck_assert_ptr_null(suite);
    bool found = false;
    for (size_t i = 0; i < problems.n_items; i++)
        found = found || strcmp(problems.items[i].message, wrong[_i].message) == 0;
    if (!found) problem_list_print(&problems, stderr);
    ck_assert_msg(found, "not told: %s", wrong[_i].message);
}
END_TEST

START_TEST(all_problems_are_told_with_their_places) {
    ck_assert_int_eq(parse("defaults: {x: 1}\ncases:\n- code: a\n  expect: {exit: x}\n- 7\n"), 1);
    ck_assert_uint_eq(problems.n_items, 5);
    ck_assert_str_eq(problems.items[0].key, "suite");
    ck_assert_str_eq(problems.items[1].key, "defaults.x");
    ck_assert_uint_eq(problems.items[1].column, 12);
    ck_assert_uint_eq(problems.items[2].line, 3);
    ck_assert_str_eq(problems.items[3].key, "cases.expect.exit");
    ck_assert_uint_eq(problems.items[3].line, 4);
    ck_assert_uint_eq(problems.items[4].line, 5);
}
END_TEST

START_TEST(files_are_found_beside_the_suite) {
    char directory[] = "/tmp/tbclient-suite-XXXXXX", path[64], code[64];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/s.yaml", directory);
    snprintf(code, sizeof code, "%s/c.py", directory);
    FILE *file = fopen(path, "w");
    fputs("suite: s\ncases: [{name: a, file: c.py, inputs: [{name: d, file: c.py}]}]\n", file);
    fclose(file);
    file = fopen(code, "w");
    fputs("pass\n", file);
    fclose(file);
    ck_assert_int_eq(suite_file_load(path, &problems, &suite), 0);
    assert_bytes(suite->cases[0].submit.code, "pass\n");
    ck_assert_str_eq(suite->cases[0].submit.file_name, "c.py");
    assert_bytes(suite->cases[0].submit.inputs[0]->content, "pass\n");
    unlink(path);
    unlink(code);
    rmdir(directory);
}
END_TEST

int main(void) {
    Suite *checks = suite_create("suite_file");
    TCase *tests = tcase_create("suite_file");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, documented_suite_is_read);
    tcase_add_test(tests, a_case_overrides_the_defaults);
    tcase_add_test(tests, every_expectation_is_read);
    tcase_add_loop_test(tests, a_verdict_is_always_expected, 0, sizeof kinds / sizeof *kinds);
    tcase_add_test(tests, inputs_come_as_base64_too);
    tcase_add_loop_test(tests, wrong_suites_are_told, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(tests, all_problems_are_told_with_their_places);
    tcase_add_test(tests, files_are_found_beside_the_suite);
    suite_add_tcase(checks, tests);
    SRunner *runner = srunner_create(checks);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
