/* Environment: the broker's side of one warden and its interpreter: starts it, hands it its one
 * job, takes what it reports, and sees that it is gone afterwards. Single use. Never reads what
 * generated code wrote, never decides what a result means. */
#pragma once

#include "broker/channel.h"
#include "platform/cgroup.h"
#include "platform/process.h"

enum {
    ENVIRONMENT_ID_BYTES = 64,
    ENVIRONMENT_UIDS = 65536, /* from the first one on; those of live environments differ */
};

/* Documented result of environment_run. */
enum { ENVIRONMENT_E_NOT_READY = 1 };

typedef enum EnvironmentState {
    ENVIRONMENT_STARTING,
    ENVIRONMENT_OBSERVED, /* the warden found it fit; the broker has not accepted it yet */
    ENVIRONMENT_READY,
    ENVIRONMENT_BUSY,
    ENVIRONMENT_CLOSING, /* spent, or told to go; waits for its process's end */
    ENVIRONMENT_GONE,
    ENVIRONMENT_STATE_COUNT,
} EnvironmentState;

typedef enum ReportKind {
    REPORT_OBSERVED, /* fit; the owner accepts or closes it */
    REPORT_SURVEYED, /* what it was made for is done: the receiver takes the survey */
    REPORT_RECEIVED, /* the job's start marker was seen */
    REPORT_RESULT,   /* facts are there: the receiver takes them */
    REPORT_FAULT,    /* never fit, or broken: code and texts say why */
    REPORT_GONE,     /* it has ended: the owner frees it after this call */
} ReportKind;

typedef struct EnvironmentReport {
    ReportKind kind;
    Facts **facts;
    Survey *survey;
    Code code;
    const char *detail; /* never NULL for REPORT_FAULT */
    const char *stderr_excerpt;
    bool dispatched;  /* REPORT_FAULT: the job had reached the interpreter, or that is not known */
    const char *left; /* REPORT_GONE: a directory that its warden may not have removed, or NULL */
} EnvironmentReport;

typedef struct Environment Environment;
typedef void (*EnvironmentNotify)(Environment *environment, const EnvironmentReport *report,
                                  void *data);

struct Environment {
    char id[ENVIRONMENT_ID_BYTES];
    uint64_t number;
    Config *config; /* what it was made from; a reference of its own */
    const Profile *profile;
    EnvironmentState state;
    List pool_link;
    Job *job; /* while busy; borrowed */
    char *version;
    bool hash_randomized;
    uint64_t hash_sample;
    TextList enforced;
    uint64_t validated_ms; /* since the epoch */

    struct event_base *base;
    EnvironmentNotify notify;
    void *notify_data;
    pid_t pid;
    struct bufferevent *channel;
    struct event *deadline;
    char *directory;
    const CgroupTree *cgroups; /* where it has a group of its own, or NULL */
    bool is_survey;            /* it only finds out what others need */
    bool needs_cleaning;       /* its warden died without cleaning up */
    bool channel_ended;
    bool has_exited;
    ProcessExit exit;
};

/* What it is to be. Borrowed during environment_new only. */
typedef struct EnvironmentPlan {
    const TextList *layers;
    const RootPlan *root;      /* of one with a root of its own */
    bool survey;               /* it only finds out what others need */
    const CgroupTree *cgroups; /* outlives the environment; NULL: there are none */
} EnvironmentPlan;

/* Starts one for `profile` of `config`; `number` makes its id. The caller owns it until
 * REPORT_GONE. 0 or -errno. */
int environment_new(struct event_base *base, Config *config, const Profile *profile,
                    const EnvironmentPlan *plan, uint64_t number, EnvironmentNotify notify,
                    void *data, Environment **ret_environment);
/* Frees one that is gone (or was never started). Takes NULL, returns NULL. */
Environment *environment_free(Environment *environment);

/* Writes down what it is, replacing what the record held. 0 or -ENOMEM. */
int environment_record(const Environment *environment, EnvironmentRecord *record);
/* Accepts an observed environment: it is ready for its job now. */
void environment_accept(Environment *environment);
/* True when a job can be handed to it: it is accepted, and nothing of it has ended. */
bool environment_is_ready(const Environment *environment);
/* Hands it its job. 0, ENVIRONMENT_E_NOT_READY, or -errno. */
int environment_run(Environment *environment, Job *job, const Limits *limits, const MarkerKey *key);
/* Ends it, whatever it does; REPORT_GONE follows. May be called again. */
void environment_close(Environment *environment);
/* Its warden's process ended. */
void environment_exited(Environment *environment, const ProcessExit *exit);
