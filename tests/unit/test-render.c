/* Both renderers: text that cannot be forged, JSON that misses no field. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "client/render_json.h"
#include "client/render_text.h"

static char *text;
static size_t text_bytes;
static FILE *stream;
static const RenderStyle plain = {0};
static const RenderStyle whole = {.show_output = true};

static void setup(void) {
    stream = open_memstream(&text, &text_bytes);
    ck_assert_ptr_nonnull(stream);
}

static void teardown(void) {
    free(text);
}

static void assert_written(const char *expected) {
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_str_eq(text, expected);
}

static ProtobufCBinaryData bytes_of(const char *bytes) {
    return (ProtobufCBinaryData){.len = strlen(bytes), .data = (uint8_t *)bytes};
}

/* ---- a verdict as text ---- */

static Tb__Failure failure;
static Tb__Failure *failures[] = {&failure};
static Tb__Output output;

static Tb__Verdict failed_verdict(void) {
    Tb__Verdict verdict = TB__VERDICT__INIT;
    failure = (Tb__Failure)TB__FAILURE__INIT;
    output = (Tb__Output)TB__OUTPUT__INIT;
    verdict.kind = TB__VERDICT_KIND__FAILED;
    verdict.failures = failures;
    verdict.n_failures = 1;
    verdict.stdout = &output;
    return verdict;
}

START_TEST(leak_is_one_line) {
    Tb__Verdict verdict = failed_verdict();
    failure.code = (char *)"canary_leak";
    failure.subject = (char *)"mail-1";
    failure.sink = (char *)"stdout";
    failure.transform = (char *)"literal";
    failure.offset = 12;
    render_verdict(stream, plain, "a.py", &verdict);
    assert_written("a.py: FAILED\n  canary_leak mail-1 in stdout (literal) at byte 12\n");
}
END_TEST

START_TEST(excerpt_is_indented) {
    Tb__Verdict verdict = failed_verdict();
    failure.code = (char *)"exited";
    failure.message = (char *)"generated code exited 3: Traceback\nb.py: PASSED\n\x1b[2J";
    failure.line = 4;
    render_verdict(stream, plain, "a.py", &verdict);
    assert_written("a.py: FAILED\n"
                   "  exited (line 4): generated code exited 3: Traceback\n"
                   "      b.py: PASSED\n"
                   "      \\x1b[2J\n");
}
END_TEST

START_TEST(output_cannot_pose_as_ours) {
    Tb__Verdict verdict = failed_verdict();
    failure.code = (char *)"timeout";
    output.head = bytes_of("b.py: PASSED\r\nha");
    output.tail = bytes_of("lf\n");
    output.total_bytes = 19;
    render_verdict(stream, plain, "a\n.py", &verdict);
    assert_written("a\\x0a.py: FAILED\n  timeout\n  stdout (19 bytes):\n"
                   "    | b.py: PASSED\\x0d\n    | half\n");
}
END_TEST

START_TEST(omitted_output_is_said) {
    Tb__Verdict verdict = failed_verdict();
    failure.code = (char *)"output_limit";
    output.head = bytes_of("head\n");
    output.tail = bytes_of("tail\n");
    output.total_bytes = 110;
    output.omitted_bytes = 100;
    render_verdict(stream, plain, "a.py", &verdict);
    assert_written("a.py: FAILED\n  output_limit\n  stdout (110 bytes):\n    | head\n"
                   "    (100 bytes omitted)\n    | tail\n");
}
END_TEST

START_TEST(infrastructure_failure_names_its_cause_at_once) {
    Tb__Verdict verdict = failed_verdict();
    verdict.kind = TB__VERDICT_KIND__INFRASTRUCTURE_FAILURE;
    failure.code = (char *)"child_never_started";
    failure.message = (char *)"Fatal Python error: _Py_HashRandomization_Init\nmore";
    verdict.job_id = (char *)"j-1";
    render_verdict(stream, plain, "a.py", &verdict);
    assert_written("a.py: INFRASTRUCTURE FAILURE: child_never_started: Fatal Python error: "
                   "_Py_HashRandomization_Init\n      more\n  job: j-1\n");
}
END_TEST

START_TEST(unknown_kind_is_no_verdict) {
    Tb__Verdict verdict = TB__VERDICT__INIT;
    verdict.kind = (Tb__VerdictKind)9;
    render_verdict(stream, (RenderStyle){.color = true}, "a.py", &verdict);
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_ptr_nonnull(strstr(text, "INFRASTRUCTURE FAILURE"));
    ck_assert_ptr_null(strstr(text, "PASSED"));
}
END_TEST

