#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <check.h>

#include "base/cleanup.h"
#include "tbsandbox.pb-c.h"
#include "wire.h"

static void envelope_freep(Tb__Envelope **envelope) {
    if (*envelope) wire_message_free(&(*envelope)->base);
}

static int unpack(const uint8_t *payload, size_t payload_bytes, Tb__Envelope **ret_envelope) {
    ProtobufCMessage *message = NULL;
    const int r = wire_unpack(&tb__envelope__descriptor, payload, payload_bytes, &message);
    if (r == 0) *ret_envelope = (Tb__Envelope *)message;
    return r;
}

/* --- Header --------------------------------------------------------------------------------- */

START_TEST(the_length_is_big_endian) {
    const uint8_t header[WIRE_HEADER_BYTES] = {0x01, 0x02, 0x03, 0x04};
    size_t payload_bytes = 0;
    ck_assert_int_eq(wire_payload_length(header, SIZE_MAX, &payload_bytes), 0);
    ck_assert_uint_eq(payload_bytes, 0x01020304);
}
END_TEST

START_TEST(the_length_is_bounded) {
    static const struct {
        uint8_t header[WIRE_HEADER_BYTES];
        size_t max_payload_bytes;
        int result;
        size_t payload_bytes;
    } cases[] = {
        {{0, 0, 0, 0}, 0, 0, 0},
        {{0, 0, 0, 0}, 1024, 0, 0},
        {{0, 0, 0, 1}, 0, WIRE_E_TOO_LARGE, 77},
        {{0, 0, 4, 0}, 1024, 0, 1024},
        {{0, 0, 4, 1}, 1024, WIRE_E_TOO_LARGE, 77},
        {{0x80, 0, 0, 0}, 1024, WIRE_E_TOO_LARGE, 77},
        {{0xff, 0xff, 0xff, 0xff}, UINT32_MAX, 0, UINT32_MAX},
        {{0xff, 0xff, 0xff, 0xff}, UINT32_MAX - 1, WIRE_E_TOO_LARGE, 77},
        {{'G', 'E', 'T', ' '}, 64 << 20, WIRE_E_TOO_LARGE, 77},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t payload_bytes = 77;
        ck_assert_int_eq(
            wire_payload_length(cases[i].header, cases[i].max_payload_bytes, &payload_bytes),
            cases[i].result);
        ck_assert_uint_eq(payload_bytes, cases[i].payload_bytes);
    }
}
END_TEST

/* --- Pack and unpack ------------------------------------------------------------------------ */

START_TEST(a_submission_comes_back_as_it_was) {
    Tb__InputFile input = TB__INPUT_FILE__INIT;
    input.name = (char *)"your_data.csv";
    input.content = (ProtobufCBinaryData){4, (uint8_t *)"a\0b\n"};
    Tb__InputFile *inputs[] = {&input};
    char *columns[] = {(char *)"a", (char *)""};
    Tb__Submit submit = TB__SUBMIT__INIT;
    submit.idempotency_key = (char *)"key-1";
    submit.code = (ProtobufCBinaryData){2, (uint8_t *)"1\n"};
    submit.n_inputs = 1;
    submit.inputs = inputs;
    submit.n_protected_columns = 2;
    submit.protected_columns = columns;
    submit.repeats = 3;
    submit.follow = true;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.request_id = UINT64_MAX;
    envelope.body_case = TB__ENVELOPE__BODY_SUBMIT;
    envelope.submit = &submit;

    CLEANUP(freep) uint8_t *frame = NULL;
    size_t frame_bytes = 0, payload_bytes = 0;
    ck_assert_int_eq(wire_pack(&envelope.base, &frame, &frame_bytes), 0);
    ck_assert_int_eq(wire_payload_length(frame, 4096, &payload_bytes), 0);
    ck_assert_uint_eq(payload_bytes + WIRE_HEADER_BYTES, frame_bytes);

    CLEANUP(envelope_freep) Tb__Envelope *seen = NULL;
    ck_assert_int_eq(unpack(frame + WIRE_HEADER_BYTES, payload_bytes, &seen), 0);
    ck_assert_uint_eq(seen->request_id, UINT64_MAX);
    ck_assert_int_eq(seen->body_case, TB__ENVELOPE__BODY_SUBMIT);
    ck_assert_str_eq(seen->submit->idempotency_key, "key-1");
    ck_assert_uint_eq(seen->submit->n_inputs, 1);
    ck_assert_str_eq(seen->submit->inputs[0]->name, "your_data.csv");
    ck_assert_uint_eq(seen->submit->inputs[0]->content.len, 4);
    ck_assert_mem_eq(seen->submit->inputs[0]->content.data, "a\0b\n", 4);
    ck_assert_uint_eq(seen->submit->n_protected_columns, 2);
    ck_assert_str_eq(seen->submit->protected_columns[1], "");
    ck_assert_uint_eq(seen->submit->repeats, 3);
    ck_assert(seen->submit->follow);
    ck_assert_ptr_null(seen->submit->limits);
    ck_assert_str_eq(seen->submit->profile, "");
}
END_TEST

