#include "broker/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "broker/timer.h"
#include "platform/child_layer.h"
#include "platform/enclosure.h"
#include "wire.h"

/* What the warden does within its own deadlines gets this much on top before it counts as lost. */
enum {
    START_GRACE_MS = 15000,          /* its own set-up, on a busy machine */
    RUN_GRACE_MS = 90000,            /* start marker, reaping, post-run checks */
    CLOSE_GRACE_MS = 15000,          /* killing the tree; a slow removal it leaves to us */
    EXIT_GRACE_MS = 2000,            /* between the end of the process and that of its channel */
    MAX_FRAME_SLACK_BYTES = 8 << 20, /* produced files, findings, texts */
};

typedef enum Step {
    STEP_OBSERVED,
    STEP_ACCEPTED,
    STEP_DISPATCHED,
    STEP_CLOSED,
    STEP_EXITED,
    STEP_COUNT
} Step;

/* state and step → state; ENVIRONMENT_STATE_COUNT: the step is not allowed there. */
static const EnvironmentState transitions[ENVIRONMENT_STATE_COUNT][STEP_COUNT] = {
#define NO ENVIRONMENT_STATE_COUNT
    [ENVIRONMENT_STARTING] = {ENVIRONMENT_OBSERVED, NO, NO, ENVIRONMENT_CLOSING, ENVIRONMENT_GONE},
    [ENVIRONMENT_OBSERVED] = {NO, ENVIRONMENT_READY, NO, ENVIRONMENT_CLOSING, ENVIRONMENT_GONE},
    [ENVIRONMENT_READY] = {NO, NO, ENVIRONMENT_BUSY, ENVIRONMENT_CLOSING, ENVIRONMENT_GONE},
    [ENVIRONMENT_BUSY] = {NO, NO, NO, ENVIRONMENT_CLOSING, ENVIRONMENT_GONE},
    [ENVIRONMENT_CLOSING] = {NO, NO, NO, NO, ENVIRONMENT_GONE},
    [ENVIRONMENT_GONE] = {NO, NO, NO, NO, NO},
#undef NO
};

static const char *state_name(EnvironmentState state) {
    static const char *const names[] = {"starting", "observed", "ready", "busy", "closing", "gone"};
    return names[state];
}

static LogContext log_context(const Environment *env) {
    return (LogContext){env->job ? env->job->id : NULL, env->id};
}

static bool enter(Environment *env, Step step) {
    const EnvironmentState next = transitions[env->state][step];
    if (next == ENVIRONMENT_STATE_COUNT) return false;
    env->state = next;
    log_write(LOG_LEVEL_DEBUG, log_context(env), 0, "environment %s", state_name(next));
    return true;
}

static void drop_channel(Environment *env) {
    if (env->channel) bufferevent_free(env->channel);
    env->channel = NULL;
}

/* The report comes last: the receiver may close this environment, but not free it. */
static void report_fault(Environment *env, Code code, const char *detail, const char *excerpt,
                         bool dispatched) {
    const EnvironmentReport report = {
        .kind = REPORT_FAULT,
        .code = code,
        .detail = detail ? detail : "no detail",
        .stderr_excerpt = excerpt,
        .dispatched = dispatched,
    };
    environment_close(env);
    env->notify(env, &report, env->notify_data);
}

static void report(Environment *env, ReportKind kind, Facts **facts) {
    const EnvironmentReport message = {.kind = kind, .facts = facts};
    env->notify(env, &message, env->notify_data);
}

static void on_ready(Environment *env, ChannelMessage *message) {
    if (env->is_survey || !enter(env, STEP_OBSERVED)) {
        report_fault(env, CODE_CHANNEL_BROKEN,
                     env->is_survey ? "the warden is ready, but a survey was ordered"
                                    : "the warden said ready twice",
                     NULL, true);
        return;
    }
    event_del(env->deadline);
    env->version = TAKE(message->version);
    env->hash_randomized = message->hash_randomized;
    env->hash_sample = message->hash_sample;
    env->enforced = message->enforced;
    message->enforced = (TextList){0};
    report(env, REPORT_OBSERVED, NULL);
}

static void on_survey(Environment *env, ChannelMessage *message) {
    if (!env->is_survey || env->state != ENVIRONMENT_STARTING) {
        report_fault(env, CODE_CHANNEL_BROKEN, "a survey that nobody ordered", NULL, true);
        return;
    }
    const EnvironmentReport report = {.kind = REPORT_SURVEYED, .survey = &message->survey};
    environment_close(env);
    env->notify(env, &report, env->notify_data);
}

