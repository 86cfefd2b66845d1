#include "broker/request.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "suite.h"
#include "tbsandbox.pb-c.h"

static Request request;
static Refusal refusal;

/* Packs, decodes and says what came of it. */
static int decode(Tb__Envelope *envelope) {
    uint8_t *bytes = malloc(protobuf_c_message_get_packed_size(&envelope->base) + 1);
    const size_t n = protobuf_c_message_pack(&envelope->base, bytes);
    const int r = request_decode(bytes, n, &request, &refusal);
    free(bytes);
    return r;
}

static Tb__Submit plain_submit(void) {
    Tb__Submit submit = TB__SUBMIT__INIT;
    submit.idempotency_key = (char *)"key-1";
    submit.file_name = (char *)"generated.py";
    submit.profile = (char *)"pandas";
    submit.code = (ProtobufCBinaryData){8, (uint8_t *)"print(1)"};
    return submit;
}

static int decode_submit(Tb__Submit *submit) {
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.request_id = 7;
    envelope.body_case = TB__ENVELOPE__BODY_SUBMIT;
    envelope.submit = submit;
    return decode(&envelope);
}

static void expect_invalid(Tb__Submit *submit, const char *part) {
    ck_assert_int_eq(decode_submit(submit), REQUEST_E_REFUSED);
    ck_assert_int_eq(refusal.code, REFUSE_INVALID_ARGUMENT);
    ck_assert_msg(strstr(refusal.message, part), "'%s' lacks '%s'", refusal.message, part);
    ck_assert_uint_eq(request.id, 7);
    request_deinit(&request);
}

START_TEST(submit_arrives_whole) {
    Tb__Submit submit = plain_submit();
    Tb__InputFile input = TB__INPUT_FILE__INIT;
    input.name = (char *)"your_data.csv";
    input.content = (ProtobufCBinaryData){4, (uint8_t *)"a,b\n"};
    Tb__InputFile *inputs[] = {&input};
    submit.inputs = inputs;
    submit.n_inputs = 1;
    Tb__Limits limits = TB__LIMITS__INIT;
    limits.wall_ms = 1500;
    submit.limits = &limits;
    submit.follow = 1;
    ck_assert_int_eq(decode_submit(&submit), 0);
    ck_assert_int_eq(request.kind, REQUEST_SUBMIT);
    ck_assert_uint_eq(request.id, 7);
    ck_assert(request.follow);
    ck_assert_str_eq(request.spec.file_name, "generated.py");
    ck_assert_uint_eq(request.spec.code.n_bytes, 8);
    ck_assert_mem_eq(request.spec.code.bytes, "print(1)", 8);
    ck_assert_str_eq(request.spec.inputs[0].name, "your_data.csv");
    ck_assert_mem_eq(request.spec.inputs[0].content.bytes, "a,b\n", 4);
    ck_assert_uint_eq(request.spec.limits.wall_ms, 1500);
    ck_assert_uint_eq(request.spec.repeats, 1);
    request_deinit(&request);
}
END_TEST

START_TEST(names_are_checked) {
    static const char *const bad_files[] = {"", ".", "..", "a/b", "/etc/passwd", "a\nb", "\xff"};
    static const char *const bad_tokens[] = {"", "-x", ".x", "a b", "a/b", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        Tb__Submit submit = plain_submit();
        submit.file_name = (char *)bad_files[i];
        expect_invalid(&submit, "file_name");
    }
    for (size_t i = 0; i < sizeof bad_tokens / sizeof *bad_tokens; i++) {
        Tb__Submit submit = plain_submit();
        submit.profile = (char *)bad_tokens[i];
        expect_invalid(&submit, "profile");
        submit = plain_submit();
        submit.idempotency_key = (char *)bad_tokens[i];
        expect_invalid(&submit, "idempotency key");
    }
}
END_TEST

START_TEST(inputs_are_checked) {
    Tb__Submit submit = plain_submit();
    Tb__InputFile a = TB__INPUT_FILE__INIT, b = TB__INPUT_FILE__INIT;
    a.name = b.name = (char *)"same.csv";
    Tb__InputFile *inputs[] = {&a, &b};
    submit.inputs = inputs;
    submit.n_inputs = 2;
    expect_invalid(&submit, "same.csv");
    b.name = (char *)"../up.csv";
    expect_invalid(&submit, "input 2");
}
END_TEST

START_TEST(canaries_are_checked) {
    Tb__Submit submit = plain_submit();
    Tb__Canary a = TB__CANARY__INIT, b = TB__CANARY__INIT;
    a.id = b.id = (char *)"mail";
    a.value = b.value = (ProtobufCBinaryData){3, (uint8_t *)"abc"};
    Tb__Canary *canaries[] = {&a, &b};
    submit.canaries = canaries;
    submit.n_canaries = 2;
    expect_invalid(&submit, "two canaries");
    b.id = (char *)"other";
    b.value.len = 0;
    expect_invalid(&submit, "1 to 4096 bytes");
}
END_TEST

