#include "broker/queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "broker/job.h"

typedef struct Lane {
    List link;
    List jobs;
    char peer[PEER_ID_BYTES];
} Lane;

struct Queue {
    List lanes; /* the one whose turn it is first; none is empty */
    List again;
    size_t n_jobs;
};

int queue_new(Queue **ret_queue) {
    Queue *queue = calloc(1, sizeof *queue);
    if (!queue) return error_origin(-ENOMEM);
    list_init(&queue->lanes);
    list_init(&queue->again);
    *ret_queue = queue;
    return 0;
}

static void drop_lane(Lane *lane) {
    list_remove(&lane->link);
    free(lane);
}

Queue *queue_free(Queue *queue) {
    if (!queue) return NULL;
    list_each(link, &queue->lanes) drop_lane(list_entry(link, Lane, link));
    free(queue);
    return NULL;
}

static Lane *find_lane(Queue *queue, const char *peer) {
    list_each(link, &queue->lanes) {
        Lane *lane = list_entry(link, Lane, link);
        if (strcmp(lane->peer, peer) == 0) return lane;
    }
    return NULL;
}

int queue_push(Queue *queue, Job *job) {
    Lane *lane = find_lane(queue, job->peer);
    if (!lane) {
        lane = calloc(1, sizeof *lane);
        if (!lane) return error_origin(-ENOMEM);
        list_init(&lane->jobs);
        snprintf(lane->peer, sizeof lane->peer, "%s", job->peer);
        list_append(&queue->lanes, &lane->link);
    }
    list_append(&lane->jobs, &job->queue_link);
    queue->n_jobs++;
    return 0;
}

void queue_push_again(Queue *queue, Job *job) {
    list_append(&queue->again, &job->queue_link);
    queue->n_jobs++;
}

static Job *take(Queue *queue, List *jobs) {
    Job *job = list_entry(list_first(jobs), Job, queue_link);
    list_remove(&job->queue_link);
    queue->n_jobs--;
    return job;
}

Job *queue_pop(Queue *queue) {
    if (!list_empty(&queue->again)) return take(queue, &queue->again);
    if (list_empty(&queue->lanes)) return NULL;
    Lane *lane = list_entry(list_first(&queue->lanes), Lane, link);
    Job *job = take(queue, &lane->jobs);
    if (list_empty(&lane->jobs)) {
        drop_lane(lane);
    } else {
        list_remove(&lane->link);
        list_append(&queue->lanes, &lane->link);
    }
    return job;
}

void queue_remove(Queue *queue, Job *job) {
    list_remove(&job->queue_link);
    queue->n_jobs--;
    Lane *lane = find_lane(queue, job->peer);
    if (lane && list_empty(&lane->jobs)) drop_lane(lane);
}

size_t queue_count(const Queue *queue) {
    return queue->n_jobs;
}