static int set_facts_environment(const Environment *env, Facts *facts) {
    facts->hash_sample = env->hash_sample;
    facts->environment_id = strdup(env->id);
    return facts->environment_id ? 0 : error_origin(-ENOMEM);
}

static void on_result(Environment *env, ChannelMessage *message) {
    if (env->state != ENVIRONMENT_BUSY) {
        report_fault(env, CODE_CHANNEL_BROKEN, "a result without a job", NULL, true);
        return;
    }
    if (set_facts_environment(env, message->facts) < 0) {
        report_fault(env, CODE_OUT_OF_MEMORY, "out of memory", NULL, true);
        return;
    }
    environment_close(env);
    report(env, REPORT_RESULT, &message->facts);
}

static void on_message(Environment *env, ChannelMessage *message) {
    switch (message->kind) {
    case CHANNEL_READY:
        on_ready(env, message);
        break;
    case CHANNEL_INVALID:
        report_fault(env, message->code, message->detail, message->stderr_excerpt,
                     message->dispatched);
        break;
    case CHANNEL_SURVEY:
        on_survey(env, message);
        break;
    case CHANNEL_RECEIVED:
        if (env->state == ENVIRONMENT_BUSY) report(env, REPORT_RECEIVED, NULL);
        break;
    case CHANNEL_RESULT:
        on_result(env, message);
        break;
    }
}

static size_t max_frame_bytes(const Environment *env) {
    return MAX_FRAME_SLACK_BYTES + 4 * (size_t)env->config->keep_output_bytes;
}

/* Takes one whole frame from the channel and acts on it. False when there is none. */
static bool take_frame(Environment *env) {
    struct evbuffer *input = bufferevent_get_input(env->channel);
    uint8_t header[WIRE_HEADER_BYTES];
    if (evbuffer_copyout(input, header, sizeof header) != (ev_ssize_t)sizeof header) return false;
    size_t payload_bytes;
    if (wire_payload_length(header, max_frame_bytes(env), &payload_bytes) != 0) {
        report_fault(env, CODE_CHANNEL_BROKEN, "the warden sent a frame over the bound", NULL,
                     true);
        return false;
    }
    if (evbuffer_get_length(input) < sizeof header + payload_bytes) {
        bufferevent_setwatermark(env->channel, EV_READ, sizeof header + payload_bytes, 0);
        return false;
    }
    const uint8_t *frame = evbuffer_pullup(input, (ev_ssize_t)(sizeof header + payload_bytes));
    ChannelMessage message;
    const int r = frame ? channel_decode(frame + sizeof header, payload_bytes, &message) : -ENOMEM;
    evbuffer_drain(input, sizeof header + payload_bytes);
    bufferevent_setwatermark(env->channel, EV_READ, WIRE_HEADER_BYTES, 0);
    if (r != 0) {
        report_fault(env, r < 0 ? CODE_OUT_OF_MEMORY : CODE_CHANNEL_BROKEN,
                     "the warden's message could not be read", NULL, true);
        return false;
    }
    on_message(env, &message);
    channel_message_deinit(&message);
    return env->channel != NULL;
}

static void on_channel_read(struct bufferevent *channel, void *data) {
    (void)channel;
    while (take_frame(data)) continue;
}

/* The channel's end and the process's end come in either order; the reason needs both. */
static void lose(Environment *env) {
    char detail[96] = "the warden ended without a word";
    if (env->has_exited && env->exit.signal)
        snprintf(detail, sizeof detail, "the warden was killed by %s",
                 verdict_signal_name(env->exit.signal));
    else if (env->has_exited)
        snprintf(detail, sizeof detail, "the warden exited %d without a word", env->exit.code);
    env->needs_cleaning = true;
    report_fault(env, CODE_WARDEN_LOST, detail, NULL, true);
}

static void on_channel_event(struct bufferevent *channel, short what, void *data) {
    Environment *env = data;
    if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))) return;
    /* It takes no more, but its last words may be there: reading tells, and then ends by itself. */
    if (what & BEV_EVENT_WRITING) return;
    env->channel_ended = true;
    if (env->has_exited) {
        lose(env);
        return;
    }
    bufferevent_disable(channel, EV_READ | EV_WRITE);
    timer_arm(env->deadline, EXIT_GRACE_MS);
}

