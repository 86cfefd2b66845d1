#include "broker/broker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <event2/listener.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "broker/doctor.h"
#include "broker/session.h"
#include "broker/timer.h"
#include "platform/child_layer.h"
#include "platform/directory.h"
#include "platform/listener.h"
#include "platform/process.h"
#include "platform/tree.h"

enum {
    STOP_GRACE_MS = 25000, /* for environments and last replies, once no job is left */
    ACCEPT_PAUSE_MS = 200, /* when descriptors ran out */
    STRAYS_LIMIT_MS = 500, /* the loop stands still meanwhile; only after a warden was killed */
};

/* ---- what the scheduler tells ---- */

static void on_job_changed(Job *job, void *data) {
    (void)data;
    session_job_changed(job);
}

/* A profile is tested as soon as it has an environment to test with. */
static void on_pool_changed(Pool *pool, PoolEvent event, void *data) {
    Broker *broker = data;
    const HealthState state = pool->health.state;
    if (event != POOL_READY || pool->doctor || broker->stopping) return;
    if (state != HEALTH_TESTING && state != HEALTH_RETESTING) return;
    if (!pool->config->self_test) {
        pool_note(pool, HEALTH_EVENT_TEST_PASSED, NULL);
        return;
    }
    const int r = doctor_start(&broker->scheduler, pool);
    if (r < 0) pool_note(pool, HEALTH_EVENT_TEST_FAILED, "the self-test could not be started");
}

static void stop(Broker *broker, const char *why) {
    if (broker->has_stopped) return;
    broker->has_stopped = true;
    log_info("stopping: %s", why);
    evconnlistener_disable(broker->listener);
    listener_remove(broker->config->socket_path);
    scheduler_end_all(&broker->scheduler, CODE_SHUTTING_DOWN,
                      "the daemon was stopped before the job could finish");
    session_finish_all(broker);
    scheduler_abort(&broker->scheduler);
    timer_arm(broker->grace, STOP_GRACE_MS);
}

static void on_idle(void *data) {
    Broker *broker = data;
    if (broker->stopping) event_active(broker->stop_soon, EV_TIMEOUT, 0);
}

static void on_stop_soon(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    Broker *broker = data;
    if (scheduler_is_idle(&broker->scheduler)) stop(broker, "every accepted job has its verdict");
}

static void on_grace(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    Broker *broker = data;
    if (!broker->has_stopped)
        stop(broker, "shutdown_grace_s is over");
    else
        broker->gave_up = true;
}

static void on_left(const char *directory, void *data) {
    const Broker *broker = data;
    remover_take(broker->remover, directory);
}

/* ---- signals ---- */

static void on_terminate(evutil_socket_t number, short what, void *data) {
    (void)what;
    Broker *broker = data;
    if (broker->stopping) {
        stop(broker, "told twice");
        return;
    }
    broker->stopping = true;
    log_info("%s: draining for at most %llu ms", number == SIGINT ? "SIGINT" : "SIGTERM",
             (unsigned long long)broker->config->shutdown_grace_ms);
    timer_arm(broker->grace, broker->config->shutdown_grace_ms);
    scheduler_drain(&broker->scheduler, true);
    event_active(broker->stop_soon, EV_TIMEOUT, 0);
}

static void on_hangup(evutil_socket_t number, short what, void *data) {
    (void)number;
    (void)what;
    char message[REFUSAL_MESSAGE_BYTES];
    if (broker_reload(data, message, sizeof message) != 0)
        log_error(0, "reload refused: %s", message);
    else
        log_info("%s", message);
}

static int list_ours(const Broker *broker, pid_t **ret_pids, size_t *ret_n_pids) {
    CLEANUP(freep) pid_t *wardens = NULL;
    size_t n_pids = 0;
    const int r = scheduler_wardens(&broker->scheduler, &wardens, &n_pids);
    if (r < 0) return error_fold(r);
    pid_t *pids = realloc(wardens, (n_pids + 1) * sizeof *pids);
    if (!pids) return error_origin(-ENOMEM);
    wardens = NULL;
    const pid_t helper = remover_pid(broker->remover);
    if (helper != 0) pids[n_pids++] = helper;
    *ret_pids = pids;
    *ret_n_pids = n_pids;
    return 0;
}

