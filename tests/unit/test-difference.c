#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "base/cleanup.h"
#include "verdict/verdict.h"

/* A run that passes, with stdout of `stdout_bytes` whose hash starts with `hash`. */
static Facts *passing_run(uint64_t stdout_bytes, uint8_t hash) {
    Facts *facts = calloc(1, sizeof *facts);
    ck_assert_ptr_nonnull(facts);
    for (Phase phase = 0; phase < PHASE_COUNT; phase++) facts->seen[phase] = true;
    facts->exited = true;
    facts->out.total_bytes = stdout_bytes;
    facts->out.sha256[0] = hash;
    return facts;
}

static void add_file(Facts *facts, const char *name, uint64_t size_bytes, uint8_t hash,
                     const char *note) {
    facts->produced = realloc(facts->produced, (facts->n_produced + 1) * sizeof *facts->produced);
    ck_assert_ptr_nonnull(facts->produced);
    ProducedFile *file = &facts->produced[facts->n_produced++];
    *file = (ProducedFile){
        .name = (uint8_t *)strdup(name),
        .name_bytes = strlen(name),
        .size_bytes = size_bytes,
        .sha256 = {hash},
        .has_sha256 = !note,
        .note = note ? strdup(note) : NULL,
    };
}

static Verdict *passed(void) {
    Facts *facts = passing_run(2, 0xab);
    NativeCrash *crashes = NULL;
    Verdict *verdict = NULL;
    ck_assert_int_eq(verdict_new(&facts, &crashes, 0, 1, &verdict), 0);
    ck_assert_int_eq(verdict->kind, VERDICT_PASSED);
    return verdict;
}

/* Compares two runs and expects one difference. */
static void assert_difference(const Facts *first, const Facts *other, const char *subject,
                              const char *message) {
    CLEANUP(verdict_freep) Verdict *verdict = passed();
    ck_assert_int_eq(verdict_compare_runs(verdict, first, other), 0);
    ck_assert_int_eq(verdict->kind, VERDICT_FAILED);
    ck_assert_uint_eq(verdict->failures.n_items, 1);
    ck_assert_int_eq(verdict->failures.items[0].code, CODE_NONDETERMINISTIC);
    ck_assert_str_eq(verdict->failures.items[0].subject, subject);
    ck_assert_str_eq(verdict->failures.items[0].message, message);
}

START_TEST(equal_runs_change_nothing) {
    CLEANUP(facts_freep) Facts *first = passing_run(2, 0xab);
    CLEANUP(facts_freep) Facts *other = passing_run(2, 0xab);
    /* Listed in another order; standard error, usage and environment are free to differ. */
    add_file(first, "a.csv", 3, 1, NULL);
    add_file(first, "b.csv", 4, 2, NULL);
    add_file(other, "b.csv", 4, 2, NULL);
    add_file(other, "a.csv", 3, 1, NULL);
    other->err.total_bytes = 99;
    other->wall_us = 1234;
    CLEANUP(verdict_freep) Verdict *verdict = passed();
    ck_assert_int_eq(verdict_compare_runs(verdict, first, other), 0);
    ck_assert_int_eq(verdict->kind, VERDICT_PASSED);
    ck_assert_uint_eq(verdict->failures.n_items, 0);
}
END_TEST

START_TEST(stdout_of_another_content) {
    CLEANUP(facts_freep) Facts *first = passing_run(2, 0xab);
    CLEANUP(facts_freep) Facts *other = passing_run(2, 0xcd);
    assert_difference(first, other, "stdout",
                      "stdout differs: first 2 bytes (SHA-256 ab00000000000000...), then 2 bytes "
                      "(SHA-256 cd00000000000000...)");
}
END_TEST

START_TEST(stdout_of_another_length) {
    CLEANUP(facts_freep) Facts *first = passing_run(2, 0);
    CLEANUP(facts_freep) Facts *other = passing_run(3, 0);
    assert_difference(first, other, "stdout",
                      "stdout differs: first 2 bytes (SHA-256 0000000000000000...), then 3 bytes "
                      "(SHA-256 0000000000000000...)");
}
END_TEST

START_TEST(another_end) {
    CLEANUP(facts_freep) Facts *first = passing_run(2, 0xab);
    CLEANUP(facts_freep) Facts *other = passing_run(2, 0xab);
    other->exit_code = 1;
    assert_difference(first, other, "exit",
                      "the code ended differently: first exited 0, then exited 1");
    other->exit_code = 0;
    other->signal = SIGSEGV;
    assert_difference(first, other, "exit",
                      "the code ended differently: first exited 0, then killed by SIGSEGV");
}
END_TEST

