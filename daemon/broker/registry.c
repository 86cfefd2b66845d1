#include "broker/registry.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "broker/job.h"

/* tsearch keeps a balanced tree (POSIX; red-black in glibc). */
struct Registry {
    void *by_id;
    void *by_key;
    List jobs;     /* every one, newest first, by age_link */
    List finished; /* those that may be forgotten, oldest first, by queue_link */
    size_t n_finished;
    size_t finished_bytes;
};

static int compare_ids(const void *a, const void *b) {
    return strcmp(((const Job *)a)->id, ((const Job *)b)->id);
}

static int compare_keys(const void *a, const void *b) {
    const Job *left = a, *right = b;
    const int peers = strcmp(left->peer, right->peer);
    return peers ? peers : strcmp(left->spec.idempotency_key, right->spec.idempotency_key);
}

int registry_new(Registry **ret_registry) {
    Registry *registry = calloc(1, sizeof *registry);
    if (!registry) return error_origin(-ENOMEM);
    list_init(&registry->jobs);
    list_init(&registry->finished);
    *ret_registry = registry;
    return 0;
}

static void keep_nothing(void *job) {
    (void)job;
}

Registry *registry_free(Registry *registry) {
    if (!registry) return NULL;
    tdestroy(registry->by_id, keep_nothing);
    tdestroy(registry->by_key, keep_nothing);
    list_each(link, &registry->jobs) job_free(list_entry(link, Job, age_link));
    free(registry);
    return NULL;
}

static int add_to(void **tree, Job *job, int (*compare)(const void *, const void *)) {
    Job **found = tsearch(job, tree, compare);
    if (!found) return error_origin(-ENOMEM);
    return *found == job ? 0 : error_origin(-EEXIST);
}

int registry_add(Registry *registry, Job *job) {
    int r = add_to(&registry->by_id, job, compare_ids);
    if (r < 0) return error_fold(r);
    r = add_to(&registry->by_key, job, compare_keys);
    if (r < 0) {
        tdelete(job, &registry->by_id, compare_ids);
        return error_fold(r);
    }
    list_prepend(&registry->jobs, &job->age_link);
    return 0;
}

Job *registry_find(const Registry *registry, const char *job_id) {
    Job probe;
    if (strlen(job_id) >= sizeof probe.id) return NULL;
    memcpy(probe.id, job_id, strlen(job_id) + 1);
    Job **found = tfind(&probe, &registry->by_id, compare_ids);
    return found ? *found : NULL;
}

Job *registry_find_key(const Registry *registry, const char *peer, const char *key) {
    Job probe;
    if (strlen(peer) >= sizeof probe.peer) return NULL;
    memcpy(probe.peer, peer, strlen(peer) + 1);
    probe.spec.idempotency_key = (char *)key;
    Job **found = tfind(&probe, &registry->by_key, compare_keys);
    return found ? *found : NULL;
}

static size_t verdict_bytes(const Job *job) {
    const Facts *facts = job->verdict ? job->verdict->facts : NULL;
    size_t bytes = sizeof *job;
    if (!facts) return bytes;
    bytes += facts->out.head_bytes + facts->out.tail_bytes + facts->err.head_bytes +
             facts->err.tail_bytes;
    for (size_t i = 0; i < facts->n_produced; i++)
        bytes += sizeof *facts->produced + facts->produced[i].name_bytes;
    return bytes;
}

void registry_finished(Registry *registry, Job *job) {
    list_append(&registry->finished, &job->queue_link);
    registry->n_finished++;
    registry->finished_bytes += verdict_bytes(job);
}

static void forget(Registry *registry, Job *job) {
    registry->n_finished--;
    registry->finished_bytes -= verdict_bytes(job);
    list_remove(&job->queue_link);
    list_remove(&job->age_link);
    tdelete(job, &registry->by_id, compare_ids);
    tdelete(job, &registry->by_key, compare_keys);
    job_free(job);
}

void registry_trim(Registry *registry, size_t keep_jobs, size_t keep_bytes, uint64_t keep_ms,
                   uint64_t now_ms) {
    list_each(link, &registry->finished) {
        Job *job = list_entry(link, Job, queue_link);
        const bool too_many = registry->n_finished > keep_jobs ||
                              registry->finished_bytes > keep_bytes;
        const bool too_old = now_ms > job->finished_ms && now_ms - job->finished_ms > keep_ms;
        if (!too_many && !too_old) return;
        if (list_empty(&job->followers)) forget(registry, job);
    }
}

void registry_each(const Registry *registry, bool (*visit)(Job *job, void *data), void *data) {
    list_each(link, &registry->jobs) if (!visit(list_entry(link, Job, age_link), data)) return;
}
