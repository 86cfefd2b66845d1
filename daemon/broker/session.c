#include "broker/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "broker/consult.h"
#include "broker/reply.h"
#include "broker/request.h"
#include "broker/timer.h"

enum {
    MAX_FOLLOWED = 4096, /* requests of one client that wait for a verdict */
    FRAME_MS = 30000,    /* for a whole frame, large ones have more */
};

struct Session {
    List link; /* in broker->sessions */
    Broker *broker;
    Connection *connection;
    Peer peer;
    bool is_admin;
    bool greeted;
    struct event *hello_deadline;
    List followed; /* of Follower */
    size_t n_followed;
    List consults; /* of Consult */
};

typedef struct Follower {
    List job_link;
    List session_link;
    Session *session;
    uint64_t request_id;
    bool events;
} Follower;

static void unfollow(Follower *follower) {
    list_remove(&follower->job_link);
    list_remove(&follower->session_link);
    follower->session->n_followed--;
    free(follower);
}

/* ---- answers ---- */

/* A reply that cannot be made ends the connection: the client must not wait for it. */
static void send_frame(Session *session, int r, ReplyFrame *frame) {
    if (r < 0) {
        log_error(r, "a reply could not be made");
        connection_close(session->connection);
        return;
    }
    connection_send(session->connection, frame->bytes, frame->n_bytes);
    free(frame->bytes);
}

static void send_refusal(Session *session, uint64_t request_id, const Refusal *refusal) {
    ReplyFrame frame;
    send_frame(session, reply_refusal(request_id, refusal, &frame), &frame);
}

static void refuse(Session *session, uint64_t request_id, RefusalCode code, const char *message) {
    Refusal refusal;
    refusal_set(&refusal, code, "%s", message);
    send_refusal(session, request_id, &refusal);
}

static void send_done(Session *session, uint64_t request_id, const char *message) {
    ReplyFrame frame;
    send_frame(session, reply_done(request_id, message, &frame), &frame);
}

static void send_verdict(Session *session, uint64_t request_id, const Job *job) {
    ReplyFrame frame;
    send_frame(session, reply_verdict(request_id, job, &frame), &frame);
}

static void send_job(Session *session, uint64_t request_id, const Job *job) {
    ReplyFrame frame;
    send_frame(session, reply_job(request_id, job, &frame), &frame);
}

/* ---- following jobs ---- */

static void follow(Session *session, uint64_t request_id, Job *job, bool events) {
    if (job->state == JOB_FINISHED) {
        send_verdict(session, request_id, job);
        return;
    }
    Follower *follower = session->n_followed < MAX_FOLLOWED ? calloc(1, sizeof *follower) : NULL;
    if (!follower) {
        refuse(session, request_id, REFUSE_RESOURCE_EXHAUSTED,
               "too many requests of this connection wait for a verdict");
        return;
    }
    *follower = (Follower){.session = session, .request_id = request_id, .events = events};
    list_append(&job->followers, &follower->job_link);
    list_append(&session->followed, &follower->session_link);
    session->n_followed++;
}

void session_job_changed(Job *job) {
    list_each(link, &job->followers) {
        Follower *follower = list_entry(link, Follower, job_link);
        Session *session = follower->session;
        const uint64_t request_id = follower->request_id;
        if (job->state == JOB_FINISHED) {
            unfollow(follower);
            send_verdict(session, request_id, job);
        } else if (follower->events) {
            ReplyFrame frame;
            send_frame(session, reply_event(request_id, job, &frame), &frame);
        }
    }
}

/* ---- requests ---- */

static void on_hello(Session *session, Request *request) {
    if (request->protocol != REQUEST_PROTOCOL) {
        refuse(session, request->id, REFUSE_VERSION_MISMATCH, "this daemon speaks protocol 1");
        connection_finish(session->connection);
        return;
    }
    session->greeted = true;
    event_del(session->hello_deadline);
    ReplyFrame frame;
    send_frame(session, reply_hello(request->id, session->broker->config->max_frame_bytes, &frame),
               &frame);
}

