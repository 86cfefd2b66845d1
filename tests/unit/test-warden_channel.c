#include "warden/channel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "suite.h"
#include "warden.pb-c.h"
#include "wire.h"

typedef struct Messages {
    Tbw__Limits limits;
    Tbw__Variable variable;
    Tbw__Variable *variables[1];
    Tbw__Link link;
    Tbw__Link *links[1];
    Tbw__Root root;
    Tbw__Setup setup;
    Tbw__InputFile input;
    Tbw__InputFile *inputs[1];
    Tbw__Canary canary;
    Tbw__Canary *canaries[1];
    Tbw__Job job;
    Tbw__Message message;
} Messages;

static uint8_t nonce[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff};
static char *names[] = {(char *)"json", (char *)"math"};
static char *layers[] = {(char *)"session", (char *)"own_root"};
static char *paths[] = {(char *)"/usr/bin/python3.11", (char *)"/usr/lib/python3.11"};

static void make_limits(Messages *m) {
    m->limits = (Tbw__Limits)TBW__LIMITS__INIT;
    m->limits.wall_ms = 1, m->limits.cpu_ms = 2, m->limits.memory_bytes = 3;
    m->limits.output_bytes = 4, m->limits.disk_bytes = 5;
    m->limits.processes = 6, m->limits.open_files = 7;
}

static void make_root(Messages *m) {
    m->link = (Tbw__Link)TBW__LINK__INIT;
    m->link.path = (char *)"/lib", m->link.target = (char *)"usr/lib";
    m->links[0] = &m->link;
    m->root = (Tbw__Root)TBW__ROOT__INIT;
    m->root.n_paths = 2, m->root.paths = paths;
    m->root.n_links = 1, m->root.links = m->links;
}

static void make_setup(Messages *m) {
    make_limits(m);
    make_root(m);
    m->variable = (Tbw__Variable)TBW__VARIABLE__INIT;
    m->variable.name = (char *)"A", m->variable.value = (char *)"x";
    m->variables[0] = &m->variable;
    m->setup = (Tbw__Setup)TBW__SETUP__INIT;
    m->setup.environment_id = (char *)"e-1";
    m->setup.directory = (char *)"/run/e-1";
    m->setup.interpreter = (char *)"/usr/bin/python3";
    m->setup.n_environment = 1, m->setup.environment = m->variables;
    m->setup.n_preload = 2, m->setup.preload = names;
    m->setup.n_layers = 2, m->setup.layers = layers;
    m->setup.n_hidden = 1, m->setup.hidden = paths;
    m->setup.n_readable = 2, m->setup.readable = paths;
    m->setup.root = &m->root;
    m->setup.uid = 70001;
    m->setup.cgroup = (char *)"/sys/fs/cgroup/e-1";
    m->setup.limits = &m->limits;
    m->setup.ready_timeout_ms = 8;
    m->setup.keep_bytes = 9;
    m->message = (Tbw__Message)TBW__MESSAGE__INIT;
    m->message.body_case = TBW__MESSAGE__BODY_SETUP;
    m->message.setup = &m->setup;
}

static void make_job(Messages *m) {
    make_limits(m);
    m->input = (Tbw__InputFile)TBW__INPUT_FILE__INIT;
    m->input.name = (char *)"data.csv";
    m->input.content = (ProtobufCBinaryData){3, (uint8_t *)"a\0b"};
    m->inputs[0] = &m->input;
    m->canary = (Tbw__Canary)TBW__CANARY__INIT;
    m->canary.id = (char *)"c", m->canary.marker = (char *)"[R]";
    m->canary.value = (ProtobufCBinaryData){2, (uint8_t *)"\xff\0"};
    m->canaries[0] = &m->canary;
    m->job = (Tbw__Job)TBW__JOB__INIT;
    m->job.job_id = (char *)"j-1";
    m->job.nonce = (ProtobufCBinaryData){sizeof nonce, nonce};
    m->job.code = (ProtobufCBinaryData){4, (uint8_t *)"pass"};
    m->job.file_name = (char *)"g.py";
    m->job.n_inputs = 1, m->job.inputs = m->inputs;
    m->job.n_canaries = 1, m->job.canaries = m->canaries;
    m->job.n_protected_columns = 1, m->job.protected_columns = names;
    m->job.limits = &m->limits;
    m->message = (Tbw__Message)TBW__MESSAGE__INIT;
    m->message.body_case = TBW__MESSAGE__BODY_JOB;
    m->message.job = &m->job;
}

static int decode_setup(const Messages *m, Setup *setup) {
    uint8_t *frame;
    size_t n;
    ck_assert_int_eq(wire_pack(&m->message.base, &frame, &n), 0);
    const int r = warden_channel_decode_setup(frame + WIRE_HEADER_BYTES, n - WIRE_HEADER_BYTES,
                                              setup);
    free(frame);
    return r;
}

