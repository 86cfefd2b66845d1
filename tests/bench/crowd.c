#include "crowd.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "caller.h"

typedef struct CrowdClient {
    Crowd *crowd;
    Caller *caller;
    pthread_t thread;
    Tb__Submit submit; /* shares its parts with the others' */
    int r;
    Trouble trouble;
} CrowdClient;

struct Crowd {
    Arena arena;
    WorkloadKind kind;
    CrowdClient clients[CROWD_MAX];
    unsigned n_clients;

    pthread_mutex_t lock; /* of all below */
    unsigned n_left;      /* jobs that nobody has taken yet */
    unsigned n_each;      /* no client takes more */
    unsigned n_skipped;   /* so many of those that are done first do not count */
    unsigned n_done;
    uint64_t counted_from_ns; /* the last of those was done */
    uint64_t done_ns;
    bool has_failed;
    Sample *latency_ms;
};

int crowd_new(const char *socket, unsigned n_clients, WorkloadKind kind, const char *profile,
              Trouble *trouble, Crowd **ret_crowd) {
    CLEANUP(crowd_freep) Crowd *crowd = calloc(1, sizeof *crowd);
    Tb__Submit submit;
    if (!crowd) return trouble_set(trouble, "%s", strerror(ENOMEM));
    pthread_mutex_init(&crowd->lock, NULL);
    crowd->kind = kind;
    if (workload_submission(kind, profile, &crowd->arena, &submit) < 0)
        return trouble_set(trouble, "%s", strerror(ENOMEM));
    for (unsigned i = 0; i < n_clients && i < CROWD_MAX; i++) {
        CrowdClient *client = &crowd->clients[crowd->n_clients++];
        client->crowd = crowd;
        client->submit = submit;
        const int r = caller_open(socket, trouble, &client->caller);
        if (r != 0) return r;
    }
    *ret_crowd = TAKE(crowd);
    return 0;
}

Crowd *crowd_free(Crowd *crowd) {
    if (!crowd) return NULL;
    for (unsigned i = 0; i < crowd->n_clients; i++) caller_close(crowd->clients[i].caller);
    arena_deinit(&crowd->arena);
    pthread_mutex_destroy(&crowd->lock);
    free(crowd);
    return NULL;
}

/* True when there is another job to run. */
static bool take_job(Crowd *crowd) {
    pthread_mutex_lock(&crowd->lock);
    const bool is_there = crowd->n_left > 0 && !crowd->has_failed;
    if (is_there) crowd->n_left--;
    pthread_mutex_unlock(&crowd->lock);
    return is_there;
}

static void note_result(Crowd *crowd, int r, uint64_t latency_ns) {
    pthread_mutex_lock(&crowd->lock);
    crowd->done_ns = clock_mono_ns();
    crowd->has_failed |= r != 0;
    crowd->n_done++;
    if (crowd->n_done == crowd->n_skipped) crowd->counted_from_ns = crowd->done_ns;
    if (r == 0 && crowd->n_done > crowd->n_skipped)
        sample_add(crowd->latency_ms, (double)latency_ns / NS_PER_MS);
    pthread_mutex_unlock(&crowd->lock);
}

static void *run_client(void *data) {
    CrowdClient *client = data;
    client->r = 0;
    for (unsigned i = 0; i < client->crowd->n_each && client->r == 0; i++) {
        if (!take_job(client->crowd)) break;
        uint64_t latency_ns = 0;
        client->r = caller_run(client->caller, &client->submit,
                               workload_expected(client->crowd->kind), &client->trouble,
                               &latency_ns);
        note_result(client->crowd, client->r, latency_ns);
    }
    return NULL;
}

static int run(Crowd *crowd, Trouble *trouble) {
    unsigned n_started = 0;
    int error = 0, r = 0;
    for (; error == 0 && n_started < crowd->n_clients; n_started += error == 0)
        error = pthread_create(&crowd->clients[n_started].thread, NULL, run_client,
                               &crowd->clients[n_started]);
    for (unsigned i = 0; i < n_started; i++) {
        pthread_join(crowd->clients[i].thread, NULL);
        if (crowd->clients[i].r == 0) continue;
        *trouble = crowd->clients[i].trouble;
        r = TROUBLE_E_TOLD;
    }
    return error == 0 ? r : trouble_set(trouble, "cannot start a thread: %s", strerror(error));
}

static void plan(Crowd *crowd, unsigned n_skipped, unsigned n_jobs, unsigned n_each,
                 Sample *latency_ms) {
    crowd->n_skipped = n_skipped;
    crowd->n_left = n_skipped + n_jobs;
    crowd->n_each = n_each;
    crowd->n_done = 0;
    crowd->has_failed = false;
    crowd->latency_ms = latency_ms;
    crowd->counted_from_ns = clock_mono_ns();
}

int crowd_run_once(Crowd *crowd, Sample *latency_ms, Trouble *trouble) {
    plan(crowd, 0, crowd->n_clients, 1, latency_ms);
    return run(crowd, trouble);
}

int crowd_run_many(Crowd *crowd, unsigned n_skipped, unsigned n_jobs, Sample *latency_ms,
                   Trouble *trouble, double *ret_jobs_per_s) {
    plan(crowd, n_skipped, n_jobs, n_skipped + n_jobs, latency_ms);
    const int r = run(crowd, trouble);
    if (r != 0) return r;
    *ret_jobs_per_s = n_jobs / ((double)(crowd->done_ns - crowd->counted_from_ns) / NS_PER_S);
    return 0;
}
