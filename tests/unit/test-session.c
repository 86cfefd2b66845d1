#include "broker/session.h"

#include <errno.h>
#include <sys/socket.h>

#include "bench.h"
#include "suite.h"
#include "tbsandbox.pb-c.h"
#include "wire.h"

enum { CLIENT_BYTES = 1 << 20, MAX_FRAME_BYTES = 64 << 10, ALICE = 54321, BOB, CAROL };

/* A broker of its parts, without a socket of its own. */
static Bench bench;
static Broker broker;

/* A client at the other end of a session. */
typedef struct Client {
    int fd;
    uint8_t *bytes;
    size_t n_bytes;
    bool ended;
    ProtobufCMessage *reply; /* the last one */
} Client;

static void on_job_changed(Job *job) {
    session_job_changed(job);
}

static PeerRule *make_rule(const char *user) {
    AccessRule access = {{0}, {0}};
    PeerRule *rule = NULL;
    const char *unknown;
    if (user) ck_assert_int_eq(text_list_append(&access.users, user), 0);
    ck_assert_int_eq(peer_rule_new(&access, &unknown, &rule), 0);
    text_list_deinit(&access.users);
    return rule;
}

static void prepare(const char *script) {
    bench_prepare(&bench, script);
    bench.config->max_frame_bytes = MAX_FRAME_BYTES;
    bench.job_changed = on_job_changed;
}

static void start(void) {
    broker = (Broker){.config = bench.config, .generation = 1};
    broker.submit_rule = make_rule("*");
    broker.admin_rule = make_rule(NULL);
    broker.started_ms = clock_mono_ms();
    list_init(&broker.sessions);
    bench.scheduler = &broker.scheduler;
    bench_start(&bench);
    broker.base = bench.loop.base;
}

static void set_up(const char *script) {
    prepare(script);
    start();
}

static void tear_down(void) {
    session_free_all(&broker);
    ck_assert_uint_eq(broker.n_sessions, 0);
    peer_rule_free(broker.submit_rule);
    peer_rule_free(broker.admin_rule);
    bench_deinit(&bench);
}

/* ---- clients ---- */

static Client *connect_as(unsigned user) {
    int ends[2];
    Session *session;
    Client *client = calloc(1, sizeof *client);
    Peer peer = {.user = user};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    snprintf(peer.id, sizeof peer.id, "uid:%u", user);
    ck_assert_int_eq(session_new(&broker, ends[0], &peer, &session), 0);
    ck_assert_uint_eq(peer.id[0], 0); /* taken over */
    client->fd = ends[1];
    client->bytes = malloc(CLIENT_BYTES);
    return client;
}

static void hang_up(Client *client) {
    close(client->fd);
    wire_message_free(client->reply);
    free(client->bytes);
    free(client);
}

static void send_envelope(const Client *client, const Tb__Envelope *envelope) {
    uint8_t *frame = NULL;
    size_t n_bytes = 0;
    ck_assert_int_eq(wire_pack(&envelope->base, &frame, &n_bytes), 0);
    ck_assert_int_eq(send(client->fd, frame, n_bytes, MSG_NOSIGNAL), (ssize_t)n_bytes);
    free(frame);
}

static void drop_bytes(Client *client, size_t n_bytes) {
    client->n_bytes -= n_bytes;
    memmove(client->bytes, client->bytes + n_bytes, client->n_bytes);
}

/* Takes the next whole envelope, or sees the end. */
static bool has_reply(Client *client) {
    const ssize_t n = recv(client->fd, client->bytes + client->n_bytes,
                           CLIENT_BYTES - client->n_bytes, MSG_DONTWAIT);
    if (n > 0) client->n_bytes += (size_t)n;
    size_t payload_bytes = 0;
    if (client->n_bytes < WIRE_HEADER_BYTES) {
        client->ended = n == 0 || (n < 0 && errno == ECONNRESET);
        return client->ended;
    }
    ck_assert_int_eq(wire_payload_length(client->bytes, CLIENT_BYTES, &payload_bytes), 0);
    if (client->n_bytes < WIRE_HEADER_BYTES + payload_bytes) return false;
    client->reply = wire_message_free(client->reply);
    ck_assert_int_eq(wire_unpack(&tb__envelope__descriptor, client->bytes + WIRE_HEADER_BYTES,
                                 payload_bytes, &client->reply),
                     0);
    drop_bytes(client, WIRE_HEADER_BYTES + payload_bytes);
    return true;
}