static int decode_order(const Messages *m, Order *order) {
    uint8_t *frame;
    size_t n;
    ck_assert_int_eq(wire_pack(&m->message.base, &frame, &n), 0);
    const int r = warden_channel_decode_order(frame + WIRE_HEADER_BYTES, n - WIRE_HEADER_BYTES,
                                              order);
    free(frame);
    return r;
}

START_TEST(a_setup_is_decoded) {
    Messages m;
    CLEANUP(setup_deinit) Setup setup = {0};
    make_setup(&m);
    ck_assert_int_eq(decode_setup(&m, &setup), 0);
    ck_assert_str_eq(setup.environment_id, "e-1");
    ck_assert_str_eq(setup.directory, "/run/e-1");
    ck_assert_str_eq(setup.interpreter, "/usr/bin/python3");
    ck_assert_uint_eq(setup.environment.n_items, 1);
    ck_assert_str_eq(setup.environment.items[0].value, "x");
    ck_assert_uint_eq(setup.preload.n_items, 2);
    ck_assert_str_eq(setup.preload.items[1], "math");
    ck_assert_uint_eq(setup.layers.n_items, 2);
    ck_assert_str_eq(setup.layers.items[0], "session");
    ck_assert_str_eq(setup.layers.items[1], "own_root");
    ck_assert_uint_eq(setup.hidden.n_items, 1);
    ck_assert_str_eq(setup.hidden.items[0], paths[0]);
    ck_assert_uint_eq(setup.readable.n_items, 2);
    ck_assert_str_eq(setup.readable.items[1], paths[1]);
    ck_assert_uint_eq(setup.root.paths.n_items, 2);
    ck_assert_str_eq(setup.root.paths.items[1], paths[1]);
    ck_assert_uint_eq(setup.root.n_links, 1);
    ck_assert_str_eq(setup.root.links[0].path, "/lib");
    ck_assert_str_eq(setup.root.links[0].target, "usr/lib");
    ck_assert_uint_eq(setup.uid, 70001);
    ck_assert_str_eq(setup.cgroup, "/sys/fs/cgroup/e-1");
    ck_assert(!setup.survey);
    ck_assert_str_eq(setup.warmup, "");
    ck_assert_uint_eq(setup.limits.wall_ms, 1);
    ck_assert_uint_eq(setup.limits.open_files, 7);
    ck_assert_uint_eq(setup.ready_timeout_ms, 8);
    ck_assert_uint_eq(setup.keep_bytes, 9);
}
END_TEST

START_TEST(a_setup_without_a_root_is_one_for_a_survey) {
    Messages m;
    CLEANUP(setup_deinit) Setup setup = {0};
    make_setup(&m);
    m.setup.root = NULL;
    m.setup.survey = true;
    m.setup.n_layers = 0;
    m.setup.cgroup = (char *)"";
    ck_assert_int_eq(decode_setup(&m, &setup), 0);
    ck_assert(setup.survey);
    ck_assert_uint_eq(setup.layers.n_items, 0);
    ck_assert_str_eq(setup.cgroup, "");
    ck_assert_uint_eq(setup.root.paths.n_items + setup.root.n_links, 0);
}
END_TEST

START_TEST(an_order_is_decoded) {
    Messages m;
    CLEANUP(order_deinit) Order order = {0};
    make_job(&m);
    ck_assert_int_eq(decode_order(&m, &order), 0);
    ck_assert_str_eq(order.job_id, "j-1");
    ck_assert_str_eq(order.nonce, "000102030405060708090a0b0c0d0eff");
    ck_assert_uint_eq(order.code.n_bytes, 4);
    ck_assert_str_eq(order.file_name, "g.py");
    ck_assert_uint_eq(order.n_inputs, 1);
    ck_assert_uint_eq(order.inputs[0].content.n_bytes, 3);
    ck_assert(memcmp(order.inputs[0].content.data, "a\0b", 3) == 0);
    ck_assert_uint_eq(order.canaries.n_items, 1);
    ck_assert_uint_eq(order.canaries.items[0].value.n_bytes, 2);
    ck_assert_str_eq(order.canaries.items[0].marker, "[R]");
    ck_assert_uint_eq(order.protected_columns.n_items, 1);
    ck_assert_uint_eq(order.limits.disk_bytes, 5);
}
END_TEST

#define SETUP_REFUSED(...)                                                                         \
    do {                                                                                           \
        Messages m;                                                                                \
        Setup setup;                                                                               \
        make_setup(&m);                                                                            \
        __VA_ARGS__;                                                                               \
        ck_assert_int_eq(decode_setup(&m, &setup), WARDEN_CHANNEL_E_MALFORMED);                    \
    } while (0)
