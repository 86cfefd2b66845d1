#include "broker/pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "broker/queue.h"
#include "broker/timer.h"

static void on_retry(evutil_socket_t fd, short what, void *data);
static void on_refill(evutil_socket_t fd, short what, void *data);

static HealthPolicy health_policy(const Config *config) {
    return (HealthPolicy){
        .failures = config->circuit_failures,
        .backoff_min_ms = config->circuit_backoff_min_ms,
        .backoff_max_ms = config->circuit_backoff_max_ms,
    };
}

/* What was found out may not be true any more. */
static int forget_survey(Pool *pool) {
    CLEANUP(text_list_deinit) TextList layers = {0};
    static const Survey nothing;
    CLEANUP(freep) char *unused = NULL;
    pool->is_surveyed = !survey_is_needed(pool->profile);
    const int r = pool->is_surveyed ? survey_choose(&nothing, pool->profile, &layers, &unused) : 0;
    if (r < 0) return error_fold(r);
    text_list_deinit(&pool->layers);
    pool->layers = layers;
    layers = (TextList){0};
    /* Otherwise the next one replaces it, and until then what is missing is told. */
    if (!pool->is_surveyed) return 0;
    survey_deinit(&pool->survey);
    pool->survey = (Survey){0};
    return 0;
}

int pool_new(struct event_base *base, Config *config, const Profile *profile, PoolOwner owner,
             uint64_t *next_number, Pool **ret_pool) {
    Pool *pool = calloc(1, sizeof *pool);
    if (!pool) return error_origin(-ENOMEM);
    pool->base = base;
    pool->owner = owner;
    pool->config = config_ref(config);
    pool->profile = profile;
    pool->refusal = CODE_PROFILE_UNHEALTHY;
    pool->next_number = next_number;
    list_init(&pool->environments);
    list_init(&pool->link);
    health_init(&pool->health, health_policy(config));
    pool->retry = evtimer_new(base, on_retry, pool);
    pool->refill = evtimer_new(base, on_refill, pool);
    int r = pool->retry && pool->refill ? 0 : -ENOMEM;
    if (r == 0) r = queue_new(&pool->probes);
    if (r == 0) r = queue_new(&pool->jobs);
    if (r == 0) r = forget_survey(pool);
    if (r < 0) {
        pool_free(pool);
        return error_fold(r);
    }
    *ret_pool = pool;
    return 0;
}

Pool *pool_free(Pool *pool) {
    if (!pool) return NULL;
    list_each(link, &pool->environments) environment_free(list_entry(link, Environment, pool_link));
    if (pool->retry) event_free(pool->retry);
    if (pool->refill) event_free(pool->refill);
    queue_free(pool->probes);
    queue_free(pool->jobs);
    text_list_deinit(&pool->enforced);
    text_list_deinit(&pool->layers);
    survey_deinit(&pool->survey);
    list_remove(&pool->link);
    free(pool->version);
    free(pool->diagnosis);
    config_unref(pool->config);
    free(pool);
    return NULL;
}

PoolCounts pool_count(const Pool *pool) {
    PoolCounts counts = {0};
    list_each(link, &pool->environments) {
        switch (list_entry(link, Environment, pool_link)->state) {
        case ENVIRONMENT_STARTING:
        case ENVIRONMENT_OBSERVED:
            counts.starting++;
            break;
        case ENVIRONMENT_READY:
            counts.ready++;
            break;
        case ENVIRONMENT_BUSY:
            counts.busy++;
            break;
        default:
            counts.closing++;
            break;
        }
    }
    return counts;
}

size_t pool_n_waiting(const Pool *pool) {
    return queue_count(pool->jobs);
}

Environment *pool_ready(Pool *pool) {
    list_each(link, &pool->environments) {
        Environment *env = list_entry(link, Environment, pool_link);
        if (environment_is_ready(env)) return env;
    }
    return NULL;
}

Environment *pool_find(const Pool *pool, pid_t pid) {
    list_each(link, &pool->environments) {
        Environment *env = list_entry(link, Environment, pool_link);
        if (env->pid == pid) return env;
    }
    return NULL;
}

static void close_idle(Pool *pool) {
    list_each(link, &pool->environments) {
        Environment *env = list_entry(link, Environment, pool_link);
        if (env->state != ENVIRONMENT_BUSY) environment_close(env);
    }
}

