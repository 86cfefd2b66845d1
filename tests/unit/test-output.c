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
    output_finish(output, &facts);
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
    output_finish(output, &facts);
    ck_assert_uint_eq(facts.total_bytes + facts.head_bytes + facts.tail_bytes, 0);
    ck_assert_uint_eq(facts.sha256[0], 0xe3);
    ck_assert_uint_eq(facts.sha256[31], 0x55);
    free(facts.head);
    free(facts.tail);
    output_free(output);
}
END_TEST

SUITE_MAIN("output", an_output_is_counted_before_and_kept_after_redaction, an_empty_output_is_empty)
