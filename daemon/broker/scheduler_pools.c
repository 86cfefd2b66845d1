/* Scheduler, the pools' side: which pools there are, and when they come and go. Judges no job. */
#include "broker/scheduler_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/error.h"
#include "broker/queue.h"

static bool pool_is_spent(const Pool *pool) {
    return list_empty(&pool->environments) && !pool->doctor &&
           queue_count(pool->jobs) + queue_count(pool->probes) == 0;
}

/* From the loop: what was accepted is started after it was answered, and a retired pool is freed
 * when no callback of it is on the stack. */
static void on_pump(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    Scheduler *scheduler = data;
    list_each(link, &scheduler->pools) {
        Pool *pool = list_entry(link, Pool, link);
        if (health_refuses(&pool->health))
            scheduler_pool_changed(pool, POOL_HEALTH, scheduler);
        else
            scheduler_pump(scheduler, pool);
    }
    list_each(link, &scheduler->retired) {
        Pool *pool = list_entry(link, Pool, link);
        if (pool_is_spent(pool)) pool_free(pool);
    }
    const Config *config = scheduler->config;
    registry_trim(scheduler->registry, config->keep_finished_jobs, config->keep_finished_bytes,
                  config->keep_finished_ms, clock_wall_ms());
}

static void on_left(Pool *pool, const char *directory, void *data) {
    (void)pool;
    const Scheduler *scheduler = data;
    scheduler->owner.left(directory, scheduler->owner.data);
}

static int add_pool(Scheduler *scheduler, const Profile *profile) {
    const PoolOwner owner = {
        .changed = scheduler_pool_changed,
        .reported = scheduler_reported,
        .left = on_left,
        .data = scheduler,
        .cgroups = scheduler->owner.cgroups,
        .no_cgroups = scheduler->owner.no_cgroups,
    };
    Pool *pool;
    const int r = pool_new(scheduler->base, scheduler->config, profile, owner,
                           &scheduler->next_environment, &pool);
    if (r < 0) return error_fold(r);
    list_append(&scheduler->pools, &pool->link);
    pool_fill(pool);
    return 0;
}

static void retire(Scheduler *scheduler, Pool *pool) {
    log_info("profile %s was removed", pool->profile->name);
    list_remove(&pool->link);
    list_append(&scheduler->retired, &pool->link);
    pool_stop(pool);
    scheduler_turn_away(scheduler, pool->jobs, CODE_PROFILE_REMOVED,
                        "its profile is no longer configured");
    scheduler_turn_away(scheduler, pool->probes, CODE_PROFILE_REMOVED,
                        "its profile is no longer configured");
}

int scheduler_init(Scheduler *scheduler, struct event_base *base, Config *config,
                   const MarkerKey *key, SchedulerOwner owner) {
    *scheduler = (Scheduler){.base = base, .owner = owner, .marker_key = *key};
    list_init(&scheduler->pools);
    list_init(&scheduler->retired);
    list_init(&scheduler->accounts);
    scheduler->pump = event_new(base, -1, 0, on_pump, scheduler);
    int r = scheduler->pump ? 0 : error_origin(-ENOMEM);
    if (r == 0) r = registry_new(&scheduler->registry);
    if (r == 0) r = scheduler_configure(scheduler, config);
    return r < 0 ? error_fold(r) : 0;
}

void scheduler_deinit(Scheduler *scheduler) {
    registry_free(scheduler->registry);
    list_each(link, &scheduler->pools) pool_free(list_entry(link, Pool, link));
    list_each(link, &scheduler->retired) pool_free(list_entry(link, Pool, link));
    if (scheduler->pump) event_free(scheduler->pump);
    config_unref(scheduler->config);
}

