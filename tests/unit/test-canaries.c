#include "warden/checks/canaries.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "canary_maker.h"
#include "suite.h"

static const char *const values[] = {"secret", "token", NULL};

static void expect(const Failure *finding, const char *id, const char *sink, uint64_t offset) {
    ck_assert_int_eq(finding->code, CODE_CANARY_LEAK);
    ck_assert_str_eq(finding->subject, id);
    ck_assert_str_eq(finding->sink, sink);
    ck_assert_str_eq(finding->transform, "literal");
    ck_assert_uint_eq(finding->offset, offset);
    ck_assert_ptr_null(strstr(finding->message, "secret"));
    ck_assert_ptr_null(strstr(finding->message, "token"));
}

START_TEST(the_source_and_its_name_are_searched) {
    CanaryMaker maker;
    CLEANUP(failure_list_deinit) FailureList findings = {0};
    Order order = {.code = {(uint8_t *)"a secret, a secret", 18}, .file_name = (char *)"token.py"};
    canary_maker_init(&maker, values);
    ck_assert_int_eq(canaries_check_source(maker.scanner, &order, &findings), 0);
    ck_assert_uint_eq(findings.n_items, 2);
    expect(&findings.items[0], "c-0", "source", 2);
    expect(&findings.items[1], "c-1", "file_name", 0);
    ck_assert_int_eq(canaries_check_source(NULL, &order, &findings), 0);
    ck_assert_uint_eq(findings.n_items, 2);
    canary_maker_deinit(&maker);
}
END_TEST

START_TEST(outputs_are_searched) {
    CanaryMaker maker;
    Output *output;
    OutputFacts facts;
    CLEANUP(failure_list_deinit) FailureList findings = {0};
    canary_maker_init(&maker, values);
    ck_assert_int_eq(output_new(maker.scanner, 10, &output), 0);
    output_add(output, (const uint8_t *)"...token", 8);
    output_finish(output, false, &facts);
    ck_assert_int_eq(canaries_check_output(maker.scanner, output, "stderr", &findings), 0);
    ck_assert_uint_eq(findings.n_items, 1);
    expect(&findings.items[0], "c-1", "stderr", 3);
    free(facts.head);
    free(facts.tail);
    output_free(output);
    canary_maker_deinit(&maker);
}
END_TEST

START_TEST(a_folder_s_name_is_told_once) {
    static const char *const with_slash[] = {"secret", "t/f", NULL};
    CanaryMaker maker;
    CLEANUP(failure_list_deinit) FailureList findings = {0};
    canary_maker_init(&maker, with_slash);
    ck_assert_int_eq(canaries_check_name(maker.scanner, "my-secret", "my-secret", "s", &findings),
                     0);
    ck_assert_int_eq(canaries_check_name(maker.scanner, "my-secret/a", "a", "s", &findings), 0);
    ck_assert_uint_eq(findings.n_items, 1);
    expect(&findings.items[0], "c-0", "file_name", 3);
    ck_assert_int_eq(canaries_check_name(maker.scanner, "my-secret/f", "f", "s", &findings), 0);
    ck_assert_uint_eq(findings.n_items, 2);
    expect(&findings.items[1], "c-1", "file_name", 8);
    ck_assert_int_eq(canaries_check_name(maker.scanner, "secret/secret", "secret", "s", &findings),
                     0);
    ck_assert_uint_eq(findings.n_items, 3);
    canary_maker_deinit(&maker);
}
END_TEST

START_TEST(findings_are_bounded) {
    CanaryMaker maker;
    CLEANUP(failure_list_deinit) FailureList findings = {0};
    canary_maker_init(&maker, values);
    for (int i = 0; i < CANARIES_MAX_FINDINGS + 10; i++)
        ck_assert_int_eq(canaries_append(&findings, &maker.items[0], "file", "f", 0), 0);
    ck_assert_uint_eq(findings.n_items, CANARIES_MAX_FINDINGS);
    canary_maker_deinit(&maker);
}
END_TEST

SUITE_MAIN("canaries", the_source_and_its_name_are_searched, outputs_are_searched,
           a_folder_s_name_is_told_once, findings_are_bounded)