/* What a killed warden leaves behind comes to us: nothing of it survives. */
static void kill_strays(Broker *broker) {
    CLEANUP(freep) pid_t *ours = NULL;
    size_t n_ours = 0;
    int r = list_ours(broker, &ours, &n_ours);
    if (r == 0) r = tree_kill(ours, n_ours, STRAYS_LIMIT_MS, NULL);
    if (r != 0) log_error(r < 0 ? r : 0, "left-over processes could not be ended");
}

static void on_child(evutil_socket_t number, short what, void *data) {
    (void)number;
    (void)what;
    Broker *broker = data;
    ProcessExit exit;
    bool strays = false;
    while (process_reap(&exit)) {
        if (remover_exited(broker->remover, &exit)) continue;
        /* Before its directory is removed: nobody may write there any more. */
        if (exit.signal != 0 || exit.code != 0) kill_strays(broker);
        if (!scheduler_exited(&broker->scheduler, &exit)) strays = true;
    }
    if (strays) kill_strays(broker);
}

/* ---- clients ---- */

static Admission admit(const Broker *broker, const Peer *peer) {
    if (!peer_rule_admits(broker->submit_rule, peer) && !peer_rule_admits(broker->admin_rule, peer))
        return ADMISSION_NO_ACCESS;
    if (broker->n_sessions >= broker->config->max_connections) return ADMISSION_MAX_CONNECTIONS;
    if (session_count_peer(broker, peer->id) >= broker->config->max_connections_per_peer)
        return ADMISSION_MAX_CONNECTIONS_PER_PEER;
    return ADMISSION_GRANTED;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                      int address_bytes, void *data) {
    (void)listener;
    (void)address;
    (void)address_bytes;
    Broker *broker = data;
    Peer peer = {0};
    int r = peer_identify(fd, &peer);
    Admission admission = r == 0 ? admit(broker, &peer) : ADMISSION_NO_CREDENTIALS;
    Session *session;
    if (admission == ADMISSION_GRANTED) {
        r = session_new(broker, fd, &peer, &session);
        if (r < 0) admission = ADMISSION_FAILED;
    }
    if (admission != ADMISSION_GRANTED) {
        log_warning(r, "connection of %s refused: %s", peer.id[0] ? peer.id : "unknown",
                    admission_text(admission));
        session_turn_away(fd, admission);
        evutil_closesocket(fd);
    }
    peer_deinit(&peer);
}

static void on_accept_error(struct evconnlistener *listener, void *data) {
    Broker *broker = data;
    const int error = EVUTIL_SOCKET_ERROR();
    log_error(-error, "cannot accept a connection");
    /* Out of descriptors: the backlog keeps the clients until some are free again. */
    evconnlistener_disable(listener);
    timer_arm(broker->accept_again, ACCEPT_PAUSE_MS);
}

static void on_accept_again(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    Broker *broker = data;
    if (!broker->has_stopped) evconnlistener_enable(broker->listener);
}

/* ---- config ---- */

static void log_problems(const ProblemList *problems) {
    for (size_t i = 0; i < problems->n_items; i++) {
        const Problem *problem = &problems->items[i];
        log_error(0, "%s:%zu:%zu: %s: %s", problems->file, problem->line, problem->column,
                  problem->key, problem->message);
    }
    if (problems->n_dropped) log_error(0, "and %zu more problems", problems->n_dropped);
}

/* NULL: the built-in config. 0, 1 when its problems were told by `tell`, or -errno. */
static int load_config(const Paths *paths, const char *file, void (*tell)(const ProblemList *),
                       Config **ret_config) {
    const ConfigPlaces places = paths_places(paths);
    if (!file) return config_new_default(&places, ret_config);
    ProblemList problems;
    int r = problem_list_init(&problems, file);
    if (r < 0) return error_fold(r);
    r = config_load(file, &places, &problems, ret_config);
    if (r > 0) tell(&problems);
    problem_list_deinit(&problems);
    return r;
}

