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

static Job *add_finished(Registry *registry, const char *key, uint64_t finished_ms) {
    Job *job = add(registry, "peer", key);
    job->state = JOB_FINISHED;
    job->finished_ms = finished_ms;
    registry_finished(registry, job);
    return job;
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

SUITE_MAIN("registry", finds_by_id_and_by_key_of_the_peer, refuses_a_key_twice_and_stays_whole,
           trims_the_oldest_over_the_count, trims_by_age_and_by_bytes,
           never_trims_what_runs_or_is_followed)
