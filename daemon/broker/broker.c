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
#include "platform/directory.h"
#include "platform/listener.h"
#include "platform/process.h"
#include "platform/tree.h"
#include "platform/workdir.h"

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

/* What a killed warden leaves behind comes to us: nothing of it survives. */
static void kill_strays(Broker *broker) {
    CLEANUP(freep) pid_t *wardens = NULL;
    size_t n_wardens = 0;
    int r = scheduler_wardens(&broker->scheduler, &wardens, &n_wardens);
    if (r == 0) r = tree_kill(wardens, n_wardens, STRAYS_LIMIT_MS, NULL);
    if (r != 0) log_error(r < 0 ? r : 0, "left-over processes could not be ended");
}

static void on_child(evutil_socket_t number, short what, void *data) {
    (void)number;
    (void)what;
    Broker *broker = data;
    ProcessExit exit;
    bool strays = false;
    while (process_reap(&exit)) {
        /* Before its directory is removed: nobody may write there any more. */
        if (exit.signal != 0 || exit.code != 0) kill_strays(broker);
        if (!scheduler_exited(&broker->scheduler, &exit)) strays = true;
    }
    if (strays) kill_strays(broker);
}

/* ---- clients ---- */

static const char *admit(const Broker *broker, const Peer *peer) {
    if (!peer_rule_admits(broker->submit_rule, peer) && !peer_rule_admits(broker->admin_rule, peer))
        return "not in access:";
    if (broker->n_sessions >= broker->config->max_connections) return "listen.max_connections";
    if (session_count_peer(broker, peer->id) >= broker->config->max_connections_per_peer)
        return "listen.max_connections_per_peer";
    return NULL;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                      int address_bytes, void *data) {
    (void)listener;
    (void)address;
    (void)address_bytes;
    Broker *broker = data;
    Peer peer = {0};
    int r = peer_identify(fd, &peer);
    const char *refused = r == 0 ? admit(broker, &peer) : "no credentials";
    Session *session;
    if (!refused) r = session_new(broker, fd, &peer, &session);
    if (refused || r < 0) {
        log_warning(r, "connection of %s refused%s%s", peer.id[0] ? peer.id : "unknown",
                    refused ? ": " : "", refused ? refused : "");
        session_turn_away(fd, refused);
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

/* The lock first: only its holder may empty the work directory. */
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
    CLEANUP(freep) char *work = NULL;
    if (r == 0) r = text_format(&work, "%s/work", config->runtime_directory);
    if (r == 0) r = workdir_remove(work);
    if (r < 0) {
        log_error(r, "cannot empty %s", work ? work : config->runtime_directory);
        return r;
    }
    return make_private(work, 0700);
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
    const SchedulerOwner owner = {on_job_changed, on_pool_changed, on_idle, broker};
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

static int start(Broker *broker) {
    int r = load_first_config(broker);
    if (r == 0) r = take_places(broker);
    if (r == 0) r = process_become_reaper();
    if (r != 0) return r;
    broker->receive_budget = broker->config->queue_max_bytes;
    broker->base = event_base_new();
    if (!broker->base) return error_origin(-ENOMEM);
    r = add_signals(broker);
    if (r == 0) r = open_socket(broker);
    if (r == 0) r = start_scheduler(broker);
    if (r != 0) return r;
    log_info("listening on %s", broker->config->socket_path);
    if (process_is_privileged())
        log_warning(0, "running with root's rights, which generated code has too: see SECURITY.md");
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
           (broker->n_sessions == 0 && scheduler_n_environments(&broker->scheduler) == 0);
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
    free_events(broker);
    if (broker->listen_fd >= 0) {
        listener_remove(broker->config->socket_path);
        close_fd(broker->listen_fd);
    }
    if (broker->base) event_base_free(broker->base);
    peer_rule_free(broker->submit_rule);
    peer_rule_free(broker->admin_rule);
    config_unref(broker->config);
    paths_deinit(&broker->paths);
    close_fd(broker->lock_fd);
    free(broker->config_file);
    free(broker);
    return NULL;
}
