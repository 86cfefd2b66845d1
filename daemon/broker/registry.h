/* Registry: every job that a client may still ask for, by id and by idempotency key. Owns its jobs;
 * forgets finished ones by age, count and size, first those of the peer that holds most. Never
 * starts or ends a job. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Job Job;
typedef struct Registry Registry;

int registry_new(Registry **ret_registry);   /* 0 or -ENOMEM */
Registry *registry_free(Registry *registry); /* frees the jobs too; takes NULL, returns NULL */

/* Takes over the job. 0, -EEXIST for an id or key that is known, or -ENOMEM: then it is still the
 * caller's. */
int registry_add(Registry *registry, Job *job);
/* NULL when unknown. */
Job *registry_find(const Registry *registry, const char *job_id);
/* The job that this peer submitted under this key, or NULL. */
Job *registry_find_key(const Registry *registry, const char *peer, const char *key);
/* A job of it has got its verdict: from now on it may be forgotten. */
void registry_finished(Registry *registry, Job *job);
/* Forgets what is older than keep_ms (wall time now_ms), and, while there are more than keep_jobs
 * or they hold more than keep_bytes, the oldest one of the peer that has most of them, or holds
 * most bytes; a job that somebody follows stays. */
void registry_trim(Registry *registry, size_t keep_jobs, size_t keep_bytes, uint64_t keep_ms,
                   uint64_t now_ms);

/* Calls `visit` with each job, newest first, until it returns false. */
void registry_each(const Registry *registry, bool (*visit)(Job *job, void *data), void *data);
/* The same with the jobs of one peer. */
void registry_each_of(const Registry *registry, const char *peer,
                      bool (*visit)(Job *job, void *data), void *data);