/* The next reply; it answers `request_id`. Valid until the one after it. */
static const Tb__Envelope *expect(Client *client, uint64_t request_id,
                                  Tb__Envelope__BodyCase body) {
    loop_until(&bench.loop, has_reply(client));
    ck_assert_msg(!client->ended, "the session ended instead");
    const Tb__Envelope *envelope = (const Tb__Envelope *)client->reply;
    ck_assert_msg(envelope->body_case == body, "body %d instead of %d%s%s",
                  (int)envelope->body_case, (int)body,
                  envelope->body_case == TB__ENVELOPE__BODY_ERROR ? ": " : "",
                  envelope->body_case == TB__ENVELOPE__BODY_ERROR ? envelope->error->message : "");
    ck_assert_uint_eq(envelope->request_id, request_id);
    return envelope;
}

static void expect_error(Client *client, uint64_t request_id, Tb__ErrorCode code,
                         const char *part) {
    const Tb__Error *error = expect(client, request_id, TB__ENVELOPE__BODY_ERROR)->error;
    ck_assert_int_eq(error->code, code);
    ck_assert_msg(strstr(error->message, part), "'%s' lacks '%s'", error->message, part);
}

static void expect_end(Client *client) {
    loop_until(&bench.loop, has_reply(client));
    ck_assert(client->ended);
}

static void expect_silence(Client *client) {
    loop_idle(&bench.loop);
    ck_assert(!has_reply(client));
}

/* ---- requests ---- */

#define REQUEST(name, id, BODY, field, message)                                                    \
    Tb__Envelope name = TB__ENVELOPE__INIT;                                                        \
    name.request_id = (id);                                                                        \
    name.body_case = TB__ENVELOPE__BODY_##BODY;                                                    \
    name.field = (message)

static void say_hello(Client *client, uint32_t protocol) {
    Tb__Hello hello = TB__HELLO__INIT;
    hello.protocol = protocol;
    hello.software = (char *)"test";
    REQUEST(envelope, 1, HELLO, hello, &hello);
    send_envelope(client, &envelope);
}

static Client *greet_as(unsigned user) {
    Client *client = connect_as(user);
    say_hello(client, 1);
    const Tb__Hello *hello = expect(client, 1, TB__ENVELOPE__BODY_HELLO)->hello;
    ck_assert_uint_eq(hello->protocol, 1);
    ck_assert_uint_eq(hello->max_frame_bytes, MAX_FRAME_BYTES);
    return client;
}

static void submit(Client *client, uint64_t id, const char *key, const char *code, bool follows) {
    Tb__Submit message = TB__SUBMIT__INIT;
    message.idempotency_key = (char *)key;
    message.file_name = (char *)"generated.py";
    message.profile = (char *)"stdlib";
    message.code = (ProtobufCBinaryData){strlen(code), (uint8_t *)code};
    message.follow = follows;
    REQUEST(envelope, id, SUBMIT, submit, &message);
    send_envelope(client, &envelope);
}

/* Submits and keeps the job's id. */
static void submit_job(Client *client, const char *key, const char *code,
                       char ret_id[JOB_ID_BYTES]) {
    submit(client, 100, key, code, false);
    const Tb__Accepted *accepted = expect(client, 100, TB__ENVELOPE__BODY_ACCEPTED)->accepted;
    ck_assert_uint_eq(strlen(accepted->job_id), JOB_ID_BYTES - 1);
    snprintf(ret_id, JOB_ID_BYTES, "%s", accepted->job_id);
}

static void ask_wait(Client *client, uint64_t id, const char *job_id, bool events) {
    Tb__Wait message = TB__WAIT__INIT;
    message.job_id = (char *)job_id;
    message.events = events;
    REQUEST(envelope, id, WAIT, wait, &message);
    send_envelope(client, &envelope);
}