static void on_submit(Session *session, Request *request) {
    Job *job;
    bool known;
    Refusal refusal;
    const int r = scheduler_submit(&session->broker->scheduler, &request->spec, session->peer.id,
                                   &job, &known, &refusal);
    if (r == SCHEDULER_E_REFUSED) {
        send_refusal(session, request->id, &refusal);
        return;
    }
    if (r < 0) {
        log_error(r, "a job could not be taken in");
        refuse(session, request->id, REFUSE_INTERNAL, "out of memory");
        return;
    }
    ReplyFrame frame;
    send_frame(session, reply_accepted(request->id, job, known, &frame), &frame);
    if (request->follow) follow(session, request->id, job, true);
}

/* The job, when it exists and this peer may see it; otherwise the client was told. */
static Job *find_job(Session *session, const Request *request) {
    Job *job = registry_find(session->broker->scheduler.registry, request->job_id);
    if (job && (session->is_admin || strcmp(job->peer, session->peer.id) == 0)) return job;
    Refusal refusal;
    refusal_set(&refusal, REFUSE_NOT_FOUND, "there is no job '%s'", request->job_id);
    send_refusal(session, request->id, &refusal);
    return NULL;
}

static void on_wait(Session *session, Request *request) {
    Job *job = find_job(session, request);
    if (job) follow(session, request->id, job, request->follow);
}

static void on_get(Session *session, Request *request) {
    const Job *job = find_job(session, request);
    if (job) send_job(session, request->id, job);
}

static void on_cancel(Session *session, Request *request) {
    Job *job = find_job(session, request);
    if (!job) return;
    if (job->state != JOB_FINISHED)
        scheduler_end(job->scheduler, job, CODE_CANCELLED, "cancelled by its client");
    send_job(session, request->id, job);
}

typedef struct Listing {
    const JobFilter *filter;
    Job *jobs[REQUEST_MAX_LISTED];
    size_t n_jobs;
    bool more;
} Listing;

static bool list_job(Job *job, void *data) {
    Listing *listing = data;
    if (!job_filter_matches(listing->filter, job)) return true;
    listing->more = listing->n_jobs == listing->filter->max_jobs;
    if (listing->more) return false;
    listing->jobs[listing->n_jobs++] = job;
    return true;
}

static void on_list(Session *session, Request *request) {
    Listing listing = {.filter = &request->filter};
    const Registry *registry = session->broker->scheduler.registry;
    if (session->is_admin)
        registry_each(registry, list_job, &listing);
    else
        registry_each_of(registry, session->peer.id, list_job, &listing);
    ReplyFrame frame;
    const int r = reply_jobs(request->id, listing.jobs, listing.n_jobs, listing.more, &frame);
    send_frame(session, r, &frame);
}

static void on_status(Session *session, Request *request) {
    const Broker *broker = session->broker;
    const uint64_t now_ms = clock_mono_ms();
    const StatusReport status = {
        .scheduler = &broker->scheduler,
        .uptime_ms = now_ms - broker->started_ms,
        .now_ms = now_ms,
        .n_connections = broker->n_sessions,
        .config_generation = broker->generation,
    };
    ReplyFrame frame;
    send_frame(session, reply_status(request->id, &status, &frame), &frame);
}

static void on_consulted(Consult *consult, void *data) {
    Session *session = data;
    ReplyFrame frame;
    const int r = reply_doctor(consult->request_id, consult->reports, consult->n_reports, &frame);
    send_frame(session, r, &frame);
    consult_free(consult);
}

static void on_doctor(Session *session, Request *request) {
    Scheduler *scheduler = &session->broker->scheduler;
    if (request->profile && !scheduler_pool(scheduler, request->profile)) {
        Refusal refusal;
        refusal_set(&refusal, REFUSE_NOT_FOUND, "there is no profile '%s'", request->profile);
        send_refusal(session, request->id, &refusal);
        return;
    }
    if (!list_empty(&session->consults)) {
        refuse(session, request->id, REFUSE_RESOURCE_EXHAUSTED,
               "an examination that this connection asked for is still going on");
        return;
    }
    const int r = consult_start(scheduler, request->profile, request->id, &session->consults,
                                on_consulted, session);
    if (r < 0) refuse(session, request->id, REFUSE_INTERNAL, "the self-test could not be started");
}

static void on_drain(Session *session, Request *request) {
    scheduler_drain(&session->broker->scheduler, true);
    send_done(session, request->id, "draining: nothing more is accepted");
}

