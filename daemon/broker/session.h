/* Session: one client: its Hello, its rights, its requests and what it waits for. Sees only its own
 * peer's jobs unless it is an admin. Never owns a job: a client that vanishes changes nothing. */
#pragma once

#include "broker/broker.h"
#include "broker/connection.h"

typedef struct Session Session;

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
/* Tells a client that is not let in why (NULL: no reason to give), as far as it takes it at once.
 */
void session_turn_away(int fd, const char *why);
/* Number of sessions of a peer. */
unsigned session_count_peer(const Broker *broker, const char *peer_id);