/* Its processes are dead; if one is not, that is its end. */
static void remove_cgroup(const Environment *env) {
    const int r = env->cgroups ? cgroup_tree_remove(env->cgroups, env->id) : 0;
    if (r < 0) log_write(LOG_LEVEL_WARNING, log_context(env), r, "cannot remove its control group");
}

static void finish(Environment *env) {
    event_del(env->deadline);
    remove_cgroup(env);
    enter(env, STEP_EXITED);
    const EnvironmentReport message = {
        .kind = REPORT_GONE,
        .left = env->needs_cleaning ? env->directory : NULL,
    };
    env->notify(env, &message, env->notify_data);
}

static void on_close_deadline(Environment *env) {
    if (env->has_exited) {
        finish(env);
        return;
    }
    log_write(LOG_LEVEL_WARNING, log_context(env), 0, "the warden does not end: killed");
    env->needs_cleaning = true;
    process_kill(env->pid);
}

static void on_deadline(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    Environment *env = data;
    if (env->state == ENVIRONMENT_CLOSING) {
        on_close_deadline(env);
        return;
    }
    if (env->has_exited || env->channel_ended) {
        lose(env);
        return;
    }
    env->needs_cleaning = true;
    process_kill(env->pid);
    report_fault(env, CODE_WARDEN_LOST, "the warden did not answer within its deadline", NULL,
                 env->state == ENVIRONMENT_BUSY);
}

/* A root of its own shows the work directory at a place of its own. */
static int work_path(const Environment *env, const TextList *layers, char **ret_path) {
    const bool has_own_root = text_list_contains(layers, child_layer_name(CHILD_LAYER_OWN_ROOT));
    const int r = has_own_root ? text_format(ret_path, "%s", ENCLOSURE_WORK)
                               : text_format(ret_path, "%s/work", env->directory);
    return r < 0 ? error_fold(r) : 0;
}

/* The daemon's own places, in which nothing is a job's business. */
static int list_hidden(const Config *config, TextList *hidden) {
    int r = text_list_append(hidden, config->socket_path);
    if (r == 0) r = text_list_append(hidden, config->runtime_directory);
    if (r == 0) r = text_list_append(hidden, config->state_directory);
    return r < 0 ? error_fold(r) : 0;
}

static int send_setup(Environment *env, const EnvironmentPlan *plan) {
    extern char **environ;
    CLEANUP(child_env_deinit) ChildEnv child = {0};
    CLEANUP(text_list_deinit) TextList hidden = {0};
    CLEANUP(freep) char *work = NULL;
    CLEANUP(freep) char *cgroup = NULL;
    int r = work_path(env, plan->layers, &work);
    if (r == 0 && env->cgroups) r = cgroup_tree_add(env->cgroups, env->id, &cgroup);
    if (r == 0) r = list_hidden(env->config, &hidden);
    if (r < 0) return error_fold(r);
    r = child_env_make(OS_FAMILY_HOST, (const char *const *)environ, env->profile, work, &child);
    if (r < 0) return error_fold(r);
    const ChannelSetup setup = {
        .environment_id = env->id,
        .directory = env->directory,
        .profile = env->profile,
        .environment = &child,
        .keep_bytes = env->config->keep_output_bytes,
        .layers = plan->layers,
        .root = plan->root,
        .hidden = &hidden,
        .uid = (uint32_t)(env->config->first_uid + env->number % ENVIRONMENT_UIDS),
        .cgroup = cgroup,
        .survey = plan->survey,
    };
    ChannelFrame frame;
    r = channel_encode_setup(&setup, &frame);
    if (r < 0) return error_fold(r);
    r = bufferevent_write(env->channel, frame.bytes, frame.n_bytes);
    free(frame.bytes);
    return r == 0 ? 0 : error_origin(-ENOMEM);
}

static int start(Environment *env, const EnvironmentPlan *plan) {
    int fd = -1;
    int r = process_spawn_warden(env->config->warden_path, env->config->log_level,
                                 env->config->log_format, &env->pid, &fd);
    if (r < 0) return error_fold(r);
    env->channel = bufferevent_socket_new(env->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!env->channel) {
        close_fd(fd);
        return error_origin(-ENOMEM);
    }
    bufferevent_setcb(env->channel, on_channel_read, NULL, on_channel_event, env);
    bufferevent_setwatermark(env->channel, EV_READ, WIRE_HEADER_BYTES, 0);
    bufferevent_enable(env->channel, EV_READ | EV_WRITE);
    r = send_setup(env, plan);
    if (r < 0) return error_fold(r);
    timer_arm(env->deadline, env->profile->ready_timeout_ms + START_GRACE_MS);
    return 0;
}