START_TEST(a_file_of_one_run_only) {
    CLEANUP(facts_freep) Facts *first = passing_run(2, 0xab);
    CLEANUP(facts_freep) Facts *other = passing_run(2, 0xab);
    add_file(first, "a.csv", 1, 1, NULL);
    add_file(other, "a.csv", 1, 1, NULL);
    add_file(other, "x.csv", 1, 1, NULL);
    assert_difference(first, other, "produced", "the file x.csv was made in a later run only");
    assert_difference(other, first, "produced", "the file x.csv was made in the first run only");
}
END_TEST

START_TEST(a_file_whose_name_starts_another) {
    CLEANUP(facts_freep) Facts *first = passing_run(2, 0xab);
    CLEANUP(facts_freep) Facts *other = passing_run(2, 0xab);
    add_file(first, "x", 1, 1, NULL);
    add_file(other, "x.csv", 1, 1, NULL);
    assert_difference(first, other, "produced", "the file x was made in the first run only");
}
END_TEST

START_TEST(a_file_that_differs) {
    static const struct {
        uint64_t size_bytes;
        uint8_t hash;
        const char *note;
    } variants[] = {{2, 1, NULL}, {1, 2, NULL}, {1, 1, "a FIFO"}};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        CLEANUP(facts_freep) Facts *first = passing_run(2, 0xab);
        CLEANUP(facts_freep) Facts *other = passing_run(2, 0xab);
        add_file(first, "x.csv", 1, 1, NULL);
        add_file(other, "x.csv", variants[i].size_bytes, variants[i].hash, variants[i].note);
        assert_difference(first, other, "produced", "the file x.csv differs");
    }
}
END_TEST

START_TEST(hostile_names_stay_one_short_line) {
    char name[250];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    memcpy(name, "a\nb\x1b[1m\xff", 8);
    CLEANUP(facts_freep) Facts *first = passing_run(2, 0xab);
    CLEANUP(facts_freep) Facts *other = passing_run(2, 0xab);
    add_file(other, name, 1, 1, NULL);
    CLEANUP(verdict_freep) Verdict *verdict = passed();
    ck_assert_int_eq(verdict_compare_runs(verdict, first, other), 0);
    const char *message = verdict->failures.items[0].message;
    ck_assert_ptr_null(strpbrk(message, "\n\x1b"));
    ck_assert_uint_lt(strlen(message), 160);
    ck_assert_ptr_nonnull(strstr(message, "a?b\\x1b[1m\xef\xbf\xbdnnn"));
    ck_assert_ptr_nonnull(strstr(message, "... was made in a later run only"));
}
END_TEST

START_TEST(each_subject_is_listed_once) {
    CLEANUP(facts_freep) Facts *first = passing_run(2, 0xab);
    CLEANUP(facts_freep) Facts *other = passing_run(3, 0xcd);
    other->exit_code = 1;
    add_file(other, "x.csv", 1, 1, NULL);
    CLEANUP(verdict_freep) Verdict *verdict = passed();
    ck_assert_int_eq(verdict_compare_runs(verdict, first, other), 0);
    ck_assert_int_eq(verdict_compare_runs(verdict, first, other), 0);
    ck_assert_uint_eq(verdict->failures.n_items, 3);
    ck_assert_str_eq(verdict->failures.items[0].subject, "exit");
    ck_assert_str_eq(verdict->failures.items[1].subject, "stdout");
    ck_assert_str_eq(verdict->failures.items[2].subject, "produced");
}
END_TEST

START_TEST(an_infrastructure_failure_stays_alone) {
    CLEANUP(facts_freep) Facts *first = passing_run(2, 0xab);
    CLEANUP(facts_freep) Facts *other = passing_run(3, 0xcd);
    CLEANUP(verdict_freep) Verdict *verdict = NULL;
    ck_assert_int_eq(verdict_new_infrastructure(CODE_WARDEN_LOST, "lost", 2, &verdict), 0);
    ck_assert_int_eq(verdict_compare_runs(verdict, first, other), 0);
    ck_assert_int_eq(verdict->kind, VERDICT_INFRASTRUCTURE_FAILURE);
    ck_assert_uint_eq(verdict->failures.n_items, 1);
}
END_TEST

static Suite *make_suite(void) {
    Suite *suite = suite_create("difference");
    TCase *tests = tcase_create("difference");
    tcase_add_test(tests, equal_runs_change_nothing);
    tcase_add_test(tests, stdout_of_another_content);
    tcase_add_test(tests, stdout_of_another_length);
    tcase_add_test(tests, another_end);
    tcase_add_test(tests, a_file_of_one_run_only);
    tcase_add_test(tests, a_file_whose_name_starts_another);
    tcase_add_test(tests, a_file_that_differs);
    tcase_add_test(tests, hostile_names_stay_one_short_line);
    tcase_add_test(tests, each_subject_is_listed_once);
    tcase_add_test(tests, an_infrastructure_failure_stays_alone);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    SRunner *runner = srunner_create(make_suite());
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