/* The examples of PROTOCOL.md. */
static const uint8_t hello_frame[] = {0, 0, 0, 9, 0x08, 1, 0x12, 5, 0x08, 1, 0x12, 1, 'x'};
static const char submit_frame[] = "\0\0\0\x23\x08\2\x52\x1f\x0a\2k1\x12\x09print(1)\n"
                                   "\x1a\4a.py\x22\6stdlib\x58\1";

static void assert_packs_to(const Tb__Envelope *envelope, const void *expected,
                            size_t expected_bytes) {
    CLEANUP(freep) uint8_t *frame = NULL;
    size_t frame_bytes = 0;
    ck_assert_int_eq(wire_pack(&envelope->base, &frame, &frame_bytes), 0);
    ck_assert_uint_eq(frame_bytes, expected_bytes);
    ck_assert_mem_eq(frame, expected, expected_bytes);
}

START_TEST(the_bytes_are_those_of_the_protocol) {
    Tb__Hello hello = TB__HELLO__INIT;
    hello.protocol = 1;
    hello.software = (char *)"x";
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.request_id = 1;
    envelope.body_case = TB__ENVELOPE__BODY_HELLO;
    envelope.hello = &hello;
    assert_packs_to(&envelope, hello_frame, sizeof hello_frame);

    Tb__Submit submit = TB__SUBMIT__INIT;
    submit.idempotency_key = (char *)"k1";
    submit.code = (ProtobufCBinaryData){9, (uint8_t *)"print(1)\n"};
    submit.file_name = (char *)"a.py";
    submit.profile = (char *)"stdlib";
    submit.follow = true;
    envelope.request_id = 2;
    envelope.body_case = TB__ENVELOPE__BODY_SUBMIT;
    envelope.submit = &submit;
    assert_packs_to(&envelope, submit_frame, sizeof submit_frame - 1);
}
END_TEST

START_TEST(an_empty_payload_is_an_envelope_without_a_body) {
    CLEANUP(envelope_freep) Tb__Envelope *envelope = NULL;
    ck_assert_int_eq(unpack((const uint8_t *)"", 0, &envelope), 0);
    ck_assert_int_eq(envelope->body_case, TB__ENVELOPE__BODY__NOT_SET);
    ck_assert_ptr_null(wire_message_free(NULL));
}
END_TEST

START_TEST(a_truncated_payload_is_malformed) {
    const uint8_t *payload = hello_frame + WIRE_HEADER_BYTES;
    const size_t payload_bytes = sizeof hello_frame - WIRE_HEADER_BYTES;
    /* Cut at a boundary between fields, it is a shorter but whole message. */
    for (size_t n = 1; n < payload_bytes; n++) {
        CLEANUP(envelope_freep) Tb__Envelope *envelope = NULL;
        /* A copy of that very size, so that reading over its end is seen. */
        CLEANUP(freep) uint8_t *cut = malloc(n);
        ck_assert_ptr_nonnull(cut);
        memcpy(cut, payload, n);
        ck_assert_int_eq(unpack(cut, n, &envelope), n == 2 ? 0 : WIRE_E_MALFORMED);
    }
}
END_TEST

