#include "broker/reply.h"

#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "job_maker.h"
#include "suite.h"
#include "tbsandbox.pb-c.h"
#include "wire.h"

static ProtobufCMessage *held;

/* What a client reads; valid until the next one. Frees the frame. */
static Tb__Envelope *unpack(ReplyFrame *frame, uint64_t request_id, Tb__Envelope__BodyCase body) {
    ProtobufCMessage *message = NULL;
    size_t n_bytes = 0;
    ck_assert_int_eq(wire_payload_length(frame->bytes, frame->n_bytes, &n_bytes), 0);
    ck_assert_uint_eq(n_bytes + WIRE_HEADER_BYTES, frame->n_bytes);
    ck_assert_int_eq(
        wire_unpack(&tb__envelope__descriptor, frame->bytes + WIRE_HEADER_BYTES, n_bytes, &message),
        0);
    free(frame->bytes);
    wire_message_free(held);
    held = message;
    Tb__Envelope *envelope = (Tb__Envelope *)message;
    ck_assert_uint_eq(envelope->request_id, request_id);
    ck_assert_int_eq(envelope->body_case, body);
    return envelope;
}

/* A finished job whose run is said to have ended with `exit_code`. */
static Job *make_finished_job(int exit_code) {
    Job *job = make_job("uid:1001", "key");
    job->spec.labels = calloc(1, sizeof *job->spec.labels);
    job->spec.labels[0] = (JobLabel){strdup("ci"), strdup("42")};
    job->spec.n_labels = 1;
    job->state = JOB_FINISHED;
    job->finished_ms = job->submitted_ms + 5;
    job->attempts = 2;
    strcpy(job->record.id, "e-9");
    job->record.interpreter = strdup("/usr/bin/python3");
    job->record.version = strdup("3.11.2");
    job->record.hash_sample = 0xabc;
    job->record.hash_randomized = true;
    ck_assert_int_eq(text_list_append(&job->record.enforced, "rlimits"), 0);
    Facts *facts = calloc(1, sizeof *facts);
    for (Phase phase = 0; phase < PHASE_COUNT; phase++) facts->seen[phase] = true;
    for (Phase phase = 0; phase < PHASE_COUNT; phase++) facts->at_us[phase] = 10 * phase;
    facts->exited = true;
    facts->exit_code = exit_code;
    facts->out.head = (uint8_t *)strdup("out\xff");
    facts->out.head_bytes = 4;
    facts->out.total_bytes = 400;
    facts->out.omitted_bytes = 396;
    facts->wall_us = 1234;
    facts->produced = calloc(1, sizeof *facts->produced);
    facts->n_produced = 1;
    facts->produced[0] = (ProducedFile){.name = (uint8_t *)strdup("x.csv"),
                                        .name_bytes = 5,
                                        .size_bytes = 3,
                                        .sha256 = {0xcd},
                                        .has_sha256 = true};
    NativeCrash *crashes = calloc(1, sizeof *crashes);
    crashes[0] = (NativeCrash){1, SIGSEGV, strdup("Fatal"), strdup("e-8")};
    ck_assert_int_eq(verdict_new(&facts, &crashes, 1, 2, &job->verdict), 0);
    return job;
}

START_TEST(hello_names_itself_and_its_bounds) {
    ReplyFrame frame;
    ck_assert_int_eq(reply_hello(3, 4096, &frame), 0);
    const Tb__Hello *hello = unpack(&frame, 3, TB__ENVELOPE__BODY_HELLO)->hello;
    ck_assert_uint_eq(hello->protocol, 1);
    ck_assert_str_eq(hello->software, "tbsandboxd " TBSANDBOX_VERSION);
    ck_assert_uint_eq(hello->max_frame_bytes, 4096);
    ck_assert_uint_eq(hello->n_capabilities, 10);
    ck_assert_str_eq(hello->capabilities[0], "submit");
}
END_TEST

