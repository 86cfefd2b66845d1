#include "platform/peer.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "suite.h"

enum { STRANGER = 54321, HIS_GROUP = 54322 };

static bool has_group(const Peer *peer, unsigned group) {
    for (size_t i = 0; i < peer->n_groups; i++)
        if (peer->groups[i] == group) return true;
    return false;
}

START_TEST(a_peer_is_who_the_kernel_says) {
    int ends[2];
    char id[PEER_ID_BYTES];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    Peer peer = {0};
    ck_assert_int_eq(peer_identify(ends[0], &peer), 0);
    snprintf(id, sizeof id, "uid:%u", (unsigned)getuid());
    ck_assert_str_eq(peer.id, id);
    ck_assert_uint_eq(peer.user, getuid());
    ck_assert(has_group(&peer, getgid()));
    gid_t groups[256];
    const int n_groups = getgroups(256, groups);
    for (int i = 0; i < n_groups; i++) ck_assert(has_group(&peer, groups[i]));
    peer_deinit(&peer);
    ck_assert_ptr_null(peer.groups);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(what_is_no_socket_has_no_peer) {
    Peer peer = {.user = 77};
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(peer_identify(ends[0], &peer), -ENOTSOCK);
    ck_assert_uint_eq(peer.user, 77);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

/* Asks a rule of one user and one group, either of which may be NULL. */
static bool admits(const char *user, const char *group, const Peer *peer) {
    AccessRule access = {{0}, {0}};
    PeerRule *rule = NULL;
    const char *unknown = NULL;
    if (user) ck_assert_int_eq(text_list_append(&access.users, user), 0);
    if (group) ck_assert_int_eq(text_list_append(&access.groups, group), 0);
    ck_assert_int_eq(peer_rule_new(&access, &unknown, &rule), 0);
    const bool admitted = peer_rule_admits(rule, peer);
    peer_rule_free(rule);
    text_list_deinit(&access.users);
    text_list_deinit(&access.groups);
    return admitted;
}

START_TEST(a_rule_admits_whom_it_names) {
    unsigned groups[] = {HIS_GROUP, 4};
    const Peer stranger = {.user = STRANGER, .groups = groups, .n_groups = 2};
    ck_assert(!admits(NULL, NULL, &stranger));
    ck_assert(admits("*", NULL, &stranger));
    ck_assert(admits("54321", NULL, &stranger));
    ck_assert(!admits("54322", NULL, &stranger)); /* his group's number, as a user */
    ck_assert(admits(NULL, "54322", &stranger));
    ck_assert(admits(NULL, "4", &stranger));
    ck_assert(!admits(NULL, "54321", &stranger));
    ck_assert(!admits("root", "root", &stranger));
}
END_TEST

START_TEST(root_and_our_own_user_are_always_admitted) {
    const Peer root = {.user = 0}, own = {.user = geteuid()}, stranger = {.user = STRANGER};
    ck_assert(admits(NULL, NULL, &root));
    ck_assert(admits(NULL, NULL, &own));
    ck_assert(!admits(NULL, NULL, &stranger));
}
END_TEST

START_TEST(names_are_looked_up_once) {
    unsigned groups[] = {0};
    const Peer peer = {.user = STRANGER, .groups = groups, .n_groups = 1};
    ck_assert(admits(NULL, "root", &peer));
    const Peer user = {.user = 1};
    ck_assert(admits("daemon", NULL, &user));
}
END_TEST

START_TEST(an_unknown_name_is_told) {
    static const char *const names[] = {"no-such-user-here", "-1", "4294967295", "12x", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        AccessRule access = {{0}, {0}};
        PeerRule *rule = NULL;
        const char *unknown = NULL;
        ck_assert_int_eq(text_list_append(&access.users, "root"), 0);
        ck_assert_int_eq(text_list_append(i % 2 ? &access.users : &access.groups, names[i]), 0);
        ck_assert_int_eq(peer_rule_new(&access, &unknown, &rule), 1);
        ck_assert_str_eq(unknown, names[i]);
        ck_assert_ptr_null(rule);
        text_list_deinit(&access.users);
        text_list_deinit(&access.groups);
    }
}
END_TEST

START_TEST(everyone_is_no_group) {
    AccessRule access = {{0}, {0}};
    PeerRule *rule = NULL;
    const char *unknown = NULL;
    ck_assert_int_eq(text_list_append(&access.groups, "*"), 0);
    ck_assert_int_eq(peer_rule_new(&access, &unknown, &rule), 1);
    ck_assert_str_eq(unknown, "*");
    text_list_deinit(&access.groups);
}
END_TEST

SUITE_MAIN("peer", a_peer_is_who_the_kernel_says, what_is_no_socket_has_no_peer,
           a_rule_admits_whom_it_names, root_and_our_own_user_are_always_admitted,
           names_are_looked_up_once, an_unknown_name_is_told, everyone_is_no_group)