static void ask_get(Client *client, uint64_t id, const char *job_id) {
    Tb__Get message = TB__GET__INIT;
    message.job_id = (char *)job_id;
    REQUEST(envelope, id, GET, get, &message);
    send_envelope(client, &envelope);
}

static void ask_cancel(Client *client, uint64_t id, const char *job_id) {
    Tb__Cancel message = TB__CANCEL__INIT;
    message.job_id = (char *)job_id;
    REQUEST(envelope, id, CANCEL, cancel, &message);
    send_envelope(client, &envelope);
}

static const Tb__JobList *list_jobs(Client *client, uint32_t max_jobs) {
    Tb__List message = TB__LIST__INIT;
    message.max_jobs = max_jobs;
    REQUEST(envelope, 9, LIST, list, &message);
    send_envelope(client, &envelope);
    return expect(client, 9, TB__ENVELOPE__BODY_JOBS)->jobs;
}

static void ask_drain(Client *client, uint64_t id) {
    Tb__Drain message = TB__DRAIN__INIT;
    REQUEST(envelope, id, DRAIN, drain, &message);
    send_envelope(client, &envelope);
}

static void ask_resume(Client *client, uint64_t id) {
    Tb__Resume message = TB__RESUME__INIT;
    REQUEST(envelope, id, RESUME, resume, &message);
    send_envelope(client, &envelope);
}

static void ask_reload(Client *client, uint64_t id) {
    Tb__Reload message = TB__RELOAD__INIT;
    REQUEST(envelope, id, RELOAD, reload, &message);
    send_envelope(client, &envelope);
}

static void ask_doctor(Client *client, uint64_t id, const char *profile) {
    Tb__Doctor message = TB__DOCTOR__INIT;
    message.profile = (char *)profile;
    REQUEST(envelope, id, DOCTOR, doctor, &message);
    send_envelope(client, &envelope);
}

static const Tb__Status *get_status(Client *client) {
    Tb__GetStatus message = TB__GET_STATUS__INIT;
    REQUEST(envelope, 8, GET_STATUS, get_status, &message);
    send_envelope(client, &envelope);
    return expect(client, 8, TB__ENVELOPE__BODY_STATUS)->status;
}

/* ---- hello ---- */

START_TEST(hello_comes_first) {
    set_up("ready");
    Client *client = connect_as(ALICE);
    submit(client, 5, "key", "pass", false);
    expect_error(client, 5, TB__ERROR_CODE__HELLO_REQUIRED, "Hello comes first");
    expect_end(client);
    ck_assert_uint_eq(broker.n_sessions, 0);
    ck_assert_uint_eq(broker.scheduler.totals.accepted, 0);
    hang_up(client);
    tear_down();
}
END_TEST

START_TEST(another_protocol_is_refused) {
    set_up("ready");
    Client *client = connect_as(ALICE);
    say_hello(client, 2);
    expect_error(client, 1, TB__ERROR_CODE__VERSION_MISMATCH, "protocol 1");
    expect_end(client);
    hang_up(client);
    tear_down();
}
END_TEST

START_TEST(hello_has_a_deadline) {
    set_up("ready");
    Client *greeted = greet_as(ALICE);
    bench.config->hello_timeout_ms = 30;
    Client *silent = connect_as(BOB);
    expect_error(silent, 0, TB__ERROR_CODE__HELLO_REQUIRED, "in time");
    expect_end(silent);
    ck_assert_uint_eq(broker.n_sessions, 1); /* who greeted stays */
    hang_up(silent);
    hang_up(greeted);
    tear_down();
}
END_TEST