START_TEST(every_refusal_has_its_code) {
    static const Tb__ErrorCode codes[] = {
        [REFUSE_MALFORMED] = TB__ERROR_CODE__MALFORMED,
        [REFUSE_FRAME_TOO_LARGE] = TB__ERROR_CODE__FRAME_TOO_LARGE,
        [REFUSE_HELLO_REQUIRED] = TB__ERROR_CODE__HELLO_REQUIRED,
        [REFUSE_VERSION_MISMATCH] = TB__ERROR_CODE__VERSION_MISMATCH,
        [REFUSE_UNIMPLEMENTED] = TB__ERROR_CODE__UNIMPLEMENTED,
        [REFUSE_INVALID_ARGUMENT] = TB__ERROR_CODE__INVALID_ARGUMENT,
        [REFUSE_PERMISSION_DENIED] = TB__ERROR_CODE__PERMISSION_DENIED,
        [REFUSE_NOT_FOUND] = TB__ERROR_CODE__NOT_FOUND,
        [REFUSE_RESOURCE_EXHAUSTED] = TB__ERROR_CODE__RESOURCE_EXHAUSTED,
        [REFUSE_UNAVAILABLE] = TB__ERROR_CODE__UNAVAILABLE,
        [REFUSE_INTERNAL] = TB__ERROR_CODE__INTERNAL,
    };
    for (RefusalCode code = REFUSE_MALFORMED; code <= REFUSE_INTERNAL; code++) {
        Refusal refusal;
        refusal_set(&refusal, code, "%s", "why \xff");
        ReplyFrame frame;
        ck_assert_int_eq(reply_refusal(9, &refusal, &frame), 0);
        const Tb__Error *error = unpack(&frame, 9, TB__ENVELOPE__BODY_ERROR)->error;
        ck_assert_int_eq(error->code, codes[code]);
        ck_assert_str_eq(error->message, "why \xef\xbf\xbd");
        ck_assert_uint_eq(error->retry_after_ms, refusal.retry_after_ms);
    }
}
END_TEST

START_TEST(accepted_event_and_done) {
    Job *job = make_job("uid:1001", "key");
    ReplyFrame frame;
    ck_assert_int_eq(reply_accepted(1, job, true, &frame), 0);
    const Tb__Accepted *accepted = unpack(&frame, 1, TB__ENVELOPE__BODY_ACCEPTED)->accepted;
    ck_assert_str_eq(accepted->job_id, job->id);
    ck_assert(accepted->known);
    job->state = JOB_RUNNING;
    job->attempts = 2;
    strcpy(job->record.id, "e-4");
    ck_assert_int_eq(reply_event(2, job, &frame), 0);
    const Tb__JobEvent *event = unpack(&frame, 2, TB__ENVELOPE__BODY_EVENT)->event;
    ck_assert_int_eq(event->state, TB__JOB_STATE__RUNNING);
    ck_assert_uint_eq(event->attempt, 2);
    ck_assert_str_eq(event->environment_id, "e-4");
    ck_assert_int_eq(reply_done(3, "done so", &frame), 0);
    ck_assert_str_eq(unpack(&frame, 3, TB__ENVELOPE__BODY_DONE)->done->message, "done so");
    job_free(job);
}
END_TEST