static int make_rules(const Config *config, PeerRule **ret_submit, PeerRule **ret_admin,
                      char *ret_message, size_t message_bytes) {
    const char *unknown = NULL;
    PeerRule *submit = NULL;
    int r = peer_rule_new(&config->submit, &unknown, &submit);
    if (r == 0) r = peer_rule_new(&config->admin, &unknown, ret_admin);
    if (r != 0) {
        peer_rule_free(submit);
        if (r > 0)
            snprintf(ret_message, message_bytes, "access: no user or group is called '%s'",
                     unknown);
        else
            snprintf(ret_message, message_bytes, "access: out of memory");
        return r;
    }
    *ret_submit = submit;
    return 0;
}

static void print_problems(const ProblemList *problems) {
    problem_list_print(problems, stderr);
}

int broker_check_config(const char *config_file, FILE *stream) {
    CLEANUP(paths_deinit) Paths paths = {0};
    CLEANUP(config_unrefp) Config *config = NULL;
    int r = paths_init(&paths);
    if (r == 0) r = load_config(&paths, config_file, print_problems, &config);
    if (r != 0) return r > 0 ? BROKER_E_CONFIG : error_fold(r);
    PeerRule *submit = NULL, *admin = NULL;
    char problem[REFUSAL_MESSAGE_BYTES];
    r = make_rules(config, &submit, &admin, problem, sizeof problem);
    peer_rule_free(submit);
    peer_rule_free(admin);
    if (r > 0) fprintf(stderr, "%s: %s\n", config_file, problem);
    if (r == 0) config_print(config, stream);
    return r > 0 ? BROKER_E_CONFIG : r;
}

static bool needs_restart(const Config *a, const Config *b) {
    return strcmp(a->socket_path, b->socket_path) != 0 || a->socket_mode != b->socket_mode ||
           strcmp(a->runtime_directory, b->runtime_directory) != 0 ||
           strcmp(a->state_directory, b->state_directory) != 0 ||
           a->queue_max_bytes != b->queue_max_bytes;
}

static int refuse_reload(char *ret_message, size_t message_bytes, const char *why) {
    snprintf(ret_message, message_bytes, "%s; the old config stays", why);
    return 1;
}

int broker_reload(Broker *broker, char *ret_message, size_t message_bytes) {
    CLEANUP(config_unrefp) Config *config = NULL;
    if (load_config(&broker->paths, broker->config_file, log_problems, &config) != 0)
        return refuse_reload(ret_message, message_bytes, "the config file is wrong, see the log");
    if (needs_restart(broker->config, config))
        return refuse_reload(
            ret_message, message_bytes,
            "listen.socket, socket_mode, paths and queue.max_bytes need a restart");
    PeerRule *submit = NULL, *admin = NULL;
    char problem[REFUSAL_MESSAGE_BYTES / 2];
    if (make_rules(config, &submit, &admin, problem, sizeof problem) != 0)
        return refuse_reload(ret_message, message_bytes, problem);
    peer_rule_free(broker->submit_rule);
    peer_rule_free(broker->admin_rule);
    broker->submit_rule = submit;
    broker->admin_rule = admin;
    log_setup("tbsandboxd", config->log_level, config->log_format);
    config_unref(broker->config);
    broker->config = TAKE(config);
    remover_configure(broker->remover, broker->config);
    broker->generation++;
    const int r = scheduler_configure(&broker->scheduler, broker->config);
    if (r < 0) log_error(r, "not every profile could be set up");
    snprintf(ret_message, message_bytes, "config generation %llu is in force",
             (unsigned long long)broker->generation);
    return 0;
}

/* ---- start ---- */

static int make_private(const char *path, unsigned mode) {
    const int r = directory_make(path, mode);
    if (r == 0) return 0;
    if (r == DIRECTORY_E_UNSAFE)
        log_error(0, "%s belongs to somebody else or others may write to it", path);
    else
        log_error(r, "cannot make %s", path);
    return r < 0 ? r : -EPERM;
}