void pool_note(Pool *pool, HealthEvent event, const char *diagnosis) {
    if (diagnosis) {
        free(pool->diagnosis);
        pool->diagnosis = strdup(diagnosis);
    }
    if (event == HEALTH_EVENT_TEST_FAILED) pool->refusal = CODE_PROFILE_UNHEALTHY;
    const uint64_t now_ms = clock_mono_ms();
    if (!health_note(&pool->health, event, now_ms)) return;
    if (health_serves(&pool->health)) {
        free(pool->diagnosis);
        pool->diagnosis = NULL;
    }
    const HealthState state = pool->health.state;
    if (state == HEALTH_UNHEALTHY) {
        log_error(0, "profile %s is unhealthy: %s; next attempt in %llu ms", pool->profile->name,
                  pool->diagnosis ? pool->diagnosis : "unknown",
                  (unsigned long long)(pool->health.retry_at_ms - now_ms));
        close_idle(pool);
        timer_arm(pool->retry, pool->health.retry_at_ms - now_ms);
    } else {
        log_info("profile %s is %s", pool->profile->name, health_state_name(state));
    }
    pool->owner.changed(pool, POOL_HEALTH, pool->owner.data);
}

static void on_retry(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    Pool *pool = data;
    if (pool->stopping) return;
    pool_note(pool, HEALTH_EVENT_RETRY_DUE, NULL);
    if (forget_survey(pool) < 0) log_error(-ENOMEM, "profile %s", pool->profile->name);
    pool_fill(pool);
}

/* Two interpreters with the same hash sample share a seed: neither is really random. */
static bool sample_is_new(const Pool *pool, uint64_t sample) {
    for (size_t i = 0; i < pool->n_samples; i++)
        if (pool->samples[i] == sample) return false;
    return true;
}

static void remember_sample(Pool *pool, uint64_t sample) {
    pool->samples[pool->next_sample] = sample;
    pool->next_sample = (pool->next_sample + 1) % POOL_SAMPLES;
    if (pool->n_samples < POOL_SAMPLES) pool->n_samples++;
}

static void note_fill_failure(Pool *pool, const Environment *env, Code code, const char *detail,
                              const char *excerpt) {
    pool->fill_failures_total++;
    pool->refusal = code == CODE_LAYER_MISSING ? code : CODE_PROFILE_UNHEALTHY;
    log_write(LOG_LEVEL_WARNING, (LogContext){NULL, env ? env->id : NULL}, 0,
              "profile %s: environment is not valid: %s%s%s", pool->profile->name, detail,
              excerpt && excerpt[0] ? "; its stderr: " : "", excerpt ? excerpt : "");
    pool_note(pool, HEALTH_EVENT_FILL_FAILED, detail);
}

static int note_valid(Pool *pool, const Environment *env) {
    TextList enforced;
    char *version = strdup(env->version ? env->version : "");
    if (!version) return error_origin(-ENOMEM);
    const int r = text_list_copy(&env->enforced, &enforced);
    if (r < 0) {
        free(version);
        return error_fold(r);
    }
    free(pool->version);
    text_list_deinit(&pool->enforced);
    pool->version = version;
    pool->enforced = enforced;
    return 0;
}

static void on_observed(Pool *pool, Environment *env) {
    const char *wrong = NULL;
    if (!env->hash_randomized)
        wrong = "hash randomisation is off";
    else if (!sample_is_new(pool, env->hash_sample))
        wrong = "its hash seed is that of another interpreter: hashing is not really random";
    else if (note_valid(pool, env) < 0)
        wrong = "out of memory";
    if (wrong) {
        environment_close(env);
        note_fill_failure(pool, env, CODE_ENVIRONMENT_INVALID, wrong, NULL);
        pool_fill(pool);
        return;
    }
    remember_sample(pool, env->hash_sample);
    environment_accept(env);
    pool->owner.changed(pool, POOL_READY, pool->owner.data);
}

/* From now on environments can be made. */
static void on_surveyed(Pool *pool, const EnvironmentReport *report) {
    CLEANUP(freep) char *reason = NULL;
    TextList layers;
    survey_deinit(&pool->survey);
    pool->survey = *report->survey;
    *report->survey = (Survey){0};
    int r = pool->owner.cgroups
                ? 0
                : survey_add_missing(&pool->survey, "cgroup", pool->owner.no_cgroups);
    if (r == 0) r = survey_keep_wanted(&pool->survey, pool->profile);
    if (r == 0) r = survey_choose(&pool->survey, pool->profile, &layers, &reason);
    if (r != 0) {
        note_fill_failure(pool, NULL, r < 0 ? CODE_OUT_OF_MEMORY : CODE_LAYER_MISSING,
                          r < 0 ? "out of memory" : reason, NULL);
        return;
    }
    text_list_deinit(&pool->layers);
    pool->layers = layers;
    pool->is_surveyed = true;
    for (size_t i = 0; i < pool->survey.missing.n_items; i++)
        log_info("profile %s: no %s: %s", pool->profile->name, pool->survey.missing.items[i],
                 pool->survey.reasons.items[i]);
}