START_TEST(what_is_no_request_ends_the_session) {
    set_up("ready");
    Client *client = greet_as(ALICE), *large = greet_as(ALICE), *other = greet_as(BOB);
    ck_assert_int_eq(send(client->fd, "\0\0\0\3\xff\xff\xff", 7, MSG_NOSIGNAL), 7);
    expect_error(client, 0, TB__ERROR_CODE__MALFORMED, "no message");
    expect_end(client);
    ck_assert_int_eq(send(large->fd, "\x7f\0\0\0", 4, MSG_NOSIGNAL), 4);
    expect_error(large, 0, TB__ERROR_CODE__FRAME_TOO_LARGE, "larger");
    expect_end(large);
    ck_assert_uint_eq(get_status(other)->connections, 1); /* nobody else is affected */
    hang_up(client);
    hang_up(large);
    hang_up(other);
    tear_down();
}
END_TEST

START_TEST(an_unknown_request_leaves_the_session) {
    /* Field 1900 of a later version. */
    static const uint8_t frame[] = {0, 0, 0, 5, 0x08, 0x05, 0xe2, 0x76, 0x00};
    set_up("ready");
    Client *client = greet_as(ALICE);
    ck_assert_int_eq(send(client->fd, frame, sizeof frame, MSG_NOSIGNAL), (ssize_t)sizeof frame);
    expect_error(client, 5, TB__ERROR_CODE__UNIMPLEMENTED, "does not know");
    get_status(client);
    hang_up(client);
    tear_down();
}
END_TEST

/* ---- jobs ---- */

START_TEST(a_follower_gets_events_and_then_the_verdict) {
    set_up("ready");
    Client *client = greet_as(ALICE);
    submit(client, 7, "key", "crash pass", true);
    const Tb__Accepted *accepted = expect(client, 7, TB__ENVELOPE__BODY_ACCEPTED)->accepted;
    char id[JOB_ID_BYTES];
    snprintf(id, sizeof id, "%s", accepted->job_id);
    ck_assert(!accepted->known);
    static const Tb__JobState states[] = {TB__JOB_STATE__RUNNING, TB__JOB_STATE__QUEUED,
                                          TB__JOB_STATE__RUNNING};
    for (unsigned i = 0; i < 3; i++) {
        const Tb__JobEvent *event = expect(client, 7, TB__ENVELOPE__BODY_EVENT)->event;
        ck_assert_str_eq(event->job_id, id);
        ck_assert_int_eq(event->state, states[i]);
        ck_assert_uint_eq(event->attempt, i < 2 ? 1 : 2);
    }
    const Tb__Verdict *verdict = expect(client, 7, TB__ENVELOPE__BODY_VERDICT)->verdict;
    ck_assert_str_eq(verdict->job_id, id);
    ck_assert_int_eq(verdict->kind, TB__VERDICT_KIND__PASSED);
    expect_silence(client);
    /* The same key again: the job is known and its verdict is there. */
    submit(client, 8, "key", "pass", true);
    ck_assert(expect(client, 8, TB__ENVELOPE__BODY_ACCEPTED)->accepted->known);
    ck_assert_str_eq(expect(client, 8, TB__ENVELOPE__BODY_VERDICT)->verdict->job_id, id);
    hang_up(client);
    tear_down();
}
END_TEST

START_TEST(who_waits_gets_the_verdict_alone) {
    set_up("mute");
    Client *client = greet_as(ALICE), *second = greet_as(ALICE);
    char id[JOB_ID_BYTES];
    submit_job(client, "key", "pass", id);
    ask_wait(second, 4, id, false);
    ask_wait(second, 5, id, false);
    expect_silence(second);
    ask_cancel(client, 6, id);
    const Tb__Job *job = expect(client, 6, TB__ENVELOPE__BODY_JOB)->job;
    ck_assert_int_eq(job->state, TB__JOB_STATE__FINISHED);
    ck_assert_str_eq(job->verdict->failures[0]->code, "cancelled");
    for (uint64_t request_id = 4; request_id <= 5; request_id++) {
        const Tb__Verdict *verdict =
            expect(second, request_id, TB__ENVELOPE__BODY_VERDICT)->verdict;
        ck_assert_int_eq(verdict->kind, TB__VERDICT_KIND__INFRASTRUCTURE_FAILURE);
    }
    ask_wait(second, 7, id, true); /* afterwards too */
    expect(second, 7, TB__ENVELOPE__BODY_VERDICT);
    ask_cancel(client, 8, id); /* a finished job stays as it is */
    job = expect(client, 8, TB__ENVELOPE__BODY_JOB)->job;
    ck_assert_str_eq(job->verdict->failures[0]->code, "cancelled");
    hang_up(client);
    hang_up(second);
    tear_down();
}
END_TEST