START_TEST(garbage_is_malformed) {
    static const struct {
        const char *payload;
        size_t payload_bytes;
    } cases[] = {
        {"GET / HTTP/1.1\r\n\r\n", 18},
        {"\x00", 1},                                              /* field number 0 */
        {"\x0f", 1},                                              /* wire type 7 */
        {"\x0b", 1},                                              /* a group */
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12}, /* varint of 11 bytes */
        {"\x52\xff\xff\xff\xff\x0f", 6},                          /* Submit of 4 GiB */
        {"\x52\x02\x12\x7f", 4},                                  /* code over its message's end */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEANUP(envelope_freep) Tb__Envelope *envelope = NULL;
        ck_assert_msg(unpack((const uint8_t *)cases[i].payload, cases[i].payload_bytes,
                             &envelope) == WIRE_E_MALFORMED,
                      "case %zu", i);
        ck_assert_ptr_null(envelope);
    }
}
END_TEST

START_TEST(unknown_fields_are_ignored) {
    /* Field 1000 as a varint, field 1001 as bytes, field 1002 fixed; then the known ones. */
    static const uint8_t payload[] = {0xc0, 0x3e, 0x2a, 0xca, 0x3e, 3,    'n',
                                      'e',  'w',  0xd5, 0x3e, 1,    2,    3,
                                      4,    0x08, 0x05, 0x12, 2,    0x08, 1};
    CLEANUP(envelope_freep) Tb__Envelope *envelope = NULL;
    ck_assert_int_eq(unpack(payload, sizeof payload, &envelope), 0);
    ck_assert_uint_eq(envelope->request_id, 5);
    ck_assert_int_eq(envelope->body_case, TB__ENVELOPE__BODY_HELLO);
    ck_assert_uint_eq(envelope->hello->protocol, 1);
}
END_TEST

START_TEST(an_unknown_request_is_an_envelope_without_a_body) {
    static const uint8_t payload[] = {0x08, 0x07, 0xa2, 0x06, 0};
    CLEANUP(envelope_freep) Tb__Envelope *envelope = NULL;
    ck_assert_int_eq(unpack(payload, sizeof payload, &envelope), 0);
    ck_assert_uint_eq(envelope->request_id, 7);
    ck_assert_int_eq(envelope->body_case, TB__ENVELOPE__BODY__NOT_SET);
}
END_TEST

/* --- Amplification -------------------------------------------------------------------------- */

enum { MIB = 1 << 20 };

/* A frame of 2^20 bytes: a Submit of nothing but empty labels, two bytes each, which unpack to more
 * than twenty times as much. */
static uint8_t *make_many_labels(void) {
    static const uint8_t head[] = {0x52, 0xfc, 0xff, 0x3f};
    uint8_t *payload = malloc(MIB);
    ck_assert_ptr_nonnull(payload);
    memcpy(payload, head, sizeof head);
    for (size_t i = sizeof head; i < MIB; i += 2) memcpy(payload + i, "\x4a\0", 2);
    return payload;
}

static size_t peak_resident_bytes(void) {
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return (size_t)usage.ru_maxrss * 1024;
}

START_TEST(a_small_frame_does_not_grow_without_bound) {
    CLEANUP(freep) uint8_t *payload = make_many_labels();
    const size_t before_bytes = peak_resident_bytes();
    CLEANUP(envelope_freep) Tb__Envelope *envelope = NULL;
    ck_assert_int_eq(unpack(payload, MIB, &envelope), WIRE_E_MALFORMED);
    ck_assert_ptr_null(envelope);
    const size_t bounded_bytes = peak_resident_bytes();
    ck_assert_uint_lt(bounded_bytes - before_bytes, 8 * MIB);

    /* It is a message all the same: without the bound it grows, and that is seen. */
    Tb__Envelope *unbounded = tb__envelope__unpack(NULL, MIB, payload);
    ck_assert_ptr_nonnull(unbounded);
    ck_assert_uint_eq(unbounded->submit->n_labels, (MIB - 4) / 2);
    tb__envelope__free_unpacked(unbounded, NULL);
    ck_assert_uint_gt(peak_resident_bytes() - bounded_bytes, 16 * MIB);
}
END_TEST