START_TEST(passed_shows_facts_but_no_output_unasked) {
    Tb__Verdict verdict = failed_verdict();
    Tb__Usage usage = TB__USAGE__INIT;
    Tb__NativeCrash crash = TB__NATIVE_CRASH__INIT, *crashes[] = {&crash};
    Tb__ProducedFile file = TB__PRODUCED_FILE__INIT, *files[] = {&file};
    verdict.kind = TB__VERDICT_KIND__PASSED;
    verdict.n_failures = 0;
    verdict.attempts = 2;
    verdict.usage = &usage;
    usage.wall_us = 12340;
    usage.peak_memory_bytes = 3 << 20;
    crash.attempt = 1;
    crash.environment_id = (char *)"e-7";
    crash.signal_name = (char *)"SIGSEGV";
    crash.excerpt = (char *)"Fatal Python error: Segmentation fault";
    verdict.native_crashes = crashes;
    verdict.n_native_crashes = 1;
    file.name = bytes_of("a\xff");
    file.size_bytes = 7;
    verdict.produced = files;
    verdict.n_produced = 1;
    output.head = bytes_of("secret\n");
    render_verdict(stream, plain, "a.py", &verdict);
    assert_written(
        "a.py: PASSED\n"
        "  native crash: attempt 1 in e-7, SIGSEGV: Fatal Python error: Segmentation fault\n"
        "  used: wall 12.3 ms, cpu 0.0 ms, peak memory 3.0 MiB\n"
        "  attempts: 2\n  produced: \"a\\xff\" (7 bytes)\n");
}
END_TEST

START_TEST(output_is_cut_unless_asked_for) {
    Tb__Verdict verdict = failed_verdict();
    char lines[81];
    for (int i = 0; i < 40; i++) memcpy(lines + 2 * i, "x\n", 3);
    failure.code = (char *)"timeout";
    output.head = bytes_of(lines);
    render_verdict(stream, plain, "a.py", &verdict);
    fflush(stream);
    ck_assert_ptr_nonnull(strstr(text, "    | (20 more lines)\n"));
    const size_t short_bytes = text_bytes;
    render_verdict(stream, whole, "a.py", &verdict);
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_ptr_null(strstr(text + short_bytes, "more lines"));
}
END_TEST

START_TEST(colour_is_only_where_it_is_wanted) {
    render_colored(stream, plain, TB__VERDICT_KIND__PASSED, "PASSED");
    render_colored(stream, (RenderStyle){.color = true}, TB__VERDICT_KIND__PASSED, "PASSED");
    assert_written("PASSED\x1b[32mPASSED\x1b[0m");
}
END_TEST

START_TEST(a_stream_that_is_no_terminal_has_no_colour) {
    FILE *file = tmpfile();
    ck_assert(!render_style_for(file, false).color);
    fclose(file);
    fclose(stream);
}
END_TEST

/* ---- tables ---- */

START_TEST(jobs_are_a_table) {
    Tb__Verdict verdict = TB__VERDICT__INIT;
    Tb__Label label = TB__LABEL__INIT, *labels[] = {&label};
    Tb__Job done = TB__JOB__INIT, queued = TB__JOB__INIT, *jobs[] = {&done, &queued};
    Tb__JobList list = TB__JOB_LIST__INIT;
    verdict.kind = TB__VERDICT_KIND__FAILED;
    label.key = (char *)"k";
    label.value = (char *)"v";
    done.job_id = (char *)"j-0123456789abcdef";
    done.state = TB__JOB_STATE__FINISHED;
    done.verdict = &verdict;
    done.profile = (char *)"pandas";
    done.file_name = (char *)"a.py";
    done.submitted_ms = UINT64_C(1896091207000);
    done.labels = labels;
    done.n_labels = 1;
    queued = done;
    queued.state = TB__JOB_STATE__QUEUED;
    queued.verdict = NULL;
    queued.n_labels = 0;
    list.jobs = jobs;
    list.n_jobs = 2;
    render_jobs(stream, plain, &list);
    assert_written(
        "JOB                 STATE     VERDICT                 SUBMITTED             PROFILE  FILE "
        " LABELS\n"
        "j-0123456789abcdef  finished  failed                  2030-01-31T12:00:07Z  pandas  a.py  "
        "k=v\n"
        "j-0123456789abcdef  queued    -                       2030-01-31T12:00:07Z  pandas  "
        "a.py\n");
}
END_TEST

START_TEST(status_shows_what_is_wrong) {
    Tb__ProfileStatus profile = TB__PROFILE_STATUS__INIT, *profiles[] = {&profile};
    Tb__MissingLayer layer = TB__MISSING_LAYER__INIT, *missing[] = {&layer};
    layer.name = (char *)"landlock";
    layer.reason = (char *)"cannot use\x01it";
    profile.missing = missing;
    profile.n_missing = 1;
    Tb__Status status = TB__STATUS__INIT;
    status.software = (char *)"tbsandboxd 0.1.0";
    status.uptime_ms = 125000;
    status.config_generation = 1;
    status.draining = true;
    status.queue_max = 9;
    status.profiles = profiles;
    status.n_profiles = 1;
    profile.name = (char *)"pandas";
    profile.health = (char *)"unhealthy";
    profile.fill_failures_total = 3;
    profile.diagnosis = (char *)"no interpreter";
    profile.retry_in_ms = 61000;
    profile.interpreter = (char *)"/usr/bin/python3";
    render_status(stream, plain, &status);
    assert_written(
        "tbsandboxd 0.1.0  up 2m05s  config 1  DRAINING\n"
        "connections 0  queued 0/9  running 0\n"
        "accepted 0  passed 0  failed 0  infrastructure 0  refused 0\n"
        "PROFILE           HEALTH     READY  BUSY  STARTING  QUEUED  FILL-FAILURES  INTERPRETER\n"
        "pandas            unhealthy      0     0         0       0              3  "
        "/usr/bin/python3 \n"
        "  diagnosis: no interpreter\n  no layer landlock: cannot use\\x01it\n  next attempt in: "
        "1m01s\n");
}
END_TEST