START_TEST(a_client_that_goes_does_not_take_its_job_along) {
    set_up("mute ready");
    Client *client = greet_as(ALICE), *other = greet_as(ALICE);
    char id[JOB_ID_BYTES];
    submit_job(other, "key", "pass", id);
    ask_wait(client, 3, id, true);
    ask_wait(other, 4, id, true);
    loop_idle(&bench.loop);
    hang_up(client);
    loop_until(&bench.loop, broker.n_sessions == 1);
    environment_close(
        list_entry(list_first(&bench_pool(&bench)->environments), Environment, pool_link));
    expect(other, 4, TB__ENVELOPE__BODY_EVENT);
    const Tb__Verdict *verdict = expect(other, 4, TB__ENVELOPE__BODY_VERDICT)->verdict;
    ck_assert_int_eq(verdict->kind, TB__VERDICT_KIND__PASSED);
    hang_up(other);
    tear_down();
}
END_TEST

START_TEST(a_refused_job_says_why) {
    prepare("mute");
    bench.config->queue_max_jobs = 1;
    start();
    Client *client = greet_as(ALICE);
    char id[JOB_ID_BYTES];
    submit_job(client, "a", "pass", id);
    submit(client, 2, "b", "pass", true);
    expect_error(client, 2, TB__ERROR_CODE__RESOURCE_EXHAUSTED, "queue is full");
    ck_assert_uint_gt(((const Tb__Envelope *)client->reply)->error->retry_after_ms, 0);
    submit(client, 3, "not a token", "pass", true);
    expect_error(client, 3, TB__ERROR_CODE__INVALID_ARGUMENT, "idempotency key");
    hang_up(client);
    tear_down();
}
END_TEST

/* ---- who may see what ---- */

START_TEST(a_peer_sees_its_own_jobs_alone) {
    set_up("mute");
    Client *alice = greet_as(ALICE), *bob = greet_as(BOB), *root = greet_as(0);
    char id[JOB_ID_BYTES], other_id[JOB_ID_BYTES];
    submit_job(alice, "key", "pass", id);
    submit_job(bob, "key", "pass", other_id);
    ck_assert_str_ne(id, other_id); /* a key is its peer's own */
    ask_get(bob, 3, id);
    expect_error(bob, 3, TB__ERROR_CODE__NOT_FOUND, "there is no job");
    ask_wait(bob, 4, id, true);
    expect_error(bob, 4, TB__ERROR_CODE__NOT_FOUND, "there is no job");
    ask_cancel(bob, 5, id);
    expect_error(bob, 5, TB__ERROR_CODE__NOT_FOUND, "there is no job");
    ask_get(bob, 6, "j-0000000000000000");
    expect_error(bob, 6, TB__ERROR_CODE__NOT_FOUND,
                 "there is no job"); /* told apart from nothing */
    const Tb__JobList *list = list_jobs(bob, 0);
    ck_assert_uint_eq(list->n_jobs, 1);
    ck_assert_str_eq(list->jobs[0]->job_id, other_id);
    list = list_jobs(root, 0);
    ck_assert_uint_eq(list->n_jobs, 2);
    ck_assert_str_eq(list->jobs[0]->job_id, other_id); /* newest first */
    ck_assert_str_eq(list->jobs[1]->peer, "uid:54321");
    ask_get(root, 7, id);
    ck_assert_str_eq(expect(root, 7, TB__ENVELOPE__BODY_JOB)->job->job_id, id);
    ask_cancel(root, 8, id);
    expect(root, 8, TB__ENVELOPE__BODY_JOB);
    hang_up(alice);
    hang_up(bob);
    hang_up(root);
    tear_down();
}
END_TEST

