/* Peer: who is at the other end of a connection, as the kernel says it, and whom a rule admits.
 * Never asks the peer itself and never looks a name up while a connection waits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"

enum { PEER_ID_BYTES = 192 };

typedef struct Peer {
    char id[PEER_ID_BYTES]; /* stable text, e.g. "uid:1000" */
    unsigned user;
    unsigned *groups;
    size_t n_groups;
} Peer;

typedef struct PeerRule PeerRule;

/* Identifies the peer of a connected socket; the caller calls peer_deinit. 0 or -errno. */
int peer_identify(int fd, Peer *ret_peer);
void peer_deinit(Peer *peer);

/* Resolves the names of a rule. 0, 1 when a name is unknown (*ret_unknown is borrowed from the
 * rule), or -ENOMEM. The caller frees the rule with peer_rule_free. */
int peer_rule_new(const AccessRule *access, const char **ret_unknown, PeerRule **ret_rule);
PeerRule *peer_rule_free(PeerRule *rule); /* takes NULL, returns NULL */

/* True when the rule names the peer; the daemon's own user and root are always admitted. */
bool peer_rule_admits(const PeerRule *rule, const Peer *peer);