/* A value in what is shown: the refusal says where, by the canary's id, and not what. */
static void expect_value_refused(Tb__Submit *submit, const char *part) {
    expect_invalid(submit, part);
    ck_assert_ptr_null(strstr(refusal.message, "s3cr"));
    ck_assert_ptr_null(strstr(refusal.message, "3t"));
}

START_TEST(what_is_shown_holds_no_canary) {
    Tb__Canary a = TB__CANARY__INIT, b = TB__CANARY__INIT, c = TB__CANARY__INIT;
    a.id = (char *)"zero", b.id = (char *)"mail", c.id = (char *)"one";
    a.value = (ProtobufCBinaryData){4, (uint8_t *)"\0\xff\xfe."};
    b.value = (ProtobufCBinaryData){6, (uint8_t *)"s3cr3t"};
    c.value = (ProtobufCBinaryData){7, (uint8_t *)"s3cr3t2"};
    Tb__Canary *canaries[] = {&a, &b, &c};
    Tb__InputFile first = TB__INPUT_FILE__INIT, second = TB__INPUT_FILE__INIT;
    first.name = (char *)"first.csv", second.name = (char *)"s3cr3.csv";
    Tb__InputFile *inputs[] = {&first, &second};
    Tb__Label label = TB__LABEL__INIT;
    label.key = (char *)"key", label.value = (char *)"s3cr";
    Tb__Label *labels[] = {&label};
    char *columns[] = {(char *)"", (char *)"3cr3t"};
    Tb__Submit submit = plain_submit();
    submit.canaries = canaries, submit.n_canaries = 3;
    submit.inputs = inputs, submit.n_inputs = 2;
    submit.labels = labels, submit.n_labels = 1;
    submit.protected_columns = columns, submit.n_protected_columns = 2;
    ck_assert_int_eq(decode_submit(&submit), 0);
    request_deinit(&request);

    submit.file_name = (char *)"for-s3cr3t.py";
    expect_value_refused(&submit, "file_name holds the value of canary mail");
    submit.file_name = (char *)"s3cr3t2.py";
    expect_value_refused(&submit, "file_name holds the value of canary mail");
    submit.file_name = (char *)"generated.py";
    second.name = (char *)"s3cr3s3cr3t";
    expect_value_refused(&submit, "input 2: its name holds the value of canary mail");
    first.name = second.name; /* nor is a name shown because it stands twice */
    expect_value_refused(&submit, "input 1: its name holds the value of canary mail");
    first.name = (char *)"first.csv", second.name = (char *)"second.csv";
    columns[1] = (char *)"\ts3cr3t\n";
    expect_value_refused(&submit, "protected column 2: its name holds the value of canary mail");
    columns[1] = (char *)"b";
    label.key = (char *)"s3cr3t";
    expect_value_refused(&submit, "label 1: its key holds the value of canary mail");
    label.value = (char *)"\n"; /* nor when its value is bad as well */
    expect_value_refused(&submit, "label 1");
    label.key = (char *)"key", label.value = (char *)"is s3cr3t";
    expect_value_refused(&submit, "label 1: its value holds the value of canary mail");
    label.value = (char *)"value";
    ck_assert_int_eq(decode_submit(&submit), 0);
    request_deinit(&request);
}
END_TEST

START_TEST(ids_hold_no_canary) {
    Tb__Submit submit = plain_submit();
    Tb__Canary a = TB__CANARY__INIT, b = TB__CANARY__INIT;
    Tb__Canary *canaries[] = {&a, &b};
    submit.canaries = canaries, submit.n_canaries = 2;
    a.id = (char *)"x-s3cr3t", b.id = (char *)"mail";
    a.value = (ProtobufCBinaryData){5, (uint8_t *)"other"};
    b.value = (ProtobufCBinaryData){6, (uint8_t *)"s3cr3t"};
    expect_value_refused(&submit, "canary 1: its id holds the value of canary mail");
    canaries[0] = &b, canaries[1] = &a;
    b.id = a.id; /* twice, and its own */
    expect_value_refused(&submit, "canary 1: its id holds the value of a canary");
    b.value.len = 0;
    expect_value_refused(&submit, "1 to 4096 bytes");
}
END_TEST