START_TEST(a_list_is_cut_and_says_so) {
    set_up("mute");
    Client *client = greet_as(ALICE);
    char ids[3][JOB_ID_BYTES];
    for (int i = 0; i < 3; i++) {
        const char key[] = {(char)('a' + i), '\0'};
        submit_job(client, key, "pass", ids[i]);
    }
    const Tb__JobList *list = list_jobs(client, 2);
    ck_assert_uint_eq(list->n_jobs, 2);
    ck_assert(list->more);
    ck_assert_str_eq(list->jobs[0]->job_id, ids[2]);
    list = list_jobs(client, 3);
    ck_assert_uint_eq(list->n_jobs, 3);
    ck_assert(!list->more);
    hang_up(client);
    tear_down();
}
END_TEST

START_TEST(admins_alone_drain_resume_and_reload) {
    set_up("ready");
    Client *alice = greet_as(ALICE), *root = greet_as(0);
    ask_drain(alice, 2);
    expect_error(alice, 2, TB__ERROR_CODE__PERMISSION_DENIED, "only admins");
    ask_resume(alice, 3);
    expect_error(alice, 3, TB__ERROR_CODE__PERMISSION_DENIED, "only admins");
    ask_reload(alice, 4);
    expect_error(alice, 4, TB__ERROR_CODE__PERMISSION_DENIED, "only admins");
    ck_assert(!get_status(alice)->draining);
    ask_drain(root, 2);
    expect(root, 2, TB__ENVELOPE__BODY_DONE);
    ck_assert(get_status(alice)->draining);
    submit(alice, 5, "key", "pass", false);
    expect_error(alice, 5, TB__ERROR_CODE__UNAVAILABLE, "draining");
    ask_resume(root, 3);
    expect(root, 3, TB__ENVELOPE__BODY_DONE);
    submit(alice, 6, "key", "pass", false);
    expect(alice, 6, TB__ENVELOPE__BODY_ACCEPTED);
    broker.stopping = true;
    ask_resume(root, 4);
    expect_error(root, 4, TB__ERROR_CODE__UNAVAILABLE, "stopping");
    hang_up(alice);
    hang_up(root);
    tear_down();
}
END_TEST

START_TEST(a_bad_config_file_is_refused) {
    char file[96];
    set_up("ready");
    snprintf(file, sizeof file, "%s/config.yaml", bench.places.directory);
    FILE *stream = fopen(file, "we");
    ck_assert_ptr_nonnull(stream);
    fputs("no_such_key: 1\n", stream);
    fclose(stream);
    broker.config_file = file;
    ck_assert_int_eq(paths_init(&broker.paths), 0);
    Client *root = greet_as(0);
    ask_reload(root, 2);
    expect_error(root, 2, TB__ERROR_CODE__INVALID_ARGUMENT, "the old config stays");
    ck_assert_uint_eq(get_status(root)->config_generation, 1);
    paths_deinit(&broker.paths);
    hang_up(root);
    tear_down();
}
END_TEST

START_TEST(rights_are_asked_anew) {
    set_up("ready");
    Client *client = greet_as(ALICE);
    broker.submit_rule = (peer_rule_free(broker.submit_rule), make_rule(NULL));
    submit(client, 2, "key", "pass", false);
    expect_error(client, 2, TB__ERROR_CODE__PERMISSION_DENIED, "no longer names");
    expect_end(client);
    hang_up(client);
    tear_down();
}
END_TEST

/* ---- status, doctor, ends ---- */

START_TEST(status_counts) {
    set_up("ready");
    Client *client = greet_as(ALICE);
    submit(client, 2, "a", "pass", true);
    expect(client, 2, TB__ENVELOPE__BODY_ACCEPTED);
    expect(client, 2, TB__ENVELOPE__BODY_EVENT);
    expect(client, 2, TB__ENVELOPE__BODY_VERDICT);
    submit(client, 3, "b", "mute", true);
    expect(client, 3, TB__ENVELOPE__BODY_ACCEPTED);
    expect(client, 3, TB__ENVELOPE__BODY_EVENT);
    const Tb__Status *status = get_status(client);
    ck_assert_uint_eq(status->connections, 1);
    ck_assert_uint_eq(status->accepted_total, 2);
    ck_assert_uint_eq(status->passed_total, 1);
    ck_assert_uint_eq(status->running, 1);
    ck_assert_uint_eq(status->queued, 0);
    ck_assert_uint_eq(status->queue_max, bench.config->queue_max_jobs);
    ck_assert_uint_eq(status->n_profiles, 2);
    ck_assert_str_eq(status->profiles[0]->name, "stdlib");
    ck_assert_str_eq(status->profiles[0]->health, "serving");
    ck_assert_uint_eq(status->profiles[0]->busy, 1);
    ck_assert_str_eq(status->profiles[0]->version, "3.11.2");
    hang_up(client);
    tear_down();
}
END_TEST