#define ORDER_REFUSED(change)                                                                      \
    do {                                                                                           \
        Messages m;                                                                                \
        Order order;                                                                               \
        make_job(&m);                                                                              \
        change;                                                                                    \
        ck_assert_int_eq(decode_order(&m, &order), WARDEN_CHANNEL_E_MALFORMED);                    \
    } while (0)

START_TEST(what_is_out_of_bounds_is_refused) {
    SETUP_REFUSED(m.setup.directory = (char *)"run/e-1");
    SETUP_REFUSED(m.setup.interpreter = (char *)"");
    SETUP_REFUSED(m.setup.limits = NULL);
    SETUP_REFUSED(m.limits.cpu_ms = 0);
    SETUP_REFUSED(m.setup.ready_timeout_ms = 0);
    SETUP_REFUSED(m.setup.keep_bytes = UINT64_C(1) << 40);
    SETUP_REFUSED(make_job(&m));
    SETUP_REFUSED(m.root.paths = names);
    SETUP_REFUSED(m.root.paths = (char *[]){paths[0], (char *)"usr/lib"});
    SETUP_REFUSED(m.root.paths = (char *[]){paths[0], (char *)""});
    SETUP_REFUSED(m.link.path = (char *)"lib");
    SETUP_REFUSED(m.link.path = (char *)"");
    SETUP_REFUSED(m.link.target = (char *)"");
    ORDER_REFUSED(m.job.nonce.len = 15);
    ORDER_REFUSED(m.job.file_name = (char *)"../g.py");
    ORDER_REFUSED(m.input.name = (char *)"a/b");
    ORDER_REFUSED(m.input.name = (char *)"..");
    ORDER_REFUSED(m.canary.value.len = 0);
    ORDER_REFUSED(m.job.limits = NULL);
    ORDER_REFUSED(make_setup(&m));
}
END_TEST

static void connect_channel(WardenChannel **ret_channel, int *ret_peer) {
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_int_eq(warden_channel_new(ends[0], ret_channel), 0);
    *ret_peer = ends[1];
}

START_TEST(frames_may_come_in_pieces) {
    Messages m;
    WardenChannel *channel;
    uint8_t *frame;
    size_t n;
    int peer;
    CLEANUP(order_deinit) Order order = {0};
    make_job(&m);
    ck_assert_int_eq(wire_pack(&m.message.base, &frame, &n), 0);
    connect_channel(&channel, &peer);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(warden_channel_read_order(channel, &order), WARDEN_CHANNEL_E_MORE);
        ck_assert_int_eq(write(peer, frame + i, 1), 1);
    }
    ck_assert_int_eq(warden_channel_read_order(channel, &order), 0);
    ck_assert_str_eq(order.job_id, "j-1");
    close(peer);
    Order other;
    ck_assert_int_eq(warden_channel_read_order(channel, &other), WARDEN_CHANNEL_E_CLOSED);
    Setup setup;
    ck_assert_int_eq(warden_channel_wait_setup(channel, &setup), WARDEN_CHANNEL_E_CLOSED);
    ck_assert_int_eq(warden_channel_send_received(channel), WARDEN_CHANNEL_E_CLOSED);
    warden_channel_free(channel);
    free(frame);
}
END_TEST

START_TEST(a_huge_frame_is_refused) {
    static const uint8_t header[] = {0xff, 0xff, 0xff, 0xff};
    WardenChannel *channel;
    Setup setup;
    int peer;
    connect_channel(&channel, &peer);
    ck_assert_int_eq(write(peer, header, sizeof header), (ssize_t)sizeof header);
    ck_assert_int_eq(warden_channel_wait_setup(channel, &setup), WARDEN_CHANNEL_E_MALFORMED);
    close(peer);
    warden_channel_free(channel);
}
END_TEST

static Tbw__Message *receive(int peer) {
    uint8_t frame[4096];
    ProtobufCMessage *message = NULL;
    const ssize_t n = read(peer, frame, sizeof frame);
    ck_assert_int_gt(n, WIRE_HEADER_BYTES);
    ck_assert_int_eq(wire_unpack(&tbw__message__descriptor, frame + WIRE_HEADER_BYTES,
                                 (size_t)n - WIRE_HEADER_BYTES, &message),
                     0);
    return (Tbw__Message *)message;
}

