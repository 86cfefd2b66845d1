#include "broker/job.h"

#include "job_maker.h"
#include "suite.h"

START_TEST(moves_only_along_its_table) {
    Job *job = make_job("peer", "key");
    ck_assert_int_eq(job->state, JOB_QUEUED);
    ck_assert(!job_enter(job, JOB_EVENT_AGAIN));
    ck_assert(job_enter(job, JOB_EVENT_LEASED));
    ck_assert(!job_enter(job, JOB_EVENT_LEASED));
    ck_assert(job_enter(job, JOB_EVENT_AGAIN));
    ck_assert(job_enter(job, JOB_EVENT_LEASED));
    ck_assert(job_enter(job, JOB_EVENT_VERDICT));
    ck_assert_int_eq(job->state, JOB_FINISHED);
    for (JobEvent event = 0; event < JOB_EVENT_COUNT; event++) ck_assert(!job_enter(job, event));
    ck_assert_int_eq(job->state, JOB_FINISHED);
    job_free(job);
}
END_TEST

START_TEST(ids_are_well_formed_and_differ) {
    Job *a = make_job("peer", "a");
    Job *b = make_job("peer", "b");
    ck_assert_uint_eq(strlen(a->id), JOB_ID_BYTES - 1);
    ck_assert_int_eq(strncmp(a->id, "j-", 2), 0);
    ck_assert_uint_eq(strspn(a->id + 2, "0123456789abcdef"), 16);
    ck_assert_str_ne(a->id, b->id);
    job_free(a);
    job_free(b);
}
END_TEST

START_TEST(dropping_the_payload_leaves_the_record) {
    JobSpec spec = {.repeats = 1};
    spec.idempotency_key = strdup("key");
    spec.file_name = strdup("generated.py");
    spec.profile = strdup("stdlib");
    spec.code = (Blob){(uint8_t *)strdup("print()"), 7};
    spec.canaries = calloc(1, sizeof *spec.canaries);
    spec.n_canaries = 1;
    spec.canaries[0] = (JobCanary){strdup("id"), {(uint8_t *)strdup("secret"), 6}};
    ck_assert_uint_eq(job_spec_bytes(&spec), 13);
    Job *job;
    ck_assert_int_eq(job_new(&spec, "peer", &job), 0);
    ck_assert_ptr_null(spec.code.bytes);
    ck_assert_uint_eq(job->bytes, 13);
    job_drop_payload(job);
    ck_assert_uint_eq(job_spec_bytes(&job->spec), 0);
    ck_assert_uint_eq(job->spec.n_canaries, 0);
    ck_assert_str_eq(job->spec.file_name, "generated.py");
    job_free(job);
}
END_TEST

START_TEST(crashes_are_listed_in_order) {
    Job *job = make_job("peer", "key");
    Facts facts = {.signal = 11, .excerpt = (char *)"first", .environment_id = (char *)"e-1"};
    job->attempts = 1;
    ck_assert_int_eq(job_add_crash(job, &facts), 0);
    facts.signal = 6;
    facts.excerpt = NULL;
    job->attempts = 2;
    ck_assert_int_eq(job_add_crash(job, &facts), 0);
    ck_assert_uint_eq(job->n_crashes, 2);
    ck_assert_int_eq(job->crashes[0].signal, 11);
    ck_assert_str_eq(job->crashes[0].excerpt, "first");
    ck_assert_uint_eq(job->crashes[1].attempt, 2);
    ck_assert_str_eq(job->crashes[1].excerpt, "");
    job_free(job);
}
END_TEST

SUITE_MAIN("job", moves_only_along_its_table, ids_are_well_formed_and_differ,
           dropping_the_payload_leaves_the_record, crashes_are_listed_in_order)