/* What a job may have brought about says nothing about the profile. */
static void on_fault(Pool *pool, Environment *env, const EnvironmentReport *report) {
    const bool had_job = env->job != NULL;
    const bool is_the_jobs = had_job && (report->code == CODE_WARDEN_LOST ||
                                         report->code == CODE_CHANNEL_BROKEN ||
                                         report->code == CODE_OUT_OF_MEMORY);
    if (had_job) pool->owner.reported(pool, env, report, pool->owner.data);
    if (!is_the_jobs)
        note_fill_failure(pool, env, report->code, report->detail, report->stderr_excerpt);
}

/* Reports about a job go on to the owner; the rest is the pool's own business. The environment that
 * reported a fault or a result is closing by now. */
static void on_report(Environment *env, const EnvironmentReport *report, void *data) {
    Pool *pool = data;
    switch (report->kind) {
    case REPORT_OBSERVED:
        on_observed(pool, env);
        return;
    case REPORT_SURVEYED:
        on_surveyed(pool, report);
        break;
    case REPORT_RECEIVED:
    case REPORT_RESULT:
        pool->owner.reported(pool, env, report, pool->owner.data);
        break;
    case REPORT_FAULT:
        on_fault(pool, env, report);
        break;
    case REPORT_GONE:
        if (report->left) pool->owner.left(pool, report->left, pool->owner.data);
        environment_free(env);
        break;
    }
    pool_fill(pool);
}

static unsigned wanted(const Pool *pool) {
    const size_t waiting = queue_count(pool->probes) + queue_count(pool->jobs);
    const unsigned floor = pool->profile->min_ready;
    if (health_refuses(&pool->health) && waiting == 0) return 1;
    if (waiting <= floor) return floor;
    return waiting < pool->profile->max_environments ? (unsigned)waiting
                                                     : pool->profile->max_environments;
}

static bool needs_more(const Pool *pool) {
    if (pool->stopping || pool->health.state == HEALTH_UNHEALTHY) return false;
    const PoolCounts counts = pool_count(pool);
    const unsigned alive = counts.starting + counts.ready + counts.busy;
    if (alive >= pool->profile->max_environments) return false;
    if (counts.closing > pool->profile->max_environments) return false;
    if (!pool->is_surveyed) return counts.starting == 0;
    return counts.starting + counts.ready < wanted(pool);
}

/* Before the survey environments are made without what it is to find out. */
static int make_environment(Pool *pool, Environment **ret_environment) {
    static const RootPlan nothing;
    static const TextList no_layers;
    const EnvironmentPlan plan = {
        .layers = pool->is_surveyed ? &pool->layers : &no_layers,
        .root = pool->is_surveyed ? &pool->survey.plan : &nothing,
        .survey = !pool->is_surveyed,
        .cgroups = pool->owner.cgroups,
    };
    const int r = environment_new(pool->base, pool->config, pool->profile, &plan,
                                  ++*pool->next_number, on_report, pool, ret_environment);
    return r < 0 ? error_fold(r) : 0;
}

static void fill_one(Pool *pool) {
    Environment *env;
    const int r = make_environment(pool, &env);
    if (r == 0) {
        list_append(&pool->environments, &env->pool_link);
        return;
    }
    char detail[256];
    snprintf(detail, sizeof detail, "cannot start %s: %s", pool->config->warden_path, strerror(-r));
    note_fill_failure(pool, NULL, CODE_ENVIRONMENT_INVALID, detail, NULL);
}

/* Runs from the loop, never inside a report: a failing start must not start the next one on its own
 * stack. */
static void on_refill(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    Pool *pool = data;
    const uint64_t failures = pool->fill_failures_total;
    while (needs_more(pool) && pool->fill_failures_total == failures) fill_one(pool);
    if (needs_more(pool)) timer_arm(pool->refill, 0);
}

void pool_fill(Pool *pool) {
    if (needs_more(pool)) timer_arm(pool->refill, 0);
}

int pool_configure(Pool *pool, Config *config, const Profile *profile) {
    const bool same = profile_equal(pool->profile, profile) &&
                      strcmp(pool->config->warden_path, config->warden_path) == 0;
    Config *old = pool->config;
    pool->config = config_ref(config);
    pool->profile = profile;
    config_unref(old);
    if (same) {
        pool->health.policy = health_policy(config);
        return 0;
    }
    log_info("profile %s changed: its environments are made anew", profile->name);
    const int r = forget_survey(pool);
    if (r < 0) return error_fold(r);
    event_del(pool->retry);
    pool->epoch++;
    health_init(&pool->health, health_policy(config));
    close_idle(pool);
    pool->owner.changed(pool, POOL_HEALTH, pool->owner.data);
    pool_fill(pool);
    return 0;
}

void pool_stop(Pool *pool) {
    pool->stopping = true;
    event_del(pool->retry);
    event_del(pool->refill);
    close_idle(pool);
}
