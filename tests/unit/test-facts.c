#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "verdict/facts.h"

static Failure example(void) {
    return (Failure){
        .code = CODE_CANARY_LEAK,
        .subject = (char *)"mail-1",
        .message = (char *)"found in stdout",
        .line = 7,
        .sink = (char *)"stdout",
        .transform = (char *)"literal",
        .offset = 4096,
    };
}

START_TEST(a_copy_holds_the_same_values_in_memory_of_its_own) {
    const Failure failure = example();
    Failure copy;
    ck_assert_int_eq(failure_copy(&failure, &copy), 0);
    ck_assert_int_eq(copy.code, CODE_CANARY_LEAK);
    ck_assert_str_eq(copy.subject, "mail-1");
    ck_assert_str_eq(copy.message, "found in stdout");
    ck_assert_uint_eq(copy.line, 7);
    ck_assert_str_eq(copy.sink, "stdout");
    ck_assert_str_eq(copy.transform, "literal");
    ck_assert_uint_eq(copy.offset, 4096);
    ck_assert_ptr_ne(copy.subject, failure.subject);
    failure_deinit(&copy);
    ck_assert_ptr_null(copy.message);
    ck_assert_int_eq(copy.code, CODE_NONE);
}
END_TEST

START_TEST(absent_texts_stay_absent) {
    Failure copy;
    ck_assert_int_eq(failure_copy(&(Failure){.code = CODE_TIMEOUT}, &copy), 0);
    ck_assert_ptr_null(copy.subject);
    ck_assert_ptr_null(copy.message);
    ck_assert_ptr_null(copy.sink);
    ck_assert_ptr_null(copy.transform);
    failure_deinit(&copy);
}
END_TEST

START_TEST(a_list_keeps_order_and_empties) {
    FailureList list = {0};
    for (uint32_t i = 0; i < 100; i++) {
        Failure failure = example();
        failure.line = i;
        ck_assert_int_eq(failure_list_append(&list, &failure), 0);
    }
    ck_assert_uint_eq(list.n_items, 100);
    for (uint32_t i = 0; i < 100; i++) ck_assert_uint_eq(list.items[i].line, i);
    failure_list_deinit(&list);
    ck_assert_uint_eq(list.n_items, 0);
    ck_assert_ptr_null(list.items);
    failure_list_deinit(&list);
}
END_TEST

static Facts *full_facts(void) {
    Facts *facts = calloc(1, sizeof *facts);
    ck_assert_ptr_nonnull(facts);
    facts->seen[PHASE_RECEIVED] = true;
    facts->at_us[PHASE_RECEIVED] = 12;
    facts->wall_us = 34;
    facts->limit_detail = strdup("limit");
    facts->fault_detail = strdup("fault");
    facts->excerpt = strdup("excerpt");
    facts->environment_id = strdup("e-1");
    facts->out = (OutputFacts){
        (uint8_t *)strdup("head"), 4, (uint8_t *)strdup("tail"), 4, 8, 0, {1}};
    facts->err = (OutputFacts){(uint8_t *)strdup("head"), 4, NULL, 0, 4, 0, {2}};
    facts->produced = calloc(2, sizeof *facts->produced);
    ck_assert_ptr_nonnull(facts->produced);
    facts->n_produced = 2;
    facts->produced[0].name = (uint8_t *)strdup("out.csv");
    facts->produced[1].name = (uint8_t *)strdup("pipe");
    facts->produced[1].note = strdup("a FIFO");
    const Failure failure = example();
    ck_assert_int_eq(failure_list_append(&facts->findings, &failure), 0);
    ck_assert_int_eq(failure_list_append(&facts->rejects, &failure), 0);
    return facts;
}

START_TEST(dropping_artifacts_leaves_ledger_usage_and_environment) {
    Facts *facts = full_facts();
    facts_drop_artifacts(facts);
    ck_assert_uint_eq(facts->findings.n_items, 0);
    ck_assert_uint_eq(facts->rejects.n_items, 0);
    ck_assert_uint_eq(facts->n_produced, 0);
    ck_assert_ptr_null(facts->produced);
    ck_assert_ptr_null(facts->out.head);
    ck_assert_uint_eq(facts->out.total_bytes, 0);
    ck_assert_ptr_null(facts->err.head);
    ck_assert_ptr_null(facts->excerpt);
    ck_assert(facts->seen[PHASE_RECEIVED]);
    ck_assert_uint_eq(facts->at_us[PHASE_RECEIVED], 12);
    ck_assert_uint_eq(facts->wall_us, 34);
    ck_assert_str_eq(facts->environment_id, "e-1");
    facts_free(facts);
}
END_TEST

START_TEST(deinit_leaves_zeroed_facts) {
    Facts *facts = full_facts();
    facts_deinit(facts);
    ck_assert_ptr_null(facts->limit_detail);
    ck_assert_ptr_null(facts->fault_detail);
    ck_assert_ptr_null(facts->environment_id);
    ck_assert(!facts->seen[PHASE_RECEIVED]);
    ck_assert_uint_eq(facts->wall_us, 0);
    ck_assert_ptr_null(facts_free(facts));
    ck_assert_ptr_null(facts_free(NULL));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("facts");
    TCase *tests = tcase_create("facts");
    tcase_add_test(tests, a_copy_holds_the_same_values_in_memory_of_its_own);
    tcase_add_test(tests, absent_texts_stay_absent);
    tcase_add_test(tests, a_list_keeps_order_and_empties);
    tcase_add_test(tests, dropping_artifacts_leaves_ledger_usage_and_environment);
    tcase_add_test(tests, deinit_leaves_zeroed_facts);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
