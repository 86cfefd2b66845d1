#include "warden/output.h"

#include <stdlib.h>

#include "canary_maker.h"
#include "suite.h"

static const char *const canaries[] = {"secret", NULL};

START_TEST(an_output_is_counted_before_and_kept_after_redaction) {
    CanaryMaker maker;
    Output *output;
    OutputFacts facts;
    uint64_t offset;
    canary_maker_init(&maker, canaries);
    ck_assert_int_eq(output_new(maker.scanner, 100, &output), 0);
    output_add(output, (const uint8_t *)"a sec", 5);
    output_add(output, (const uint8_t *)"ret b\n", 6);
    ck_assert_uint_eq(output_total_bytes(output), 11);
    output_finish(output, false, &facts);
    ck_assert_uint_eq(facts.total_bytes, 11);
    ck_assert_uint_eq(facts.omitted_bytes, 0);
    ck_assert_uint_eq(facts.head_bytes, 8);
    ck_assert(memcmp(facts.head, "a <0> b\n", 8) == 0);
    ck_assert_uint_eq(facts.tail_bytes, 0);
    /* printf 'a secret b\n' | sha256sum */
    static const uint8_t start[] = {0x77, 0x3e, 0x6d, 0xbd, 0xe8, 0x57, 0xa8, 0xce};
    ck_assert(memcmp(facts.sha256, start, sizeof start) == 0);
    ck_assert(output_saw(output, 0, &offset));
    ck_assert_uint_eq(offset, 2);
    free(facts.head);
    free(facts.tail);
    output_free(output);
    canary_maker_deinit(&maker);
}
END_TEST

START_TEST(an_empty_output_is_empty) {
    Output *output;
    OutputFacts facts;
    ck_assert_int_eq(output_new(NULL, 100, &output), 0);
    output_finish(output, false, &facts);
    ck_assert_uint_eq(facts.total_bytes + facts.head_bytes + facts.tail_bytes, 0);
    ck_assert_uint_eq(facts.sha256[0], 0xe3);
    ck_assert_uint_eq(facts.sha256[31], 0x55);
    free(facts.head);
    free(facts.tail);
    output_free(output);
}
END_TEST

static void expect_kept(const char *text, bool is_cut, const char *head, const char *tail) {
    CanaryMaker maker;
    Output *output;
    OutputFacts facts;
    char *joined, expected[64];
    size_t n_bytes;
    canary_maker_init(&maker, canaries);
    ck_assert_int_eq(output_new(maker.scanner, 8, &output), 0);
    output_add(output, (const uint8_t *)text, strlen(text));
    output_finish(output, is_cut, &facts);
    ck_assert_int_eq(output_join(&facts, &joined, &n_bytes), 0);
    snprintf(expected, sizeof expected, "%s%s%s", head, facts.omitted_bytes ? "\n" : "", tail);
    ck_assert_uint_eq(n_bytes, strlen(expected));
    ck_assert(memcmp(joined, expected, n_bytes) == 0);
    ck_assert_uint_eq(facts.head_bytes, strlen(head));
    free(joined);
    free(facts.head);
    free(facts.tail);
    output_free(output);
    canary_maker_deinit(&maker);
}

START_TEST(a_gap_leaves_no_half_of_a_marker) {
    expect_kept("1234567secret90abcdef", false, "1234567", "90abcdef");
    expect_kept("12345678 secret123456", false, "12345678", "123456");
    expect_kept("12345678  secret12345", false, "12345678", "<0>12345");
    expect_kept("1234567secret90abcd", false, "1234567<", "0>90abcd"); /* there is no gap */
}
END_TEST

START_TEST(a_killed_writer_shows_no_half_of_a_canary) {
    expect_kept("12 secre", true, "12 ", "");
    expect_kept("12 secre", false, "12 secre", "");
    expect_kept("1234567890 secre", true, "12345678", "90 ");
}
END_TEST

SUITE_MAIN("output", an_output_is_counted_before_and_kept_after_redaction, an_empty_output_is_empty,
           a_gap_leaves_no_half_of_a_marker, a_killed_writer_shows_no_half_of_a_canary)