START_TEST(a_large_payload_in_one_field_is_welcome) {
    const size_t code_bytes = 4 * MIB;
    CLEANUP(freep) uint8_t *code = calloc(code_bytes, 1);
    ck_assert_ptr_nonnull(code);
    Tb__Submit submit = TB__SUBMIT__INIT;
    submit.code = (ProtobufCBinaryData){code_bytes, code};
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_SUBMIT;
    envelope.submit = &submit;
    CLEANUP(freep) uint8_t *frame = NULL;
    size_t frame_bytes = 0;
    ck_assert_int_eq(wire_pack(&envelope.base, &frame, &frame_bytes), 0);
    CLEANUP(envelope_freep) Tb__Envelope *seen = NULL;
    ck_assert_int_eq(unpack(frame + WIRE_HEADER_BYTES, frame_bytes - WIRE_HEADER_BYTES, &seen), 0);
    ck_assert_uint_eq(seen->submit->code.len, code_bytes);
}
END_TEST

enum { N_JOBS = 1000, N_LABELS = 32 };

/* What a daemon may well answer to List must not be taken for an attack. */
START_TEST(a_long_list_of_labelled_jobs_is_welcome) {
    Tb__Label label = TB__LABEL__INIT;
    label.key = (char *)"k";
    label.value = (char *)"v";
    Tb__Label *labels[N_LABELS];
    for (size_t i = 0; i < N_LABELS; i++) labels[i] = &label;
    Tb__Verdict verdict = TB__VERDICT__INIT;
    Tb__Job job = TB__JOB__INIT;
    job.job_id = (char *)"j-0123456789abcdef";
    job.n_labels = N_LABELS;
    job.labels = labels;
    job.verdict = &verdict;
    Tb__Job *jobs[N_JOBS];
    for (size_t i = 0; i < N_JOBS; i++) jobs[i] = &job;
    Tb__JobList list = TB__JOB_LIST__INIT;
    list.n_jobs = N_JOBS;
    list.jobs = jobs;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_JOBS;
    envelope.jobs = &list;
    CLEANUP(freep) uint8_t *frame = NULL;
    size_t frame_bytes = 0;
    ck_assert_int_eq(wire_pack(&envelope.base, &frame, &frame_bytes), 0);
    CLEANUP(envelope_freep) Tb__Envelope *seen = NULL;
    ck_assert_int_eq(unpack(frame + WIRE_HEADER_BYTES, frame_bytes - WIRE_HEADER_BYTES, &seen), 0);
    ck_assert_uint_eq(seen->jobs->n_jobs, N_JOBS);
}
END_TEST

static Suite *make_suite(void) {
    Suite *suite = suite_create("wire");
    TCase *header = tcase_create("header");
    tcase_add_test(header, the_length_is_big_endian);
    tcase_add_test(header, the_length_is_bounded);
    suite_add_tcase(suite, header);
    TCase *messages = tcase_create("messages");
    tcase_add_test(messages, a_submission_comes_back_as_it_was);
    tcase_add_test(messages, the_bytes_are_those_of_the_protocol);
    tcase_add_test(messages, an_empty_payload_is_an_envelope_without_a_body);
    tcase_add_test(messages, a_truncated_payload_is_malformed);
    tcase_add_test(messages, garbage_is_malformed);
    tcase_add_test(messages, unknown_fields_are_ignored);
    tcase_add_test(messages, an_unknown_request_is_an_envelope_without_a_body);
    suite_add_tcase(suite, messages);
    TCase *amplification = tcase_create("amplification");
    tcase_set_timeout(amplification, 60);
    tcase_add_test(amplification, a_small_frame_does_not_grow_without_bound);
    tcase_add_test(amplification, a_large_payload_in_one_field_is_welcome);
    tcase_add_test(amplification, a_long_list_of_labelled_jobs_is_welcome);
    suite_add_tcase(suite, amplification);
    return suite;
}

int main(void) {
    SRunner *runner = srunner_create(make_suite());
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
