#include "platform/peer.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

typedef struct IdList {
    unsigned *items;
    size_t n_items;
} IdList;

struct PeerRule {
    bool everyone;
    IdList users;
    IdList groups;
};

/* The kernel's own list of the peer's groups (SO_PEERGROUPS): asking the user database instead
 * could block, and would tell today's groups, not those the process has. */
static int read_groups(int fd, Peer *peer) {
    socklen_t size = 0;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) != 0 && errno != ERANGE)
        return error_origin(-errno);
    gid_t *groups = malloc(size + sizeof *groups);
    if (!groups) return error_origin(-ENOMEM);
    if (size > 0 && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) != 0) {
        free(groups);
        return error_origin(-errno);
    }
    peer->groups = groups;
    peer->n_groups = size / sizeof *groups;
    return 0;
}

int peer_identify(int fd, Peer *ret_peer) {
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
        return error_origin(-errno);
    Peer peer = {.user = credentials.uid};
    const int r = read_groups(fd, &peer);
    if (r < 0) return error_fold(r);
    peer.groups[peer.n_groups++] = credentials.gid; /* read_groups left room for it */
    snprintf(peer.id, sizeof peer.id, "uid:%u", peer.user);
    *ret_peer = peer;
    return 0;
}

void peer_deinit(Peer *peer) {
    free(peer->groups);
    *peer = (Peer){0};
}

static bool read_number(const char *text, unsigned *ret_id) {
    char *end;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || end == text || value >= (uid_t)-1) return false;
    *ret_id = (unsigned)value;
    return true;
}

static bool find_user(const char *name, unsigned *ret_id) {
    if (read_number(name, ret_id)) return true;
    const struct passwd *entry = getpwnam(name);
    if (entry) *ret_id = entry->pw_uid;
    return entry != NULL;
}

static bool find_group(const char *name, unsigned *ret_id) {
    if (read_number(name, ret_id)) return true;
    const struct group *entry = getgrnam(name);
    if (entry) *ret_id = entry->gr_gid;
    return entry != NULL;
}

static int resolve(const TextList *names, bool (*find)(const char *, unsigned *), IdList *ids,
                   bool *everyone, const char **ret_unknown) {
    ids->items = calloc(names->n_items + 1, sizeof *ids->items);
    if (!ids->items) return error_origin(-ENOMEM);
    for (size_t i = 0; i < names->n_items; i++) {
        if (everyone && strcmp(names->items[i], "*") == 0) {
            *everyone = true;
        } else if (find(names->items[i], &ids->items[ids->n_items])) {
            ids->n_items++;
        } else {
            *ret_unknown = names->items[i];
            return 1;
        }
    }
    return 0;
}

int peer_rule_new(const AccessRule *access, const char **ret_unknown, PeerRule **ret_rule) {
    PeerRule *rule = calloc(1, sizeof *rule);
    if (!rule) return error_origin(-ENOMEM);
    int r = resolve(&access->users, find_user, &rule->users, &rule->everyone, ret_unknown);
    if (r == 0) r = resolve(&access->groups, find_group, &rule->groups, NULL, ret_unknown);
    if (r != 0) {
        peer_rule_free(rule);
        return r;
    }
    *ret_rule = rule;
    return 0;
}

PeerRule *peer_rule_free(PeerRule *rule) {
    if (!rule) return NULL;
    free(rule->users.items);
    free(rule->groups.items);
    free(rule);
    return NULL;
}

static bool id_list_has(const IdList *list, unsigned id) {
    for (size_t i = 0; i < list->n_items; i++)
        if (list->items[i] == id) return true;
    return false;
}

bool peer_rule_admits(const PeerRule *rule, const Peer *peer) {
    if (rule->everyone || peer->user == 0 || peer->user == geteuid()) return true;
    if (id_list_has(&rule->users, peer->user)) return true;
    for (size_t i = 0; i < peer->n_groups; i++)
        if (id_list_has(&rule->groups, peer->groups[i])) return true;
    return false;
}