/* As many as there may be, all alike, in names that are alike: still a matter of milliseconds. */
START_TEST(canaries_are_looked_for_quickly) {
    enum { N = REQUEST_MAX_CANARIES };
    static Tb__Canary canaries[N];
    static Tb__Canary *pointers[N];
    static char ids[N][8], column[REQUEST_MAX_COLUMN_BYTES + 1];
    static uint8_t values[N][1000];
    static char *columns[REQUEST_MAX_COLUMNS];
    memset(values, 'a', sizeof values);
    memset(column, 'a', sizeof column - 1);
    for (size_t i = 0; i < N; i++) {
        snprintf(ids[i], sizeof ids[i], "c-%zu", i);
        values[i][sizeof values[i] - 2] = (uint8_t)(1 + i / 250);
        values[i][sizeof values[i] - 1] = (uint8_t)(1 + i % 250);
        canaries[i] = (Tb__Canary)TB__CANARY__INIT;
        canaries[i].id = ids[i];
        canaries[i].value = (ProtobufCBinaryData){sizeof values[i], values[i]};
        pointers[i] = &canaries[i];
    }
    for (size_t i = 0; i < REQUEST_MAX_COLUMNS; i++) columns[i] = column;
    Tb__Submit submit = plain_submit();
    submit.canaries = pointers, submit.n_canaries = N;
    submit.protected_columns = columns, submit.n_protected_columns = REQUEST_MAX_COLUMNS;
    const uint64_t start_ms = clock_mono_ms();
    ck_assert_int_eq(decode_submit(&submit), 0);
    ck_assert_uint_lt(clock_mono_ms() - start_ms, 3000);
    request_deinit(&request);
}
END_TEST

START_TEST(bounds_are_kept) {
    Tb__Submit submit = plain_submit();
    submit.repeats = REQUEST_MAX_REPEATS + 1;
    expect_invalid(&submit, "repeats");
    submit = plain_submit();
    uint8_t *code = calloc(1, REQUEST_MAX_CODE_BYTES + 1);
    submit.code = (ProtobufCBinaryData){REQUEST_MAX_CODE_BYTES + 1, code};
    expect_invalid(&submit, "4 MiB");
    free(code);
}
END_TEST

START_TEST(a_refused_frame_says_how_it_was_refused) {
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    ck_assert_int_eq(decode(&envelope), REQUEST_E_REFUSED);
    ck_assert_int_eq(refusal.code, REFUSE_MALFORMED);
    Tb__Done done = TB__DONE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_DONE;
    envelope.done = &done;
    ck_assert_int_eq(decode(&envelope), REQUEST_E_REFUSED);
    ck_assert_int_eq(refusal.code, REFUSE_UNIMPLEMENTED);
    /* Field 1900 of a later version: 0xe2 0x76 is its tag, length-delimited. */
    static const uint8_t future[] = {0x08, 0x05, 0xe2, 0x76, 0x00};
    ck_assert_int_eq(request_decode(future, sizeof future, &request, &refusal), REQUEST_E_REFUSED);
    ck_assert_int_eq(refusal.code, REFUSE_UNIMPLEMENTED);
    ck_assert_uint_eq(request.id, 5);
    static const uint8_t garbage[] = {0xff, 0xff, 0xff};
    ck_assert_int_eq(request_decode(garbage, sizeof garbage, &request, &refusal),
                     REQUEST_E_REFUSED);
    ck_assert_int_eq(refusal.code, REFUSE_MALFORMED);
}
END_TEST

START_TEST(a_filter_selects) {
    JobLabel job_labels[] = {{(char *)"ci", (char *)"42"}};
    Verdict verdict = {.kind = VERDICT_FAILED};
    Job job = {.state = JOB_FINISHED, .submitted_ms = 100, .verdict = &verdict};
    job.spec.labels = job_labels;
    job.spec.n_labels = 1;
    JobLabel wanted[] = {{(char *)"ci", (char *)"42"}};
    JobFilter filter = {.state = -1};
    ck_assert(job_filter_matches(&filter, &job));
    filter = (JobFilter){JOB_FINISHED, VERDICT_FAILED, wanted, 1, 100, 1};
    ck_assert(job_filter_matches(&filter, &job));
    wanted[0].value = (char *)"43";
    ck_assert(!job_filter_matches(&filter, &job));
    filter = (JobFilter){.state = JOB_QUEUED};
    ck_assert(!job_filter_matches(&filter, &job));
    filter = (JobFilter){.state = -1, .verdict = VERDICT_PASSED};
    ck_assert(!job_filter_matches(&filter, &job));
    filter = (JobFilter){.state = -1, .since_ms = 101};
    ck_assert(!job_filter_matches(&filter, &job));
}
END_TEST

SUITE_MAIN("request", submit_arrives_whole, names_are_checked, inputs_are_checked,
           canaries_are_checked, what_is_shown_holds_no_canary, ids_hold_no_canary,
           canaries_are_looked_for_quickly, bounds_are_kept,
           a_refused_frame_says_how_it_was_refused, a_filter_selects)
