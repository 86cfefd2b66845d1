#include "broker/registry.h"

#include <assert.h>
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "broker/job.h"

typedef struct Held {
    size_t n_jobs;
    size_t n_bytes;
} Held;

/* One peer's part. Exists while it has a job here. */
typedef struct Holder {
    List link;
    char peer[PEER_ID_BYTES];
    List jobs;     /* every one, newest first, by peer_link */
    List finished; /* those that may be forgotten, oldest first, by queue_link */
    Held held;     /* by these */
} Holder;

/* tsearch keeps a balanced tree (POSIX; red-black in glibc). */
struct Registry {
    void *by_id;
    void *by_key;
    List jobs;    /* every one, newest first, by age_link */
    List holders; /* peers that have jobs here */
    Held finished;
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
    list_init(&registry->holders);
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
    list_each(link, &registry->holders) free(list_entry(link, Holder, link));
    free(registry);
    return NULL;
}

/* ---- peers ---- */

static Holder *holder_find(const Registry *registry, const char *peer) {
    list_each(link, &registry->holders) {
        Holder *holder = list_entry(link, Holder, link);
        if (strcmp(holder->peer, peer) == 0) return holder;
    }
    return NULL;
}

static int holder_open(Registry *registry, const char *peer, Holder **ret_holder) {
    Holder *holder = holder_find(registry, peer);
    if (!holder) {
        holder = calloc(1, sizeof *holder);
        if (!holder) return error_origin(-ENOMEM);
        snprintf(holder->peer, sizeof holder->peer, "%s", peer);
        list_init(&holder->jobs);
        list_init(&holder->finished);
        list_append(&registry->holders, &holder->link);
    }
    *ret_holder = holder;
    return 0;
}

static void holder_close(Holder *holder) {
    if (!list_empty(&holder->jobs)) return;
    list_remove(&holder->link);
    free(holder);
}

/* ---- jobs ---- */

static int add_to(void **tree, Job *job, int (*compare)(const void *, const void *)) {
    Job **found = tsearch(job, tree, compare);
    if (!found) return error_origin(-ENOMEM);
    return *found == job ? 0 : error_origin(-EEXIST);
}

static int add_to_trees(Registry *registry, Job *job) {
    int r = add_to(&registry->by_id, job, compare_ids);
    if (r < 0) return error_fold(r);
    r = add_to(&registry->by_key, job, compare_keys);
    if (r < 0) tdelete(job, &registry->by_id, compare_ids);
    return r < 0 ? error_fold(r) : 0;
}