START_TEST(doctor_answers_and_may_be_left) {
    set_up("ready");
    Client *client = greet_as(ALICE), *leaver = greet_as(BOB);
    ask_doctor(client, 2, "none");
    expect_error(client, 2, TB__ERROR_CODE__NOT_FOUND, "there is no profile");
    ask_doctor(leaver, 3, "");
    ask_doctor(client, 4, "stdlib");
    loop_until(&bench.loop, bench_pool(&bench)->doctor);
    hang_up(leaver);
    const Tb__DoctorReport *report =
        expect(client, 4, TB__ENVELOPE__BODY_DOCTOR_REPORT)->doctor_report;
    ck_assert(report->healthy);
    ck_assert_uint_eq(report->n_profiles, 1);
    ck_assert_uint_eq(report->profiles[0]->n_checks, doctor_n_programs);
    hang_up(client);
    tear_down();
}
END_TEST

/* ---- bounds ---- */

static Client *announce_as(unsigned user, uint32_t payload_bytes) {
    Client *client = connect_as(user);
    const uint8_t header[] = {(uint8_t)(payload_bytes >> 24), (uint8_t)(payload_bytes >> 16),
                              (uint8_t)(payload_bytes >> 8), (uint8_t)payload_bytes};
    ck_assert_int_eq(send(client->fd, header, sizeof header, MSG_NOSIGNAL), sizeof header);
    loop_idle(&bench.loop);
    return client;
}

static void expect_admitted(Client *client) {
    expect_silence(client);
}

static void expect_over_budget(Client *client) {
    expect_error(client, 0, TB__ERROR_CODE__RESOURCE_EXHAUSTED, "too much is being received");
    expect_end(client);
}

START_TEST(what_is_announced_is_bounded_for_each_peer) {
    enum { FRAME = 100 << 10 };
    prepare("ready");
    bench.config->max_frame_bytes = FRAME;
    bench.config->queue_max_bytes = 4 * FRAME;
    start();
    Client *clients[7];
    expect_admitted(clients[0] = announce_as(ALICE, FRAME));
    expect_admitted(clients[1] = announce_as(ALICE, FRAME));
    expect_over_budget(clients[2] = announce_as(ALICE, FRAME)); /* half is hers */
    expect_admitted(clients[3] = announce_as(BOB, FRAME));
    expect_admitted(clients[4] = announce_as(CAROL, FRAME));
    expect_over_budget(clients[5] = announce_as(CAROL, FRAME)); /* all together have so much */
    hang_up(clients[0]);
    loop_idle(&bench.loop);
    expect_admitted(clients[6] = announce_as(CAROL, FRAME)); /* what was let go is free again */
    for (int i = 1; i < 7; i++) hang_up(clients[i]);
    tear_down();
}
END_TEST

START_TEST(one_whole_frame_may_always_be_announced) {
    enum { FRAME = 100 << 10 };
    prepare("ready");
    bench.config->max_frame_bytes = bench.config->queue_max_bytes = FRAME;
    start();
    Client *clients[] = {announce_as(ALICE, FRAME), announce_as(BOB, FRAME)};
    expect_admitted(clients[0]);
    expect_over_budget(clients[1]);
    for (int i = 0; i < 2; i++) hang_up(clients[i]);
    tear_down();
}
END_TEST

/* ---- ends ---- */

