/* Broker: the daemon as one object: config, socket, sessions, scheduler, signals, and the order in
 * which they start and end. Its one loop never blocks. Parses nothing and judges nothing itself. */
#pragma once

#include "broker/remover.h"
#include "broker/scheduler.h"
#include "platform/paths.h"

enum { BROKER_SIGNALS = 4 };

struct evconnlistener;

typedef struct Broker Broker;

struct Broker {
    struct event_base *base;
    Paths paths;
    char *config_file; /* NULL: built-in */
    Config *config;
    PeerRule *submit_rule;
    PeerRule *admin_rule;
    Scheduler scheduler;
    bool has_scheduler;
    Remover *remover;
    CgroupTree *cgroups; /* NULL: there are none, and no_cgroups says why */
    char *no_cgroups;
    List sessions;
    unsigned n_sessions;
    int lock_fd;
    int listen_fd;
    struct evconnlistener *listener;
    struct event *signals[BROKER_SIGNALS];
    struct event *grace;        /* the end of draining, then of stopping */
    struct event *stop_soon;    /* stops from the loop, not from inside a job's end */
    struct event *accept_again; /* after descriptors ran out */
    uint64_t started_ms;        /* monotonic */
    uint64_t generation;        /* of the config */
    bool stopping;              /* told to end: drains */
    bool has_stopped;           /* no job is left; environments and sessions are ending */
    bool gave_up;               /* they did not end in time */
};

/* Documented results of broker_new. */
enum {
    BROKER_E_CONFIG = 1, /* the config is wrong; every problem was printed */
    BROKER_E_HELD = 2,   /* another daemon runs; was logged */
};

/* Loads the config and looks its users and groups up, as broker_new would, then prints it. 0,
 * BROKER_E_CONFIG (every problem was printed), or -errno. */
int broker_check_config(const char *config_file, FILE *stream);

/* Loads the config (`config_file` NULL: built-in), takes the lock, opens the socket, starts filling
 * the pools. 0, a documented result, or -errno (was logged). */
int broker_new(const char *config_file, Broker **ret_broker);
/* Runs until told to stop by signal. 0 or -errno. */
int broker_run(Broker *broker);
Broker *broker_free(Broker *broker); /* takes NULL, returns NULL */

/* Reads the config file again; a bad one is refused and the old one stays. 0, or 1 with a message.
 */
int broker_reload(Broker *broker, char *ret_message, size_t message_bytes);
