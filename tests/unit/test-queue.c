#include "broker/queue.h"

#include "job_maker.h"
#include "suite.h"

static Queue *make_queue(void) {
    Queue *queue;
    ck_assert_int_eq(queue_new(&queue), 0);
    return queue;
}

static void expect_pop(Queue *queue, const char *key) {
    Job *job = queue_pop(queue);
    ck_assert_ptr_nonnull(job);
    ck_assert_str_eq(job->spec.idempotency_key, key);
    job_free(job);
}

START_TEST(one_peer_is_served_in_order) {
    Queue *queue = make_queue();
    queue_push(queue, make_job("a", "a1"));
    queue_push(queue, make_job("a", "a2"));
    ck_assert_uint_eq(queue_count(queue), 2);
    expect_pop(queue, "a1");
    expect_pop(queue, "a2");
    ck_assert_ptr_null(queue_pop(queue));
    ck_assert_uint_eq(queue_count(queue), 0);
    queue_free(queue);
}
END_TEST

START_TEST(a_flood_of_one_peer_does_not_hold_up_another) {
    Queue *queue = make_queue();
    queue_push(queue, make_job("a", "a1"));
    queue_push(queue, make_job("a", "a2"));
    queue_push(queue, make_job("a", "a3"));
    queue_push(queue, make_job("b", "b1"));
    queue_push(queue, make_job("b", "b2"));
    expect_pop(queue, "a1");
    expect_pop(queue, "b1");
    expect_pop(queue, "a2");
    expect_pop(queue, "b2");
    expect_pop(queue, "a3");
    queue_free(queue);
}
END_TEST

START_TEST(a_peer_cannot_jump_its_turn_by_coming_back) {
    Queue *queue = make_queue();
    queue_push(queue, make_job("a", "a1"));
    queue_push(queue, make_job("b", "b1"));
    queue_push(queue, make_job("b", "b2"));
    expect_pop(queue, "a1");
    queue_push(queue, make_job("a", "a2"));
    expect_pop(queue, "b1");
    expect_pop(queue, "a2");
    expect_pop(queue, "b2");
    queue_free(queue);
}
END_TEST

START_TEST(a_job_that_runs_again_comes_first) {
    Queue *queue = make_queue();
    queue_push(queue, make_job("a", "a1"));
    queue_push_again(queue, make_job("z", "again"));
    expect_pop(queue, "again");
    expect_pop(queue, "a1");
    queue_free(queue);
}
END_TEST

START_TEST(removing_leaves_the_others) {
    Queue *queue = make_queue();
    Job *only = make_job("a", "a1");
    Job *again = make_job("a", "again");
    queue_push(queue, only);
    queue_push(queue, make_job("b", "b1"));
    queue_push_again(queue, again);
    queue_remove(queue, only);
    queue_remove(queue, again);
    ck_assert_uint_eq(queue_count(queue), 1);
    expect_pop(queue, "b1");
    ck_assert_ptr_null(queue_pop(queue));
    job_free(only);
    job_free(again);
    queue_free(queue);
}
END_TEST

SUITE_MAIN("queue", one_peer_is_served_in_order, a_flood_of_one_peer_does_not_hold_up_another,
           a_peer_cannot_jump_its_turn_by_coming_back, a_job_that_runs_again_comes_first,
           removing_leaves_the_others)
