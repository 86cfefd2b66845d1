/* Session: one client: its Hello, its rights, its requests and what it waits for. Sees only its own
 * peer's jobs unless it is an admin. Never owns a job: a client that vanishes changes nothing. */
#pragma once

#include "broker/broker.h"
#include "broker/connection.h"

typedef struct Session Session;

/* Whether a connection becomes a session, and if not, why. */
typedef enum Admission {
    ADMISSION_GRANTED,
    ADMISSION_NO_CREDENTIALS,
    ADMISSION_NO_ACCESS,
    ADMISSION_MAX_CONNECTIONS,
    ADMISSION_MAX_CONNECTIONS_PER_PEER,
    ADMISSION_FAILED, /* no session could be made */
    ADMISSION_COUNT,
} Admission;

/* For people: log and client. */
const char *admission_text(Admission admission);

/* Takes over `fd` on success; `peer` is copied into it by move. 0 or -errno. */
int session_new(Broker *broker, int fd, Peer *peer, Session **ret_session);
/* Takes NULL, returns NULL. */
Session *session_free(Session *session);

/* The job's state changed: tells those who follow it; those who waited for its verdict are done. */
void session_job_changed(Job *job);
/* Ends every session once what it has to say is sent. */
void session_finish_all(Broker *broker);
/* Frees every session, whatever it has left to say. */
void session_free_all(Broker *broker);
/* Tells a client that is not let in why, as far as it takes it at once. */
void session_turn_away(int fd, Admission admission);
/* Number of sessions of a peer. */
unsigned session_count_peer(const Broker *broker, const char *peer_id);