int environment_new(struct event_base *base, Config *config, const Profile *profile,
                    const EnvironmentPlan *plan, uint64_t number, EnvironmentNotify notify,
                    void *data, Environment **ret_environment) {
    Environment *env = calloc(1, sizeof *env);
    if (!env) return error_origin(-ENOMEM);
    snprintf(env->id, sizeof env->id, "e-%llu", (unsigned long long)number);
    env->number = number;
    env->is_survey = plan->survey;
    if (text_list_contains(plan->layers, child_layer_name(CHILD_LAYER_CGROUP)))
        env->cgroups = plan->cgroups;
    env->base = base;
    env->config = config_ref(config);
    env->profile = profile;
    env->notify = notify;
    env->notify_data = data;
    list_init(&env->pool_link);
    int r = text_format(&env->directory, "%s/work/%s", config->runtime_directory, env->id);
    env->deadline = evtimer_new(base, on_deadline, env);
    if (r == 0 && !env->deadline) r = error_origin(-ENOMEM);
    if (r == 0) r = start(env, plan);
    if (r < 0) {
        /* A warden that was started sees the closed channel and ends; the reaper knows no owner. */
        environment_free(env);
        return error_fold(r);
    }
    log_write(LOG_LEVEL_DEBUG, log_context(env), 0, "environment starting for profile %s, pid %d",
              profile->name, (int)env->pid);
    *ret_environment = env;
    return 0;
}

Environment *environment_free(Environment *env) {
    if (!env) return NULL;
    drop_channel(env);
    if (env->deadline) event_free(env->deadline);
    list_remove(&env->pool_link);
    text_list_deinit(&env->enforced);
    free(env->version);
    free(env->directory);
    config_unref(env->config);
    free(env);
    return NULL;
}

void environment_accept(Environment *env) {
    if (enter(env, STEP_ACCEPTED)) env->validated_ms = clock_wall_ms();
}

int environment_record(const Environment *env, EnvironmentRecord *record) {
    EnvironmentRecord made = {
        .interpreter = strdup(env->profile->interpreter),
        .version = strdup(env->version ? env->version : ""),
        .hash_randomized = env->hash_randomized,
        .hash_sample = env->hash_sample,
        .validated_ms = env->validated_ms,
    };
    memcpy(made.id, env->id, sizeof made.id);
    if (!made.interpreter || !made.version || text_list_copy(&env->enforced, &made.enforced) < 0) {
        environment_record_deinit(&made);
        return error_origin(-ENOMEM);
    }
    environment_record_deinit(record);
    *record = made;
    return 0;
}

bool environment_is_ready(const Environment *env) {
    return env->state == ENVIRONMENT_READY && !env->has_exited && !env->channel_ended;
}

int environment_run(Environment *env, Job *job, const Limits *limits, const MarkerKey *key) {
    if (!environment_is_ready(env)) return ENVIRONMENT_E_NOT_READY;
    ChannelFrame frame;
    int r = channel_encode_job(job, limits, key, &frame);
    if (r < 0) return error_fold(r);
    r = bufferevent_write(env->channel, frame.bytes, frame.n_bytes);
    free(frame.bytes);
    if (r != 0) return error_origin(-ENOMEM);
    env->job = job;
    enter(env, STEP_DISPATCHED);
    timer_arm(env->deadline, limits->wall_ms + RUN_GRACE_MS);
    return 0;
}

/* A closed channel is the word to go: the warden kills, cleans and ends. */
void environment_close(Environment *env) {
    if (!enter(env, STEP_CLOSED)) return;
    drop_channel(env);
    timer_arm(env->deadline, env->has_exited ? 0 : CLOSE_GRACE_MS);
}

void environment_exited(Environment *env, const ProcessExit *exit) {
    env->has_exited = true;
    env->exit = *exit;
    env->pid = 0;
    if (exit->signal != 0 || exit->code != 0) env->needs_cleaning = true;
    if (env->state == ENVIRONMENT_CLOSING)
        finish(env);
    else if (env->channel_ended)
        lose(env);
    else
        timer_arm(env->deadline, EXIT_GRACE_MS); /* its last words may still be in the channel */
}