/* ---- JSON ---- */

START_TEST(json_has_every_field) {
    Tb__Verdict verdict = failed_verdict();
    failure.code = (char *)"exited";
    output.head = bytes_of("gr\xc3\xbc\n");
    output.tail = bytes_of("\xff");
    output.total_bytes = UINT64_MAX;
    ck_assert_int_eq(render_json_line(stream, "a.py", &verdict.base), 0);
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_ptr_eq(strchr(text, '\n'), text + text_bytes - 1);
    json_t *object = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(object);
    ck_assert_uint_eq(json_object_size(object), tb__verdict__descriptor.n_fields + 1);
    ck_assert_str_eq(json_string_value(json_object_get(object, "kind")), "failed");
    ck_assert(json_is_null(json_object_get(object, "exit")));
    ck_assert_uint_eq(json_array_size(json_object_get(object, "produced")), 0);
    json_t *first = json_array_get(json_object_get(object, "failures"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(first, "code")), "exited");
    json_t *out = json_object_get(object, "stdout");
    ck_assert_str_eq(json_string_value(json_object_get(out, "head")), "gr\xc3\xbc\n");
    json_t *tail = json_object_get(out, "tail");
    ck_assert_str_eq(json_string_value(json_object_get(tail, "base64")), "/w==");
    json_decref(object);
}
END_TEST

START_TEST(digests_are_hex) {
    Tb__ProducedFile file = TB__PRODUCED_FILE__INIT;
    file.name = bytes_of("a\"b");
    file.sha256 = bytes_of("\x01\xab");
    ck_assert_int_eq(render_json_line(stream, NULL, &file.base), 0);
    assert_written("{\"name\":\"a\\\"b\",\"size_bytes\":0,\"sha256\":\"01ab\",\"note\":\"\"}\n");
}
END_TEST

/* A field of another type would show as null: whoever adds one must teach the renderer. */
START_TEST(json_knows_every_type_of_the_protocol) {
    static const ProtobufCMessageDescriptor *const messages[] = {
        &tb__verdict__descriptor,       &tb__failure__descriptor,
        &tb__exit__descriptor,          &tb__usage__descriptor,
        &tb__output__descriptor,        &tb__produced_file__descriptor,
        &tb__native_crash__descriptor,  &tb__environment__descriptor,
        &tb__phase_time__descriptor,    &tb__job__descriptor,
        &tb__status__descriptor,        &tb__profile_status__descriptor,
        &tb__doctor_report__descriptor, &tb__profile_report__descriptor,
        &tb__doctor_check__descriptor,  &tb__done__descriptor,
        &tb__missing_layer__descriptor,
    };
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        for (unsigned j = 0; j < messages[i]->n_fields; j++) {
            const ProtobufCType type = messages[i]->fields[j].type;
            ck_assert(type == PROTOBUF_C_TYPE_INT32 || type == PROTOBUF_C_TYPE_UINT32 ||
                      type == PROTOBUF_C_TYPE_UINT64 || type == PROTOBUF_C_TYPE_BOOL ||
                      type == PROTOBUF_C_TYPE_ENUM || type == PROTOBUF_C_TYPE_STRING ||
                      type == PROTOBUF_C_TYPE_BYTES || type == PROTOBUF_C_TYPE_MESSAGE);
        }
    fclose(stream);
}
END_TEST

static TCase *cases(void) {
    TCase *tests = tcase_create("render");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, leak_is_one_line);
    tcase_add_test(tests, excerpt_is_indented);
    tcase_add_test(tests, output_cannot_pose_as_ours);
    tcase_add_test(tests, omitted_output_is_said);
    tcase_add_test(tests, infrastructure_failure_names_its_cause_at_once);
    tcase_add_test(tests, unknown_kind_is_no_verdict);
    tcase_add_test(tests, passed_shows_facts_but_no_output_unasked);
    tcase_add_test(tests, output_is_cut_unless_asked_for);
    tcase_add_test(tests, colour_is_only_where_it_is_wanted);
    tcase_add_test(tests, a_stream_that_is_no_terminal_has_no_colour);
    tcase_add_test(tests, jobs_are_a_table);
    tcase_add_test(tests, status_shows_what_is_wrong);
    tcase_add_test(tests, json_has_every_field);
    tcase_add_test(tests, digests_are_hex);
    tcase_add_test(tests, json_knows_every_type_of_the_protocol);
    return tests;
}

int main(void) {
    Suite *suite = suite_create("render");
    suite_add_tcase(suite, cases());
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