static void on_resume(Session *session, Request *request) {
    if (session->broker->stopping) {
        refuse(session, request->id, REFUSE_UNAVAILABLE, "the daemon is stopping");
        return;
    }
    scheduler_drain(&session->broker->scheduler, false);
    send_done(session, request->id, "accepting jobs");
}

static void on_reload(Session *session, Request *request) {
    char message[REFUSAL_MESSAGE_BYTES];
    if (broker_reload(session->broker, message, sizeof message) != 0)
        refuse(session, request->id, REFUSE_INVALID_ARGUMENT, message);
    else
        send_done(session, request->id, message);
}

typedef void (*RequestHandler)(Session *session, Request *request);

static const struct {
    RequestHandler handle;
    bool needs_admin;
} handlers[] = {
    [REQUEST_HELLO] = {on_hello, false},   [REQUEST_SUBMIT] = {on_submit, false},
    [REQUEST_WAIT] = {on_wait, false},     [REQUEST_GET] = {on_get, false},
    [REQUEST_LIST] = {on_list, false},     [REQUEST_CANCEL] = {on_cancel, false},
    [REQUEST_STATUS] = {on_status, false}, [REQUEST_DOCTOR] = {on_doctor, false},
    [REQUEST_DRAIN] = {on_drain, true},    [REQUEST_RESUME] = {on_resume, true},
    [REQUEST_RELOAD] = {on_reload, true},
};

/* Asked anew each time: a reload may have taken rights away. */
static bool check_access(Session *session) {
    const Broker *broker = session->broker;
    session->is_admin = peer_rule_admits(broker->admin_rule, &session->peer);
    return session->is_admin || peer_rule_admits(broker->submit_rule, &session->peer);
}

static void handle(Session *session, Request *request) {
    if (!check_access(session)) {
        refuse(session, request->id, REFUSE_PERMISSION_DENIED, "access: no longer names this user");
        connection_finish(session->connection);
    } else if (!session->greeted && request->kind != REQUEST_HELLO) {
        refuse(session, request->id, REFUSE_HELLO_REQUIRED, "Hello comes first");
        connection_finish(session->connection);
    } else if (handlers[request->kind].needs_admin && !session->is_admin) {
        refuse(session, request->id, REFUSE_PERMISSION_DENIED, "only admins may do this");
    } else {
        handlers[request->kind].handle(session, request);
    }
}

static void on_frame(Connection *connection, const uint8_t *payload, size_t payload_bytes,
                     void *data) {
    Session *session = data;
    CLEANUP(request_deinit) Request request = {0};
    Refusal refusal;
    const int r = request_decode(payload, payload_bytes, &request, &refusal);
    if (r == 0) {
        handle(session, &request);
        return;
    }
    if (r < 0) refusal_set(&refusal, REFUSE_INTERNAL, "out of memory");
    send_refusal(session, request.id, &refusal);
    if (refusal.code == REFUSE_MALFORMED) connection_finish(connection);
}

static void on_refused(Connection *connection, ConnectionFault fault, void *data) {
    static const struct {
        RefusalCode code;
        const char *message;
    } faults[] = {
        [CONNECTION_FRAME_TOO_LARGE] = {REFUSE_FRAME_TOO_LARGE,
                                        "the frame is larger than this daemon takes"},
        [CONNECTION_OVER_BUDGET] = {REFUSE_RESOURCE_EXHAUSTED,
                                    "too much is being received at this moment"},
        [CONNECTION_TOO_SLOW] = {REFUSE_RESOURCE_EXHAUSTED, "the frame did not come in time"},
    };
    (void)connection;
    refuse(data, 0, faults[fault].code, faults[fault].message);
}

/* As much as unfinished jobs may hold, and half of it for one peer, but always one frame: nobody
 * keeps the others from submitting by what he only announces. */
static bool may_receive(Connection *connection, size_t payload_bytes, void *data) {
    (void)connection;
    const Session *session = data;
    const Config *config = session->broker->config;
    const uint64_t half = config->queue_max_bytes / 2;
    const uint64_t share = half > config->max_frame_bytes ? half : config->max_frame_bytes;
    uint64_t all = payload_bytes, own = payload_bytes;
    list_each(link, &session->broker->sessions) {
        const Session *other = list_entry(link, Session, link);
        const size_t receiving = connection_receiving(other->connection);
        all += receiving;
        if (strcmp(other->peer.id, session->peer.id) == 0) own += receiving;
    }
    return all <= config->queue_max_bytes && own <= share;
}