int scheduler_configure(Scheduler *scheduler, Config *config) {
    Config *old = scheduler->config;
    scheduler->config = config_ref(config);
    config_unref(old);
    list_each(link, &scheduler->pools) {
        Pool *pool = list_entry(link, Pool, link);
        if (!config_profile(config, pool->profile->name)) retire(scheduler, pool);
    }
    for (size_t i = 0; i < config->n_profiles; i++) {
        const Profile *profile = &config->profiles[i];
        Pool *pool = scheduler_pool(scheduler, profile->name);
        const int r = pool ? pool_configure(pool, config, profile) : add_pool(scheduler, profile);
        if (r < 0) return error_fold(r);
    }
    event_active(scheduler->pump, EV_TIMEOUT, 0);
    return 0;
}

Pool *scheduler_pool(const Scheduler *scheduler, const char *profile) {
    list_each(link, &scheduler->pools) {
        Pool *pool = list_entry(link, Pool, link);
        if (strcmp(pool->profile->name, profile) == 0) return pool;
    }
    return NULL;
}

void scheduler_drain(Scheduler *scheduler, bool draining) {
    if (scheduler->draining == draining) return;
    scheduler->draining = draining;
    log_info(draining ? "draining: nothing more is accepted" : "accepting jobs again");
    if (draining && scheduler_is_idle(scheduler)) scheduler->owner.idle(scheduler->owner.data);
}

bool scheduler_is_idle(const Scheduler *scheduler) {
    return scheduler->n_queued + scheduler->n_running == 0;
}

typedef void (*PoolVisit)(Pool *pool, void *data);

static void each_pool(const Scheduler *scheduler, PoolVisit visit, void *data) {
    list_each(link, &scheduler->pools) visit(list_entry(link, Pool, link), data);
    list_each(link, &scheduler->retired) visit(list_entry(link, Pool, link), data);
}

/* Probes end here; clients' jobs had their verdicts before. */
static void abort_pool(Pool *pool, void *data) {
    Scheduler *scheduler = data;
    pool_stop(pool);
    scheduler_turn_away(scheduler, pool->jobs, CODE_SHUTTING_DOWN, "the daemon is stopping");
    scheduler_turn_away(scheduler, pool->probes, CODE_SHUTTING_DOWN, "the daemon is stopping");
    list_each(link, &pool->environments) {
        Environment *env = list_entry(link, Environment, pool_link);
        if (env->job)
            scheduler_end(scheduler, env->job, CODE_SHUTTING_DOWN, "the daemon is stopping");
        environment_close(env);
    }
}

void scheduler_abort(Scheduler *scheduler) {
    each_pool(scheduler, abort_pool, scheduler);
}

static void count_environments(Pool *pool, void *data) {
    const PoolCounts counts = pool_count(pool);
    *(size_t *)data += counts.starting + counts.ready + counts.busy + counts.closing;
}

size_t scheduler_n_environments(const Scheduler *scheduler) {
    size_t n = 0;
    each_pool(scheduler, count_environments, &n);
    return n;
}

typedef struct PidList {
    pid_t *pids;
    size_t n_pids;
} PidList;

static void list_wardens(Pool *pool, void *data) {
    PidList *list = data;
    list_each(link, &pool->environments) {
        const Environment *env = list_entry(link, Environment, pool_link);
        if (env->pid > 0) list->pids[list->n_pids++] = env->pid;
    }
}

int scheduler_wardens(const Scheduler *scheduler, pid_t **ret_pids, size_t *ret_n_pids) {
    PidList list = {.pids = calloc(scheduler_n_environments(scheduler) + 1, sizeof *list.pids)};
    if (!list.pids) return error_origin(-ENOMEM);
    each_pool(scheduler, list_wardens, &list);
    *ret_pids = list.pids;
    *ret_n_pids = list.n_pids;
    return 0;
}

typedef struct Search {
    pid_t pid;
    Environment *found;
} Search;

static void search_pool(Pool *pool, void *data) {
    Search *search = data;
    if (!search->found) search->found = pool_find(pool, search->pid);
}

bool scheduler_exited(Scheduler *scheduler, const ProcessExit *exit) {
    Search search = {.pid = exit->pid};
    each_pool(scheduler, search_pool, &search);
    if (search.found) environment_exited(search.found, exit);
    event_active(scheduler->pump, EV_TIMEOUT, 0);
    return search.found != NULL;
}