/* The lock: only its holder may empty the work directory. */
static int take_places(Broker *broker) {
    const Config *config = broker->config;
    int r = make_private(config->runtime_directory, 0755);
    if (r == 0) r = make_private(config->state_directory, 0700);
    if (r < 0) return r;
    r = directory_lock(config->runtime_directory, &broker->lock_fd);
    if (r == DIRECTORY_E_LOCKED) {
        log_error(0, "another tbsandboxd runs with %s", config->runtime_directory);
        return BROKER_E_HELD;
    }
    return r < 0 ? error_fold(r) : 0;
}

/* Only when some profile asks for it: it moves the daemon into a group of its own. */
static int open_cgroups(Broker *broker) {
    const Config *config = broker->config;
    const char *layer = child_layer_name(CHILD_LAYER_CGROUP);
    bool is_wanted = false;
    for (size_t i = 0; i < config->n_profiles; i++)
        is_wanted = is_wanted || text_list_contains(&config->profiles[i].required_layers, layer) ||
                    text_list_contains(&config->profiles[i].optional_layers, layer);
    if (!is_wanted) return 0;
    const int r = cgroup_tree_open(&broker->cgroups, &broker->no_cgroups);
    return r < 0 ? error_fold(r) : 0;
}

static int open_socket(Broker *broker) {
    const Config *config = broker->config;
    const int r = listener_open(config->socket_path, config->socket_mode, &broker->listen_fd);
    if (r == LISTENER_E_IN_USE) {
        log_error(0, "another daemon answers on %s", config->socket_path);
        return BROKER_E_HELD;
    }
    if (r != 0) {
        log_error(r < 0 ? r : 0, "cannot listen on %s%s", config->socket_path,
                  r == LISTENER_E_NOT_OURS ? ": something else is there" : "");
        return r < 0 ? r : -EEXIST;
    }
    broker->listener = evconnlistener_new(broker->base, on_accept, broker, LEV_OPT_CLOSE_ON_EXEC, 0,
                                          broker->listen_fd);
    if (!broker->listener) return error_origin(-ENOMEM);
    evconnlistener_set_error_cb(broker->listener, on_accept_error);
    return 0;
}

static int add_signals(Broker *broker) {
    static const struct {
        int number;
        event_callback_fn call;
    } wanted[BROKER_SIGNALS] = {
        {SIGTERM, on_terminate}, {SIGINT, on_terminate}, {SIGHUP, on_hangup}, {SIGCHLD, on_child}};
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < BROKER_SIGNALS; i++) {
        broker->signals[i] = evsignal_new(broker->base, wanted[i].number, wanted[i].call, broker);
        if (!broker->signals[i] || event_add(broker->signals[i], NULL) != 0)
            return error_origin(-ENOMEM);
    }
    broker->grace = evtimer_new(broker->base, on_grace, broker);
    broker->accept_again = evtimer_new(broker->base, on_accept_again, broker);
    broker->stop_soon = event_new(broker->base, -1, 0, on_stop_soon, broker);
    return broker->grace && broker->accept_again && broker->stop_soon ? 0 : error_origin(-ENOMEM);
}

static int start_scheduler(Broker *broker) {
    MarkerKey key;
    int r = marker_key_load(broker->config->state_directory, &key);
    if (r < 0) {
        log_error(r, "cannot read or make redaction.key in %s", broker->config->state_directory);
        return r;
    }
    const SchedulerOwner owner = {
        .job_changed = on_job_changed,
        .pool_changed = on_pool_changed,
        .idle = on_idle,
        .left = on_left,
        .data = broker,
        .cgroups = broker->cgroups,
        .no_cgroups = broker->no_cgroups,
    };
    r = scheduler_init(&broker->scheduler, broker->base, broker->config, &key, owner);
    broker->has_scheduler = true;
    return r < 0 ? error_fold(r) : 0;
}

