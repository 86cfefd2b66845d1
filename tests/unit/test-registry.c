#include "broker/registry.h"

#include <errno.h>

#include "job_maker.h"
#include "suite.h"

enum { PLENTY = 1 << 30 };

static Registry *make_registry(void) {
    Registry *registry;
    ck_assert_int_eq(registry_new(&registry), 0);
    return registry;
}

static Job *add(Registry *registry, const char *peer, const char *key) {
    Job *job = make_job(peer, key);
    ck_assert_int_eq(registry_add(registry, job), 0);
    return job;
}

static Job *add_finished_of(Registry *registry, const char *peer, const char *key,
                            uint64_t finished_ms) {
    Job *job = add(registry, peer, key);
    job->state = JOB_FINISHED;
    job->finished_ms = finished_ms;
    registry_finished(registry, job);
    return job;
}

static Job *add_finished(Registry *registry, const char *key, uint64_t finished_ms) {
    return add_finished_of(registry, "peer", key, finished_ms);
}

static bool count(Job *job, void *data) {
    (void)job;
    ++*(int *)data;
    return true;
}

static int n_jobs(const Registry *registry) {
    int n = 0;
    registry_each(registry, count, &n);
    return n;
}

START_TEST(finds_by_id_and_by_key_of_the_peer) {
    Registry *registry = make_registry();
    Job *job = add(registry, "uid:1", "key");
    ck_assert_ptr_eq(registry_find(registry, job->id), job);
    ck_assert_ptr_eq(registry_find_key(registry, "uid:1", "key"), job);
    ck_assert_ptr_null(registry_find_key(registry, "uid:2", "key"));
    ck_assert_ptr_null(registry_find(registry, "j-0"));
    ck_assert_ptr_null(registry_find(registry, "j-an-id-that-is-far-too-long-to-be-one"));
    registry_free(registry);
}
END_TEST

START_TEST(refuses_a_key_twice_and_stays_whole) {
    Registry *registry = make_registry();
    Job *first = add(registry, "uid:1", "key");
    Job *second = make_job("uid:1", "key");
    ck_assert_int_eq(registry_add(registry, second), -EEXIST);
    ck_assert_ptr_null(registry_find(registry, second->id));
    ck_assert_ptr_eq(registry_find_key(registry, "uid:1", "key"), first);
    job_free(second);
    registry_free(registry);
}
END_TEST

START_TEST(trims_the_oldest_over_the_count) {
    Registry *registry = make_registry();
    add_finished(registry, "old", 100);
    add_finished(registry, "middle", 200);
    add_finished(registry, "new", 300);
    registry_trim(registry, 2, PLENTY, PLENTY, 300);
    ck_assert_ptr_null(registry_find_key(registry, "peer", "old"));
    ck_assert_ptr_nonnull(registry_find_key(registry, "peer", "middle"));
    ck_assert_ptr_nonnull(registry_find_key(registry, "peer", "new"));
    registry_free(registry);
}
END_TEST

START_TEST(trims_by_age_and_by_bytes) {
    Registry *registry = make_registry();
    add_finished(registry, "old", 100);
    add_finished(registry, "new", 1000);
    registry_trim(registry, 10, PLENTY, 500, 1200);
    ck_assert_ptr_null(registry_find_key(registry, "peer", "old"));
    ck_assert_ptr_nonnull(registry_find_key(registry, "peer", "new"));
    registry_trim(registry, 10, 0, 500, 1200);
    ck_assert_int_eq(n_jobs(registry), 0);
    registry_free(registry);
}
END_TEST

START_TEST(never_trims_what_runs_or_is_followed) {
    Registry *registry = make_registry();
    Job *followed = add_finished(registry, "followed", 0);
    List follower;
    list_append(&followed->followers, &follower);
    add(registry, "peer", "running");
    registry_trim(registry, 0, 0, 0, PLENTY);
    ck_assert_int_eq(n_jobs(registry), 2);
    list_remove(&follower);
    registry_trim(registry, 0, 0, 0, PLENTY);
    ck_assert_int_eq(n_jobs(registry), 1);
    registry_free(registry);
}
END_TEST

