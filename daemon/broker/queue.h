/* Queue: the jobs of one profile that wait for an environment, fair between peers: one job of each
 * peer in turn, in the order of submission within a peer. Borrows jobs; knows no bound (see
 * scheduler.h) and starts nothing. */
#pragma once

#include <stddef.h>

typedef struct Job Job;
typedef struct Queue Queue;

int queue_new(Queue **ret_queue); /* 0 or -ENOMEM */
Queue *queue_free(Queue *queue);  /* of an empty queue; takes NULL, returns NULL */

/* At the end of its peer's lane. 0 or -ENOMEM. */
int queue_push(Queue *queue, Job *job);
/* Before every lane: a job that had its turn already and must run again. */
void queue_push_again(Queue *queue, Job *job);
/* The next job, taken out, or NULL. */
Job *queue_pop(Queue *queue);
/* Takes out a job that is in this queue. */
void queue_remove(Queue *queue, Job *job);
size_t queue_count(const Queue *queue);