static int load_first_config(Broker *broker) {
    int r = paths_init(&broker->paths);
    if (r == 0) r = load_config(&broker->paths, broker->config_file, log_problems, &broker->config);
    if (r != 0) return r > 0 ? BROKER_E_CONFIG : error_fold(r);
    log_setup("tbsandboxd", broker->config->log_level, broker->config->log_format);
    char problem[REFUSAL_MESSAGE_BYTES];
    r = make_rules(broker->config, &broker->submit_rule, &broker->admin_rule, problem,
                   sizeof problem);
    if (r != 0) log_error(0, "%s", problem);
    return r > 0 ? BROKER_E_CONFIG : r;
}

/* Code that is not required to be somebody else is who we are. */
static void warn_of_rights(const Config *config) {
    const char *layer = child_layer_name(CHILD_LAYER_UNPRIVILEGED_USER);
    for (size_t i = 0; i < config->n_profiles; i++) {
        const Profile *profile = &config->profiles[i];
        if (process_is_privileged() && !text_list_contains(&profile->required_layers, layer))
            log_warning(0,
                        "profile %s: generated code may have root's rights: isolation.required "
                        "lacks %s",
                        profile->name, layer);
    }
}

static int start(Broker *broker) {
    int r = load_first_config(broker);
    if (r == 0) r = take_places(broker);
    if (r == 0) r = open_cgroups(broker); /* before there is any child */
    if (r == 0) r = process_become_reaper();
    if (r != 0) return r;
    broker->base = event_base_new();
    if (!broker->base) return error_origin(-ENOMEM);
    r = add_signals(broker);
    if (r == 0) r = open_socket(broker);
    if (r == 0) r = remover_new(broker->base, broker->config, &broker->remover);
    if (r == 0) r = start_scheduler(broker);
    if (r != 0) return r;
    log_info("listening on %s", broker->config->socket_path);
    warn_of_rights(broker->config);
    return r;
}

int broker_new(const char *config_file, Broker **ret_broker) {
    Broker *broker = calloc(1, sizeof *broker);
    if (!broker) return error_origin(-ENOMEM);
    broker->lock_fd = broker->listen_fd = -1;
    broker->started_ms = clock_mono_ms();
    broker->generation = 1;
    list_init(&broker->sessions);
    int r = 0;
    if (config_file) {
        broker->config_file = realpath(config_file, NULL);
        if (!broker->config_file) broker->config_file = strdup(config_file);
        if (!broker->config_file) r = error_origin(-ENOMEM);
    }
    if (r == 0) r = start(broker);
    if (r != 0) {
        broker_free(broker);
        return r;
    }
    *ret_broker = broker;
    return 0;
}

/* ---- run and end ---- */

static bool is_over(const Broker *broker) {
    if (!broker->has_stopped) return false;
    return broker->gave_up ||
           (broker->n_sessions == 0 && scheduler_n_environments(&broker->scheduler) == 0 &&
            remover_is_idle(broker->remover));
}

int broker_run(Broker *broker) {
    while (!is_over(broker))
        if (event_base_loop(broker->base, EVLOOP_ONCE) < 0) return error_origin(-EIO);
    log_info("stopped");
    return 0;
}

static void free_events(Broker *broker) {
    for (int i = 0; i < BROKER_SIGNALS; i++)
        if (broker->signals[i]) event_free(broker->signals[i]);
    if (broker->grace) event_free(broker->grace);
    if (broker->accept_again) event_free(broker->accept_again);
    if (broker->stop_soon) event_free(broker->stop_soon);
    if (broker->listener) evconnlistener_free(broker->listener);
}

Broker *broker_free(Broker *broker) {
    if (!broker) return NULL;
    session_free_all(broker);
    if (broker->has_scheduler) scheduler_deinit(&broker->scheduler);
    remover_free(broker->remover);
    free_events(broker);
    if (broker->listen_fd >= 0) {
        listener_remove(broker->config->socket_path);
        close_fd(broker->listen_fd);
    }
    if (broker->base) event_base_free(broker->base);
    cgroup_tree_close(broker->cgroups);
    free(broker->no_cgroups);
    peer_rule_free(broker->submit_rule);
    peer_rule_free(broker->admin_rule);
    config_unref(broker->config);
    paths_deinit(&broker->paths);
    close_fd(broker->lock_fd);
    free(broker->config_file);
    free(broker);
    return NULL;
}