START_TEST(a_verdict_arrives_whole) {
    Job *job = make_finished_job(3);
    ReplyFrame frame;
    ck_assert_int_eq(reply_verdict(5, job, &frame), 0);
    const Tb__Verdict *verdict = unpack(&frame, 5, TB__ENVELOPE__BODY_VERDICT)->verdict;
    ck_assert_str_eq(verdict->job_id, job->id);
    ck_assert_int_eq(verdict->kind, TB__VERDICT_KIND__FAILED);
    ck_assert_uint_eq(verdict->n_failures, 1);
    ck_assert_str_eq(verdict->failures[0]->code, "exited");
    ck_assert_str_eq(verdict->failures[0]->message, "generated code exited 3");
    ck_assert_uint_eq(verdict->n_stages, 4);
    ck_assert_str_eq(verdict->stages[0], "parse");
    ck_assert_str_eq(verdict->stages[3], "execute");
    ck_assert(verdict->child_started);
    ck_assert_uint_eq(verdict->attempts, 2);
    ck_assert_int_eq(verdict->exit->code, 3);
    ck_assert_uint_eq(verdict->exit->signal, 0);
    ck_assert_uint_eq(verdict->usage->wall_us, 1234);
    ck_assert_uint_eq(verdict->usage->stdout_bytes, 400);
    ck_assert_mem_eq(verdict->stdout->head.data, "out\xff", 4);
    ck_assert_uint_eq(verdict->stdout->omitted_bytes, 396);
    ck_assert_uint_eq(verdict->stderr->total_bytes, 0);
    ck_assert_mem_eq(verdict->produced[0]->name.data, "x.csv", 5);
    ck_assert_uint_eq(verdict->produced[0]->sha256.len, SHA256_BYTES);
    ck_assert_uint_eq(verdict->produced[0]->sha256.data[0], 0xcd);
    ck_assert_uint_eq(verdict->native_crashes[0]->attempt, 1);
    ck_assert_str_eq(verdict->native_crashes[0]->signal_name, "SIGSEGV");
    ck_assert_str_eq(verdict->native_crashes[0]->environment_id, "e-8");
    ck_assert_str_eq(verdict->environment->id, "e-9");
    ck_assert_str_eq(verdict->environment->version, "3.11.2");
    ck_assert_str_eq(verdict->environment->hash_sample, "0000000000000abc");
    ck_assert_str_eq(verdict->enforced[0], "rlimits");
    ck_assert_uint_eq(verdict->n_phases, PHASE_COUNT);
    ck_assert_str_eq(verdict->phases[PHASE_STARTED]->phase, "started");
    ck_assert_uint_eq(verdict->phases[PHASE_STARTED]->at_us, 10 * PHASE_STARTED);
    ck_assert_str_eq(verdict->profile, "stdlib");
    ck_assert_str_eq(verdict->file_name, "generated.py");
    job_free(job);
}
END_TEST

START_TEST(a_verdict_without_a_run_claims_nothing) {
    Job *job = make_job("uid:1001", "key");
    job->state = JOB_FINISHED;
    ck_assert_int_eq(verdict_new_infrastructure(CODE_CANCELLED, "cancelled", 0, &job->verdict), 0);
    ReplyFrame frame;
    ck_assert_int_eq(reply_verdict(5, job, &frame), 0);
    const Tb__Verdict *verdict = unpack(&frame, 5, TB__ENVELOPE__BODY_VERDICT)->verdict;
    ck_assert_int_eq(verdict->kind, TB__VERDICT_KIND__INFRASTRUCTURE_FAILURE);
    ck_assert_str_eq(verdict->failures[0]->code, "cancelled");
    ck_assert(!verdict->child_started);
    ck_assert_uint_eq(verdict->n_stages, 0);
    ck_assert_uint_eq(verdict->n_enforced, 0);
    ck_assert_uint_eq(verdict->n_produced, 0);
    ck_assert_ptr_null(verdict->exit);
    ck_assert_ptr_null(verdict->usage);
    ck_assert_ptr_null(verdict->stdout);
    ck_assert_ptr_null(verdict->environment);
    job_free(job);
}
END_TEST