START_TEST(the_end_comes_after_the_last_words) {
    set_up("mute");
    Client *client = greet_as(ALICE);
    submit(client, 2, "key", "pass", true);
    expect(client, 2, TB__ENVELOPE__BODY_ACCEPTED);
    scheduler_end_all(&broker.scheduler, CODE_SHUTTING_DOWN, "stopped");
    session_finish_all(&broker);
    const Tb__Verdict *verdict = expect(client, 2, TB__ENVELOPE__BODY_VERDICT)->verdict;
    ck_assert_str_eq(verdict->failures[0]->code, "shutting_down");
    expect_end(client);
    ck_assert_uint_eq(broker.n_sessions, 0);
    hang_up(client);
    tear_down();
}
END_TEST

START_TEST(sessions_of_a_peer_are_counted) {
    set_up("ready");
    Client *clients[] = {connect_as(ALICE), connect_as(ALICE), connect_as(BOB)};
    ck_assert_uint_eq(session_count_peer(&broker, "uid:54321"), 2);
    ck_assert_uint_eq(session_count_peer(&broker, "uid:54322"), 1);
    ck_assert_uint_eq(session_count_peer(&broker, "uid:5432"), 0);
    ck_assert_uint_eq(broker.n_sessions, 3);
    for (int i = 0; i < 3; i++) hang_up(clients[i]);
    tear_down();
}
END_TEST

static void expect_turned_away(Admission admission, Tb__ErrorCode code, const char *why) {
    int ends[2];
    uint8_t bytes[512];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    session_turn_away(ends[0], admission);
    const ssize_t n = recv(ends[1], bytes, sizeof bytes, 0);
    ck_assert_int_gt(n, WIRE_HEADER_BYTES);
    ProtobufCMessage *message = NULL;
    ck_assert_int_eq(wire_unpack(&tb__envelope__descriptor, bytes + WIRE_HEADER_BYTES,
                                 (size_t)n - WIRE_HEADER_BYTES, &message),
                     0);
    const Tb__Envelope *envelope = (const Tb__Envelope *)message;
    ck_assert_int_eq(envelope->body_case, TB__ENVELOPE__BODY_ERROR);
    ck_assert_int_eq(envelope->error->code, code);
    ck_assert_ptr_nonnull(strstr(envelope->error->message, why));
    wire_message_free(message);
    close(ends[0]);
    close(ends[1]);
}

START_TEST(who_is_not_let_in_is_told_why) {
    expect_turned_away(ADMISSION_NO_CREDENTIALS, TB__ERROR_CODE__PERMISSION_DENIED, "credentials");
    expect_turned_away(ADMISSION_NO_ACCESS, TB__ERROR_CODE__PERMISSION_DENIED, "not in access:");
    expect_turned_away(ADMISSION_MAX_CONNECTIONS, TB__ERROR_CODE__RESOURCE_EXHAUSTED,
                       "listen.max_connections");
    expect_turned_away(ADMISSION_MAX_CONNECTIONS_PER_PEER, TB__ERROR_CODE__RESOURCE_EXHAUSTED,
                       "listen.max_connections_per_peer");
    expect_turned_away(ADMISSION_FAILED, TB__ERROR_CODE__INTERNAL, "no session");
}
END_TEST

SUITE_MAIN_OR(warden_stub, "session", hello_comes_first, another_protocol_is_refused,
              hello_has_a_deadline, what_is_no_request_ends_the_session,
              an_unknown_request_leaves_the_session, a_follower_gets_events_and_then_the_verdict,
              who_waits_gets_the_verdict_alone, a_client_that_goes_does_not_take_its_job_along,
              a_refused_job_says_why, a_peer_sees_its_own_jobs_alone, a_list_is_cut_and_says_so,
              admins_alone_drain_resume_and_reload, a_bad_config_file_is_refused,
              rights_are_asked_anew, status_counts, doctor_answers_and_may_be_left,
              the_end_comes_after_the_last_words, sessions_of_a_peer_are_counted,
              who_is_not_let_in_is_told_why, what_is_announced_is_bounded_for_each_peer,
              one_whole_frame_may_always_be_announced)