START_TEST(reports_are_encoded) {
    WardenChannel *channel;
    int peer;
    connect_channel(&channel, &peer);
    const ReadyReport ready = {
        .version = (char *)"3.11.2",
        .hash_randomized = true,
        .hash_sample = 7,
        .enforced = {names, 2},
        .spawned_us = 8,
    };
    ck_assert_int_eq(warden_channel_send_ready(channel, &ready), 0);
    Tbw__Message *message = receive(peer);
    ck_assert_int_eq(message->body_case, TBW__MESSAGE__BODY_READY);
    ck_assert_str_eq(message->ready->version, "3.11.2");
    ck_assert_uint_eq(message->ready->hash_sample, 7);
    ck_assert_uint_eq(message->ready->n_enforced, 2);
    wire_message_free(&message->base);

    RootLink link = {(char *)"/lib", (char *)"usr/lib"};
    char *reasons[] = {(char *)"cannot a", (char *)"cannot b"};
    const SurveyReport survey = {{{paths, 2}, &link, 1}, {layers, 2}, {reasons, 2}};
    ck_assert_int_eq(warden_channel_send_survey(channel, &survey), 0);
    message = receive(peer);
    ck_assert_int_eq(message->body_case, TBW__MESSAGE__BODY_SURVEY);
    ck_assert_uint_eq(message->survey->root->n_paths, 2);
    ck_assert_str_eq(message->survey->root->paths[1], paths[1]);
    ck_assert_uint_eq(message->survey->root->n_links, 1);
    ck_assert_str_eq(message->survey->root->links[0]->path, "/lib");
    ck_assert_str_eq(message->survey->root->links[0]->target, "usr/lib");
    ck_assert_uint_eq(message->survey->n_missing, 2);
    ck_assert_str_eq(message->survey->missing[1]->name, "own_root");
    ck_assert_str_eq(message->survey->missing[1]->reason, "cannot b");
    wire_message_free(&message->base);

    const InvalidReport invalid = {.code = CODE_LAYER_MISSING, .dispatched = true};
    ck_assert_int_eq(warden_channel_send_invalid(channel, &invalid), 0);
    message = receive(peer);
    ck_assert_int_eq(message->body_case, TBW__MESSAGE__BODY_INVALID);
    ck_assert_str_eq(message->invalid->code, "layer_missing");
    ck_assert_str_eq(message->invalid->detail, "");
    ck_assert(message->invalid->dispatched);
    wire_message_free(&message->base);
    close(peer);
    warden_channel_free(channel);
}
END_TEST

START_TEST(a_result_is_encoded) {
    WardenChannel *channel;
    int peer;
    Failure finding = {.code = CODE_CANARY_LEAK, .subject = (char *)"c", .sink = (char *)"file"};
    finding.offset = 5;
    ProducedFile produced = {.name = (uint8_t *)"n\0m", .name_bytes = 3, .has_sha256 = true};
    produced.sha256[31] = 9;
    Facts facts = {.signal = 9, .killed_by_warden = true, .limit = CODE_TIMEOUT};
    facts.seen[PHASE_SPAWNED] = facts.seen[PHASE_REAPED] = true;
    facts.at_us[PHASE_REAPED] = 11;
    facts.findings = (FailureList){&finding, 1};
    facts.produced = &produced;
    facts.n_produced = 1;
    facts.out = (OutputFacts){.head = (uint8_t *)"hi", .head_bytes = 2, .total_bytes = 2};
    facts.fault_detail = (char *)"why";
    facts.limit_subject = (char *)"ptrace";
    connect_channel(&channel, &peer);
    ck_assert_int_eq(warden_channel_send_result(channel, &facts), 0);
    Tbw__Message *message = receive(peer);
    ck_assert_int_eq(message->body_case, TBW__MESSAGE__BODY_RESULT);
    const Tbw__Result *result = message->result;
    ck_assert_uint_eq(result->n_phases, 2);
    ck_assert_uint_eq(result->phases[1]->phase, PHASE_REAPED);
    ck_assert_uint_eq(result->phases[1]->at_us, 11);
    ck_assert_uint_eq(result->signal, 9);
    ck_assert(result->killed_by_warden);
    ck_assert_str_eq(result->limit, "timeout");
    ck_assert_str_eq(result->limit_subject, "ptrace");
    ck_assert_str_eq(result->fault, "");
    ck_assert_str_eq(result->fault_detail, "why");
    ck_assert_uint_eq(result->n_findings, 1);
    ck_assert_str_eq(result->findings[0]->code, "canary_leak");
    ck_assert_str_eq(result->findings[0]->sink, "file");
    ck_assert_uint_eq(result->findings[0]->offset, 5);
    ck_assert_uint_eq(result->n_produced, 1);
    ck_assert_uint_eq(result->produced[0]->name.len, 3);
    ck_assert_uint_eq(result->produced[0]->sha256.data[31], 9);
    ck_assert_uint_eq(result->stdout->head.len, 2);
    ck_assert_uint_eq(result->stderr->sha256.len, 32);
    wire_message_free(&message->base);
    close(peer);
    warden_channel_free(channel);
}
END_TEST

SUITE_MAIN("warden_channel", a_setup_is_decoded, a_setup_without_a_root_is_one_for_a_survey,
           an_order_is_decoded, what_is_out_of_bounds_is_refused, frames_may_come_in_pieces,
           a_huge_frame_is_refused, reports_are_encoded, a_result_is_encoded)