START_TEST(a_job_has_outputs_and_a_list_has_none) {
    Job *finished = make_finished_job(0);
    Job *queued = make_job("uid:1002", "key");
    Job *jobs[] = {finished, queued};
    ReplyFrame frame;
    ck_assert_int_eq(reply_job(1, finished, &frame), 0);
    const Tb__Job *job = unpack(&frame, 1, TB__ENVELOPE__BODY_JOB)->job;
    ck_assert_str_eq(job->peer, "uid:1001");
    ck_assert_str_eq(job->labels[0]->key, "ci");
    ck_assert_str_eq(job->labels[0]->value, "42");
    ck_assert_uint_eq(job->finished_ms, job->submitted_ms + 5);
    ck_assert_int_eq(job->verdict->kind, TB__VERDICT_KIND__PASSED);
    ck_assert_uint_eq(job->verdict->stdout->head.len, 4);
    ck_assert_int_eq(reply_jobs(2, jobs, 2, true, &frame), 0);
    const Tb__JobList *list = unpack(&frame, 2, TB__ENVELOPE__BODY_JOBS)->jobs;
    ck_assert_uint_eq(list->n_jobs, 2);
    ck_assert(list->more);
    ck_assert_int_eq(list->jobs[0]->state, TB__JOB_STATE__FINISHED);
    ck_assert_int_eq(list->jobs[0]->verdict->kind, TB__VERDICT_KIND__PASSED);
    ck_assert_ptr_null(list->jobs[0]->verdict->stdout);
    ck_assert_int_eq(list->jobs[1]->state, TB__JOB_STATE__QUEUED);
    ck_assert_ptr_null(list->jobs[1]->verdict);
    ck_assert_uint_eq(list->jobs[1]->n_labels, 0);
    ck_assert_int_eq(reply_jobs(2, jobs, 0, false, &frame), 0);
    list = unpack(&frame, 2, TB__ENVELOPE__BODY_JOBS)->jobs;
    ck_assert_uint_eq(list->n_jobs, 0);
    ck_assert(!list->more);
    job_free(finished);
    job_free(queued);
}
END_TEST

START_TEST(doctor_is_healthy_only_when_every_profile_is) {
    DoctorCheck checks[] = {{.name = "passes", .expected = "passed", .seen = "passed", .ok = true},
                            {.name = "loops", .expected = "failed: timeout", .seen = "passed"}};
    ProfileReport reports[] = {
        {.profile = (char *)"a", .healthy = true, .checks = checks, .n_checks = 1},
        {.profile = (char *)"b", .diagnosis = (char *)"bad", .checks = checks, .n_checks = 2},
    };
    ReplyFrame frame;
    ck_assert_int_eq(reply_doctor(4, reports, 2, &frame), 0);
    const Tb__DoctorReport *report =
        unpack(&frame, 4, TB__ENVELOPE__BODY_DOCTOR_REPORT)->doctor_report;
    ck_assert(!report->healthy);
    ck_assert_uint_eq(report->n_profiles, 2);
    ck_assert(report->profiles[0]->healthy && !report->profiles[1]->healthy);
    ck_assert_str_eq(report->profiles[1]->diagnosis, "bad");
    ck_assert_uint_eq(report->profiles[1]->n_checks, 2);
    ck_assert_str_eq(report->profiles[1]->checks[1]->name, "loops");
    ck_assert_str_eq(report->profiles[1]->checks[1]->expected, "failed: timeout");
    ck_assert_str_eq(report->profiles[1]->checks[1]->seen, "passed");
    ck_assert(!report->profiles[1]->checks[1]->ok);
    ck_assert_int_eq(reply_doctor(4, reports, 1, &frame), 0);
    ck_assert(unpack(&frame, 4, TB__ENVELOPE__BODY_DOCTOR_REPORT)->doctor_report->healthy);
    ck_assert_int_eq(reply_doctor(4, reports, 0, &frame), 0);
    ck_assert(!unpack(&frame, 4, TB__ENVELOPE__BODY_DOCTOR_REPORT)->doctor_report->healthy);
}
END_TEST

SUITE_MAIN("reply", hello_names_itself_and_its_bounds, every_refusal_has_its_code,
           accepted_event_and_done, a_verdict_arrives_whole, a_verdict_without_a_run_claims_nothing,
           a_job_has_outputs_and_a_list_has_none, doctor_is_healthy_only_when_every_profile_is)