START_TEST(who_fills_it_loses_its_own) {
    Registry *registry = make_registry();
    add_finished_of(registry, "uid:1", "oldest-of-all", 100);
    char key[16];
    for (int i = 0; i < 50; i++) {
        snprintf(key, sizeof key, "flood-%d", i);
        add_finished_of(registry, "uid:2", key, 200 + (uint64_t)i);
    }
    registry_trim(registry, 10, PLENTY, PLENTY, 300);
    ck_assert_int_eq(n_jobs(registry), 10);
    ck_assert_ptr_nonnull(registry_find_key(registry, "uid:1", "oldest-of-all"));
    ck_assert_ptr_null(registry_find_key(registry, "uid:2", "flood-40"));
    ck_assert_ptr_nonnull(registry_find_key(registry, "uid:2", "flood-41"));
    registry_trim(registry, 1, PLENTY, PLENTY, 300);
    ck_assert_int_eq(n_jobs(registry), 1);
    registry_free(registry);
}
END_TEST

/* A verdict with one text of so many bytes where `put` puts it. */
static Job *add_large(Registry *registry, const char *peer, void (*put)(Job *job, char *text)) {
    enum { TEXT_BYTES = 100000 };
    Job *job = add(registry, peer, "large");
    char *text = calloc(1, TEXT_BYTES + 1);
    memset(text, 't', TEXT_BYTES);
    job->state = JOB_FINISHED;
    job->verdict = calloc(1, sizeof *job->verdict);
    job->verdict->facts = calloc(1, sizeof *job->verdict->facts);
    put(job, text);
    registry_finished(registry, job);
    return job;
}

static void put_failure(Job *job, char *text) {
    const Failure failure = {.code = CODE_EXITED, .message = text};
    ck_assert_int_eq(failure_list_append(&job->verdict->failures, &failure), 0);
    free(text);
}

static void put_finding(Job *job, char *text) {
    const Failure failure = {.code = CODE_CANARY_LEAK, .subject = text};
    ck_assert_int_eq(failure_list_append(&job->verdict->facts->findings, &failure), 0);
    free(text);
}

static void put_excerpt(Job *job, char *text) {
    job->verdict->facts->excerpt = text;
}

static void put_crash(Job *job, char *text) {
    job->verdict->native_crashes = calloc(1, sizeof *job->verdict->native_crashes);
    job->verdict->native_crashes[0].excerpt = text;
    job->verdict->n_native_crashes = 1;
}

static void put_label(Job *job, char *text) {
    job->spec.labels = calloc(1, sizeof *job->spec.labels);
    job->spec.labels[0] = (JobLabel){.key = strdup("k"), .value = text};
    job->spec.n_labels = 1;
}

static void put_output(Job *job, char *text) {
    job->verdict->facts->err.tail_bytes = strlen(text);
    job->verdict->facts->err.tail = (uint8_t *)text;
}

static void put_note(Job *job, char *text) {
    job->verdict->facts->produced = calloc(1, sizeof *job->verdict->facts->produced);
    job->verdict->facts->produced[0].note = text;
    job->verdict->facts->n_produced = 1;
}

static void put_version(Job *job, char *text) {
    job->record.version = text;
}

START_TEST(all_that_is_kept_counts) {
    static void (*const places[])(Job *, char *) = {put_failure, put_finding, put_excerpt,
                                                    put_crash,   put_label,   put_output,
                                                    put_note,    put_version};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        Registry *registry = make_registry();
        add_finished_of(registry, "uid:1", "a", 1);
        add_finished_of(registry, "uid:1", "b", 2);
        add_large(registry, "uid:2", places[i]);
        registry_trim(registry, 10, 100000, PLENTY, 3);
        ck_assert_msg(!registry_find_key(registry, "uid:2", "large"), "place %zu", i);
        ck_assert_int_eq(n_jobs(registry), 2); /* of the peer with most bytes, not with most jobs */
        registry_free(registry);
    }
}
END_TEST

START_TEST(a_peers_jobs_are_found_without_the_others) {
    Registry *registry = make_registry();
    add(registry, "uid:1", "a");
    add_finished_of(registry, "uid:2", "a", 100);
    add(registry, "uid:1", "b");
    int n = 0;
    registry_each_of(registry, "uid:1", count, &n);
    ck_assert_int_eq(n, 2);
    n = 0;
    registry_each_of(registry, "uid:2", count, &n);
    ck_assert_int_eq(n, 1);
    registry_trim(registry, 0, 0, 0, PLENTY);
    n = 0;
    registry_each_of(registry, "uid:2", count, &n);
    registry_each_of(registry, "uid:3", count, &n);
    ck_assert_int_eq(n, 0);
    registry_free(registry);
}
END_TEST

SUITE_MAIN("registry", finds_by_id_and_by_key_of_the_peer, refuses_a_key_twice_and_stays_whole,
           trims_the_oldest_over_the_count, trims_by_age_and_by_bytes,
           never_trims_what_runs_or_is_followed, who_fills_it_loses_its_own,
           all_that_is_kept_counts, a_peers_jobs_are_found_without_the_others)
