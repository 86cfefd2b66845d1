#include "broker/consult.h"

#include "bench.h"
#include "suite.h"

static Bench bench;
static List consults;

/* What the last consult said; copies. */
static struct {
    unsigned n_done;
    uint64_t request_id;
    size_t n_reports;
    bool healthy[4];
    char profile[4][64];
    char diagnosis[4][256];
    char version[4][32];
    size_t n_checks[4];
} said;

static void on_consulted(Consult *consult, void *data) {
    ck_assert_ptr_eq(data, &bench);
    said.n_done++;
    said.request_id = consult->request_id;
    said.n_reports = consult->n_reports;
    for (size_t i = 0; i < consult->n_reports; i++) {
        const ProfileReport *report = &consult->reports[i];
        said.healthy[i] = report->healthy;
        said.n_checks[i] = report->n_checks;
        snprintf(said.profile[i], sizeof said.profile[i], "%s", report->profile);
        snprintf(said.version[i], sizeof said.version[i], "%s", report->version);
        snprintf(said.diagnosis[i], sizeof said.diagnosis[i], "%s", report->diagnosis);
    }
    consult_free(consult);
}

static void set_up(const char *script, const char *lie) {
    bench_prepare(&bench, script);
    bench.self_test = true;
    bench.config->circuit_backoff_min_ms = bench.config->circuit_backoff_max_ms = 3600000;
    set_text(&bench.config->profiles[0].warmup, lie);
    list_init(&consults);
    bench_start(&bench);
}

static void tear_down(void) {
    ck_assert(list_empty(&consults));
    bench_deinit(&bench);
}

static void start(const char *profile, uint64_t request_id) {
    ck_assert_int_eq(
        consult_start(bench.scheduler, profile, request_id, &consults, on_consulted, &bench), 0);
}

START_TEST(every_profile_is_reported) {
    set_up("ready", "");
    start(NULL, 7);
    ck_assert_uint_eq(said.n_done, 0);
    loop_until(&bench.loop, said.n_done == 1);
    ck_assert_uint_eq(said.request_id, 7);
    ck_assert_uint_eq(said.n_reports, 2);
    ck_assert_str_eq(said.profile[0], "stdlib");
    ck_assert_str_eq(said.profile[1], "pandas");
    for (int i = 0; i < 2; i++) {
        ck_assert(said.healthy[i]);
        ck_assert_str_eq(said.diagnosis[i], "");
        ck_assert_str_eq(said.version[i], "3.11.2");
        ck_assert_uint_eq(said.n_checks[i], doctor_n_programs);
    }
    tear_down();
}
END_TEST

START_TEST(one_profile_may_be_asked_about) {
    set_up("ready", "");
    start("pandas", 8);
    loop_until(&bench.loop, said.n_done == 1);
    ck_assert_uint_eq(said.n_reports, 1);
    ck_assert_str_eq(said.profile[0], "pandas");
    tear_down();
}
END_TEST

START_TEST(a_wrong_check_is_told) {
    set_up("ready", "raises");
    start("stdlib", 1);
    loop_until(&bench.loop, said.n_done == 1);
    ck_assert(!said.healthy[0]);
    ck_assert_uint_eq(said.n_checks[0], doctor_n_programs);
    ck_assert_ptr_nonnull(strstr(said.diagnosis[0], "self-test raises"));
    tear_down();
}
END_TEST

START_TEST(an_unhealthy_profile_answers_at_once) {
    set_up("invalid", "");
    loop_until(&bench.loop, health_refuses(&bench_pool(&bench)->health));
    start("stdlib", 1);
    ck_assert_uint_eq(said.n_done, 1);
    ck_assert(!said.healthy[0]);
    ck_assert_str_eq(said.diagnosis[0], "no such layer here");
    ck_assert_uint_eq(said.n_checks[0], 0);
    tear_down();
}
END_TEST

START_TEST(one_that_never_gets_an_environment_is_answered) {
    set_up("lost", "");
    start("stdlib", 1);
    loop_until(&bench.loop, said.n_done == 1);
    ck_assert(!said.healthy[0]);
    ck_assert_str_eq(said.diagnosis[0], "the warden exited 7 without a word");
    tear_down();
}
END_TEST

START_TEST(several_join_the_same_run) {
    set_up("ready", "");
    start("stdlib", 1);
    start("stdlib", 2);
    start(NULL, 3);
    const struct DoctorRun *run = bench_pool(&bench)->doctor;
    ck_assert_ptr_nonnull(run);
    loop_until(&bench.loop, said.n_done == 3);
    tear_down();
}
END_TEST

START_TEST(a_client_that_goes_is_forgotten) {
    set_up("ready", "");
    start(NULL, 1);
    start("stdlib", 2);
    consult_forget_all(&consults);
    ck_assert(list_empty(&consults));
    loop_until(&bench.loop, health_serves(&bench_pool(&bench)->health));
    loop_idle(&bench.loop);
    ck_assert_uint_eq(said.n_done, 0);
    tear_down();
}
END_TEST

START_TEST(stopping_answers_those_who_wait) {
    set_up("ready", "");
    start("stdlib", 1);
    scheduler_abort(bench.scheduler);
    ck_assert_uint_eq(said.n_done, 1);
    ck_assert(!said.healthy[0]);
    tear_down();
}
END_TEST

SUITE_MAIN_OR(warden_stub, "consult", every_profile_is_reported, one_profile_may_be_asked_about,
              a_wrong_check_is_told, an_unhealthy_profile_answers_at_once,
              one_that_never_gets_an_environment_is_answered, several_join_the_same_run,
              a_client_that_goes_is_forgotten, stopping_answers_those_who_wait)