int registry_add(Registry *registry, Job *job) {
    Holder *holder = NULL;
    int r = holder_open(registry, job->peer, &holder);
    if (r < 0) return error_fold(r);
    r = add_to_trees(registry, job);
    if (r < 0) {
        holder_close(holder);
        return error_fold(r);
    }
    list_prepend(&registry->jobs, &job->age_link);
    list_prepend(&holder->jobs, &job->peer_link);
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

/* ---- what a finished job holds ---- */

static size_t text_bytes(const char *text) {
    return text ? strlen(text) + 1 : 0;
}

static size_t failures_bytes(const FailureList *list) {
    size_t bytes = list->n_items * sizeof *list->items;
    for (size_t i = 0; i < list->n_items; i++) {
        const Failure *failure = &list->items[i];
        bytes += text_bytes(failure->subject) + text_bytes(failure->message) +
                 text_bytes(failure->sink) + text_bytes(failure->transform);
    }
    return bytes;
}

static size_t facts_bytes(const Facts *facts) {
    size_t bytes = sizeof *facts + failures_bytes(&facts->rejects) +
                   failures_bytes(&facts->findings) + text_bytes(facts->limit_detail) +
                   text_bytes(facts->excerpt) + text_bytes(facts->fault_detail) +
                   text_bytes(facts->environment_id) + facts->out.head_bytes +
                   facts->out.tail_bytes + facts->err.head_bytes + facts->err.tail_bytes;
    for (size_t i = 0; i < facts->n_produced; i++)
        bytes += sizeof *facts->produced + facts->produced[i].name_bytes +
                 text_bytes(facts->produced[i].note);
    return bytes;
}

static size_t verdict_bytes(const Verdict *verdict) {
    size_t bytes = sizeof *verdict + failures_bytes(&verdict->failures);
    for (size_t i = 0; i < verdict->n_native_crashes; i++)
        bytes += sizeof *verdict->native_crashes + text_bytes(verdict->native_crashes[i].excerpt) +
                 text_bytes(verdict->native_crashes[i].environment_id);
    return verdict->facts ? bytes + facts_bytes(verdict->facts) : bytes;
}

static size_t spec_bytes(const JobSpec *spec) {
    size_t bytes = text_bytes(spec->idempotency_key) + text_bytes(spec->file_name) +
                   text_bytes(spec->profile);
    for (size_t i = 0; i < spec->n_labels; i++)
        bytes += sizeof *spec->labels + text_bytes(spec->labels[i].key) +
                 text_bytes(spec->labels[i].value);
    return bytes;
}

static size_t record_bytes(const EnvironmentRecord *record) {
    size_t bytes = text_bytes(record->interpreter) + text_bytes(record->version);
    for (size_t i = 0; i < record->enforced.n_items; i++)
        bytes += sizeof *record->enforced.items + text_bytes(record->enforced.items[i]);
    return bytes;
}

static size_t job_bytes(const Job *job) {
    const size_t bytes = sizeof *job + spec_bytes(&job->spec) + record_bytes(&job->record);
    return job->verdict ? bytes + verdict_bytes(job->verdict) : bytes;
}

/* ---- forgetting ---- */

static void held_add(Held *held, const Job *job) {
    held->n_jobs++;
    held->n_bytes += job->kept_bytes;
}

static void held_remove(Held *held, const Job *job) {
    held->n_jobs--;
    held->n_bytes -= job->kept_bytes;
}

void registry_finished(Registry *registry, Job *job) {
    Holder *holder = holder_find(registry, job->peer);
    assert(holder); /* whatever was added has one */
    job->kept_bytes = job_bytes(job);
    list_append(&holder->finished, &job->queue_link);
    held_add(&holder->held, job);
    held_add(&registry->finished, job);
}

static void forget(Registry *registry, Holder *holder, Job *job) {
    held_remove(&holder->held, job);
    held_remove(&registry->finished, job);
    list_remove(&job->queue_link);
    list_remove(&job->age_link);
    list_remove(&job->peer_link);
    tdelete(job, &registry->by_id, compare_ids);
    tdelete(job, &registry->by_key, compare_keys);
    job_free(job);
}

static void forget_old(Registry *registry, Holder *holder, uint64_t keep_ms, uint64_t now_ms) {
    list_each(link, &holder->finished) {
        Job *job = list_entry(link, Job, queue_link);
        if (now_ms <= job->finished_ms || now_ms - job->finished_ms <= keep_ms) return;
        if (list_empty(&job->followers)) forget(registry, holder, job);
    }
}

static Job *oldest_of(const Holder *holder) {
    list_each(link, &holder->finished) {
        Job *job = list_entry(link, Job, queue_link);
        if (list_empty(&job->followers)) return job;
    }
    return NULL;
}

/* Forgets one job; so whoever fills the registry loses its own. False when there is none. */
static bool forget_of_largest(Registry *registry, bool by_count) {
    Holder *largest = NULL;
    size_t most = 0;
    list_each(link, &registry->holders) {
        Holder *holder = list_entry(link, Holder, link);
        const size_t held = by_count ? holder->held.n_jobs : holder->held.n_bytes;
        if (held <= most || !oldest_of(holder)) continue;
        most = held;
        largest = holder;
    }
    if (!largest) return false;
    forget(registry, largest, oldest_of(largest));
    return true;
}

void registry_trim(Registry *registry, size_t keep_jobs, size_t keep_bytes, uint64_t keep_ms,
                   uint64_t now_ms) {
    list_each(link, &registry->holders)
        forget_old(registry, list_entry(link, Holder, link), keep_ms, now_ms);
    while (registry->finished.n_jobs > keep_jobs && forget_of_largest(registry, true)) continue;
    while (registry->finished.n_bytes > keep_bytes && forget_of_largest(registry, false)) continue;
    list_each(link, &registry->holders) holder_close(list_entry(link, Holder, link));
}

/* ---- asking ---- */

void registry_each(const Registry *registry, bool (*visit)(Job *job, void *data), void *data) {
    list_each(link, &registry->jobs) if (!visit(list_entry(link, Job, age_link), data)) return;
}

void registry_each_of(const Registry *registry, const char *peer,
                      bool (*visit)(Job *job, void *data), void *data) {
    const Holder *holder = holder_find(registry, peer);
    if (!holder) return;
    list_each(link, &holder->jobs) if (!visit(list_entry(link, Job, peer_link), data)) return;
}