static void on_closed(Connection *connection, void *data) {
    (void)connection;
    session_free(data);
}

static void on_hello_deadline(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    Session *session = data;
    refuse(session, 0, REFUSE_HELLO_REQUIRED, "no Hello came in time");
    connection_finish(session->connection);
}

/* ---- life ---- */

static int arm_hello(Session *session) {
    session->hello_deadline = evtimer_new(session->broker->base, on_hello_deadline, session);
    if (!session->hello_deadline) return error_origin(-ENOMEM);
    const int r = timer_arm(session->hello_deadline, session->broker->config->hello_timeout_ms);
    return r == 0 ? 0 : error_origin(-ENOMEM);
}

int session_new(Broker *broker, int fd, Peer *peer, Session **ret_session) {
    Session *session = calloc(1, sizeof *session);
    if (!session) return error_origin(-ENOMEM);
    session->broker = broker;
    list_init(&session->link);
    list_init(&session->followed);
    list_init(&session->consults);
    const ConnectionLimits limits = {
        .max_frame_bytes = broker->config->max_frame_bytes,
        .max_unsent_bytes = broker->config->max_unsent_bytes,
        .frame_ms = FRAME_MS,
    };
    const ConnectionOwner owner = {on_frame, on_refused, may_receive, on_closed, session};
    int r = arm_hello(session);
    if (r == 0) r = connection_new(broker->base, fd, limits, owner, &session->connection);
    if (r < 0) {
        if (session->hello_deadline) event_free(session->hello_deadline);
        free(session);
        return error_fold(r);
    }
    session->peer = *peer;
    *peer = (Peer){0};
    list_append(&broker->sessions, &session->link);
    broker->n_sessions++;
    *ret_session = session;
    return 0;
}

Session *session_free(Session *session) {
    if (!session) return NULL;
    list_each(link, &session->followed) unfollow(list_entry(link, Follower, session_link));
    consult_forget_all(&session->consults);
    event_free(session->hello_deadline);
    connection_free(session->connection);
    peer_deinit(&session->peer);
    list_remove(&session->link);
    session->broker->n_sessions--;
    free(session);
    return NULL;
}

void session_finish_all(Broker *broker) {
    list_each(link, &broker->sessions)
        connection_finish(list_entry(link, Session, link)->connection);
}

void session_free_all(Broker *broker) {
    list_each(link, &broker->sessions) session_free(list_entry(link, Session, link));
}

static const struct {
    RefusalCode code;
    const char *text;
} admissions[ADMISSION_COUNT] = {
    [ADMISSION_NO_CREDENTIALS] = {REFUSE_PERMISSION_DENIED, "no credentials"},
    [ADMISSION_NO_ACCESS] = {REFUSE_PERMISSION_DENIED, "not in access:"},
    [ADMISSION_MAX_CONNECTIONS] = {REFUSE_RESOURCE_EXHAUSTED, "listen.max_connections"},
    [ADMISSION_MAX_CONNECTIONS_PER_PEER] = {REFUSE_RESOURCE_EXHAUSTED,
                                            "listen.max_connections_per_peer"},
    [ADMISSION_FAILED] = {REFUSE_INTERNAL, "no session could be made"},
};

const char *admission_text(Admission admission) {
    return admission == ADMISSION_GRANTED ? "granted" : admissions[admission].text;
}

void session_turn_away(int fd, Admission admission) {
    Refusal refusal;
    refusal_set(&refusal, admissions[admission].code, "connection refused: %s",
                admission_text(admission));
    ReplyFrame frame;
    if (reply_refusal(0, &refusal, &frame) < 0) return;
    /* A fresh socket's buffer takes one small frame; if not, the client sees the end alone. */
    if (send(fd, frame.bytes, frame.n_bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        log_debug("a refused client did not take the reason");
    free(frame.bytes);
}

unsigned session_count_peer(const Broker *broker, const char *peer_id) {
    unsigned n = 0;
    list_each(link, &broker->sessions) if (strcmp(list_entry(link, Session, link)->peer.id,
                                                  peer_id) == 0) n++;
    return n;
}
