#include "warden/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sodium.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "warden.pb-c.h"
#include "wire.h"

enum {
    SETUP_MAX_BYTES = 16 << 20,
    ORDER_MAX_BYTES = (1 << 30) + (16 << 20), /* the largest public frame, and some */
    KEEP_MAX_BYTES = 16 << 20,
    SEND_LIMIT_MS = 30000,
};

struct WardenChannel {
    int fd;
    uint8_t header[WIRE_HEADER_BYTES];
    size_t header_done;
    uint8_t *payload; /* once the header is complete */
    size_t payload_bytes;
    size_t payload_done;
};

void ready_report_deinit(ReadyReport *report) {
    free(report->version);
    text_list_deinit(&report->enforced);
    *report = (ReadyReport){0};
}

void survey_report_deinit(SurveyReport *report) {
    root_plan_deinit(&report->plan);
    text_list_deinit(&report->missing);
    text_list_deinit(&report->reasons);
    *report = (SurveyReport){0};
}

int warden_channel_new(int fd, WardenChannel **ret_channel) {
    WardenChannel *channel = calloc(1, sizeof *channel);
    if (!channel || fcntl(fd, F_SETFL, O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        const int error = channel ? errno : ENOMEM;
        free(channel);
        close(fd);
        return error_origin(-error);
    }
    channel->fd = fd;
    *ret_channel = channel;
    return 0;
}

WardenChannel *warden_channel_free(WardenChannel *channel) {
    if (!channel) return NULL;
    close(channel->fd);
    free(channel->payload);
    free(channel);
    return NULL;
}

int warden_channel_fd(const WardenChannel *channel) {
    return channel->fd;
}

/* --- Receiving ----------------------------------------------------------------------------- */

/* Fills a buffer as far as bytes have come. */
static int receive(const WardenChannel *channel, uint8_t *buffer, size_t n_bytes, size_t *done) {
    while (*done < n_bytes) {
        const ssize_t n = recv(channel->fd, buffer + *done, n_bytes - *done, 0);
        if (n == 0) return WARDEN_CHANNEL_E_CLOSED;
        if (n > 0) {
            *done += (size_t)n;
        } else if (errno == EAGAIN) {
            return WARDEN_CHANNEL_E_MORE;
        } else if (errno == ECONNRESET) {
            return WARDEN_CHANNEL_E_CLOSED;
        } else if (errno != EINTR) {
            return error_origin(-errno);
        }
    }
    return 0;
}

/* Takes what has come of one frame; 0 when its payload is complete. */
static int read_frame(WardenChannel *channel, size_t max_payload_bytes) {
    int r = receive(channel, channel->header, sizeof channel->header, &channel->header_done);
    if (r != 0) return r;
    if (!channel->payload) {
        if (wire_payload_length(channel->header, max_payload_bytes, &channel->payload_bytes) != 0)
            return WARDEN_CHANNEL_E_MALFORMED;
        channel->payload = malloc(channel->payload_bytes + 1);
        if (!channel->payload) return error_origin(-ENOMEM);
    }
    return receive(channel, channel->payload, channel->payload_bytes, &channel->payload_done);
}

/* A payload may hold canaries. */
static void drop_frame(WardenChannel *channel) {
    sodium_memzero(channel->payload, channel->payload_bytes);
    free(channel->payload);
    channel->payload = NULL;
    channel->header_done = channel->payload_done = channel->payload_bytes = 0;
}

static int wait_readable(const WardenChannel *channel) {
    struct pollfd watched = {channel->fd, POLLIN, 0};
    while (poll(&watched, 1, -1) < 0)
        if (errno != EINTR) return error_origin(-errno);
    return 0;
}

int warden_channel_wait_setup(WardenChannel *channel, Setup *ret_setup) {
    int r;
    while ((r = read_frame(channel, SETUP_MAX_BYTES)) == WARDEN_CHANNEL_E_MORE) {
        r = wait_readable(channel);
        if (r < 0) return error_fold(r);
    }
    if (r != 0) return r;
    r = warden_channel_decode_setup(channel->payload, channel->payload_bytes, ret_setup);
    drop_frame(channel);
    return r;
}

int warden_channel_read_order(WardenChannel *channel, Order *ret_order) {
    int r = read_frame(channel, ORDER_MAX_BYTES);
    if (r != 0) return r;
    r = warden_channel_decode_order(channel->payload, channel->payload_bytes, ret_order);
    drop_frame(channel);
    return r;
}

/* --- Decoding ------------------------------------------------------------------------------ */

static int copy_text(const char *text, char **ret_text) {
    char *copy = strdup(text ? text : "");
    if (!copy) return error_origin(-ENOMEM);
    *ret_text = copy;
    return 0;
}

static int copy_texts(char *const *items, size_t n_items, TextList *list) {
    for (size_t i = 0; i < n_items; i++) {
        const int r = text_list_append(list, items[i]);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int copy_bytes(const ProtobufCBinaryData *from, Bytes *ret_bytes) {
    if (from->len == 0) return 0;
    uint8_t *data = malloc(from->len);
    if (!data) return error_origin(-ENOMEM);
    memcpy(data, from->data, from->len);
    *ret_bytes = (Bytes){data, from->len};
    return 0;
}

static bool take_limits(const Tbw__Limits *from, Limits *ret_limits) {
    if (!from) return false;
    *ret_limits = (Limits){
        .wall_ms = from->wall_ms,
        .cpu_ms = from->cpu_ms,
        .memory_bytes = from->memory_bytes,
        .output_bytes = from->output_bytes,
        .disk_bytes = from->disk_bytes,
        .processes = from->processes,
        .open_files = from->open_files,
    };
    return from->wall_ms && from->cpu_ms && from->memory_bytes && from->output_bytes &&
           from->disk_bytes && from->processes && from->open_files;
}

static int copy_root(const Tbw__Root *from, RootPlan *plan) {
    int r = copy_texts(from->paths, from->n_paths, &plan->paths);
    for (size_t i = 0; r == 0 && i < from->n_links; i++)
        r = root_plan_add_link(plan, from->links[i]->path, from->links[i]->target);
    return r < 0 ? error_fold(r) : 0;
}

/* It is made below a root, component by component, and no link there is followed. */
static bool is_root(const Tbw__Root *root) {
    for (size_t i = 0; root && i < root->n_paths; i++)
        if (root->paths[i][0] != '/') return false;
    for (size_t i = 0; root && i < root->n_links; i++)
        if (root->links[i]->path[0] != '/' || root->links[i]->target[0] == '\0') return false;
    return true;
}

static int copy_setup_lists(const Tbw__Setup *from, Setup *setup) {
    int r = copy_texts(from->preload, from->n_preload, &setup->preload);
    if (r == 0)
        r = copy_texts(from->allowed_imports, from->n_allowed_imports, &setup->allowed_imports);
    if (r == 0) r = copy_texts(from->refused_calls, from->n_refused_calls, &setup->refused_calls);
    if (r == 0)
        r = copy_texts(from->poisoned_modules, from->n_poisoned_modules, &setup->poisoned_modules);
    if (r == 0) r = copy_texts(from->layers, from->n_layers, &setup->layers);
    if (r == 0) r = copy_texts(from->readable, from->n_readable, &setup->readable);
    if (r == 0) r = copy_texts(from->hidden, from->n_hidden, &setup->hidden);
    if (r == 0 && from->root) r = copy_root(from->root, &setup->root);
    for (size_t i = 0; r == 0 && i < from->n_environment; i++)
        r = env_variable_list_append(&setup->environment, from->environment[i]->name,
                                     from->environment[i]->value);
    return r < 0 ? error_fold(r) : 0;
}

static int decode_setup(const Tbw__Message *message, Setup *setup) {
    const Tbw__Setup *from = message->setup;
    if (message->body_case != TBW__MESSAGE__BODY_SETUP ||
        !take_limits(from->limits, &setup->limits))
        return WARDEN_CHANNEL_E_MALFORMED;
    if (!is_root(from->root)) return WARDEN_CHANNEL_E_MALFORMED;
    if (from->directory[0] != '/' || from->interpreter[0] != '/' || from->ready_timeout_ms == 0 ||
        from->keep_bytes > KEEP_MAX_BYTES)
        return WARDEN_CHANNEL_E_MALFORMED;
    setup->ready_timeout_ms = from->ready_timeout_ms;
    setup->keep_bytes = (size_t)from->keep_bytes;
    setup->uid = from->uid;
    setup->survey = from->survey;
    int r = copy_text(from->environment_id, &setup->environment_id);
    if (r == 0) r = copy_text(from->directory, &setup->directory);
    if (r == 0) r = copy_text(from->interpreter, &setup->interpreter);
    if (r == 0) r = copy_text(from->warmup, &setup->warmup);
    if (r == 0) r = copy_text(from->cgroup, &setup->cgroup);
    if (r == 0) r = copy_setup_lists(from, setup);
    return r < 0 ? error_fold(r) : 0;
}

int warden_channel_decode_setup(const uint8_t *payload, size_t payload_bytes, Setup *ret_setup) {
    ProtobufCMessage *message = NULL;
    if (wire_unpack(&tbw__message__descriptor, payload, payload_bytes, &message) != 0)
        return WARDEN_CHANNEL_E_MALFORMED;
    CLEANUP(setup_deinit) Setup setup = {0};
    const int r = decode_setup((const Tbw__Message *)message, &setup);
    wire_message_free(message);
    if (r != 0) return r;
    *ret_setup = setup;
    setup = (Setup){0};
    return 0;
}

static int decode_inputs(const Tbw__Job *from, Order *order) {
    order->inputs = calloc(from->n_inputs + 1, sizeof *order->inputs);
    if (!order->inputs) return error_origin(-ENOMEM);
    for (size_t i = 0; i < from->n_inputs; i++) {
        OrderInput *input = &order->inputs[order->n_inputs++];
        if (!text_is_file_name(from->inputs[i]->name)) return WARDEN_CHANNEL_E_MALFORMED;
        int r = copy_text(from->inputs[i]->name, &input->name);
        if (r == 0) r = copy_bytes(&from->inputs[i]->content, &input->content);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int decode_canaries(const Tbw__Job *from, CanaryList *canaries) {
    canaries->items = calloc(from->n_canaries + 1, sizeof *canaries->items);
    if (!canaries->items) return error_origin(-ENOMEM);
    for (size_t i = 0; i < from->n_canaries; i++) {
        Canary *canary = &canaries->items[canaries->n_items++];
        if (from->canaries[i]->value.len == 0) return WARDEN_CHANNEL_E_MALFORMED;
        int r = copy_text(from->canaries[i]->id, &canary->id);
        if (r == 0) r = copy_bytes(&from->canaries[i]->value, &canary->value);
        if (r == 0) r = copy_text(from->canaries[i]->marker, &canary->marker);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int decode_order(const Tbw__Message *message, Order *order) {
    const Tbw__Job *from = message->job;
    if (message->body_case != TBW__MESSAGE__BODY_JOB || !take_limits(from->limits, &order->limits))
        return WARDEN_CHANNEL_E_MALFORMED;
    if (from->nonce.len != ORDER_NONCE_BYTES || !text_is_file_name(from->file_name))
        return WARDEN_CHANNEL_E_MALFORMED;
    sodium_bin2hex(order->nonce, sizeof order->nonce, from->nonce.data, from->nonce.len);
    int r = copy_text(from->job_id, &order->job_id);
    if (r == 0) r = copy_bytes(&from->code, &order->code);
    if (r == 0) r = copy_text(from->file_name, &order->file_name);
    if (r == 0)
        r = copy_texts(from->protected_columns, from->n_protected_columns,
                       &order->protected_columns);
    if (r == 0) r = decode_inputs(from, order);
    if (r == 0) r = decode_canaries(from, &order->canaries);
    return r;
}

int warden_channel_decode_order(const uint8_t *payload, size_t payload_bytes, Order *ret_order) {
    ProtobufCMessage *message = NULL;
    if (wire_unpack(&tbw__message__descriptor, payload, payload_bytes, &message) != 0)
        return WARDEN_CHANNEL_E_MALFORMED;
    CLEANUP(order_deinit) Order order = {0};
    const int r = decode_order((const Tbw__Message *)message, &order);
    wire_message_free(message);
    if (r != 0) return r;
    *ret_order = order;
    order = (Order){0};
    return 0;
}

/* --- Sending ------------------------------------------------------------------------------- */

static int send_bytes(const WardenChannel *channel, const uint8_t *bytes, size_t n_bytes) {
    const uint64_t deadline_ms = clock_mono_ms() + SEND_LIMIT_MS;
    for (size_t done = 0; done < n_bytes;) {
        const ssize_t n = send(channel->fd, bytes + done, n_bytes - done, MSG_NOSIGNAL);
        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        if (errno == EPIPE || errno == ECONNRESET) return WARDEN_CHANNEL_E_CLOSED;
        if (errno != EAGAIN && errno != EINTR) return error_origin(-errno);
        const uint64_t now_ms = clock_mono_ms();
        struct pollfd watched = {channel->fd, POLLOUT, 0};
        if (now_ms >= deadline_ms) return WARDEN_CHANNEL_E_CLOSED;
        if (poll(&watched, 1, (int)(deadline_ms - now_ms)) < 0 && errno != EINTR)
            return error_origin(-errno);
    }
    return 0;
}

static int send_message(const WardenChannel *channel, const Tbw__Message *message) {
    uint8_t *frame;
    size_t frame_bytes;
    int r = wire_pack(&message->base, &frame, &frame_bytes);
    if (r != 0) return r < 0 ? error_fold(r) : error_origin(-EMSGSIZE);
    r = send_bytes(channel, frame, frame_bytes);
    free(frame);
    return r;
}

int warden_channel_send_ready(WardenChannel *channel, const ReadyReport *report) {
    Tbw__Ready ready = TBW__READY__INIT;
    ready.version = report->version;
    ready.hash_randomized = report->hash_randomized;
    ready.hash_sample = report->hash_sample;
    ready.n_enforced = report->enforced.n_items;
    ready.enforced = report->enforced.items;
    ready.spawned_us = report->spawned_us;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_READY;
    message.ready = &ready;
    return send_message(channel, &message);
}

static Tbw__Link **encode_links(Arena *arena, const RootPlan *plan) {
    Tbw__Link *items = arena_take(arena, plan->n_links + 1, sizeof *items);
    Tbw__Link **pointers = arena_take(arena, plan->n_links + 1, sizeof *pointers);
    if (!items || !pointers) return NULL;
    for (size_t i = 0; i < plan->n_links; i++) {
        items[i] = (Tbw__Link)TBW__LINK__INIT;
        items[i].path = plan->links[i].path;
        items[i].target = plan->links[i].target;
        pointers[i] = &items[i];
    }
    return pointers;
}

static Tbw__MissingLayer **encode_missing(Arena *arena, const SurveyReport *report) {
    const size_t n = report->missing.n_items;
    Tbw__MissingLayer *items = arena_take(arena, n + 1, sizeof *items);
    Tbw__MissingLayer **pointers = arena_take(arena, n + 1, sizeof *pointers);
    if (!items || !pointers) return NULL;
    for (size_t i = 0; i < n; i++) {
        items[i] = (Tbw__MissingLayer)TBW__MISSING_LAYER__INIT;
        items[i].name = report->missing.items[i];
        items[i].reason = report->reasons.items[i];
        pointers[i] = &items[i];
    }
    return pointers;
}

int warden_channel_send_survey(WardenChannel *channel, const SurveyReport *report) {
    CLEANUP(arena_deinit) Arena arena = {0};
    Tbw__Root root = TBW__ROOT__INIT;
    root.n_paths = report->plan.paths.n_items;
    root.paths = report->plan.paths.items;
    root.n_links = report->plan.n_links;
    root.links = encode_links(&arena, &report->plan);
    Tbw__Survey survey = TBW__SURVEY__INIT;
    survey.root = &root;
    survey.n_missing = report->missing.n_items;
    survey.missing = encode_missing(&arena, report);
    if (arena.failed) return error_origin(-ENOMEM);
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_SURVEY;
    message.survey = &survey;
    return send_message(channel, &message);
}

/* Absent and empty are the same on the wire. */
static char *wire_text(const char *text) {
    return (char *)(text ? text : "");
}

int warden_channel_send_invalid(WardenChannel *channel, const InvalidReport *report) {
    Tbw__Invalid invalid = TBW__INVALID__INIT;
    invalid.code = (char *)code_name(report->code);
    invalid.detail = wire_text(report->detail);
    invalid.stderr_excerpt = wire_text(report->stderr_excerpt);
    invalid.dispatched = report->dispatched;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_INVALID;
    message.invalid = &invalid;
    return send_message(channel, &message);
}

int warden_channel_send_received(WardenChannel *channel) {
    Tbw__Received received = TBW__RECEIVED__INIT;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_RECEIVED;
    message.received = &received;
    return send_message(channel, &message);
}

static Tbw__Failure **encode_failures(Arena *arena, const FailureList *list) {
    Tbw__Failure *items = arena_take(arena, list->n_items + 1, sizeof *items);
    Tbw__Failure **pointers = arena_take(arena, list->n_items + 1, sizeof *pointers);
    if (!items || !pointers) return NULL;
    for (size_t i = 0; i < list->n_items; i++) {
        const Failure *from = &list->items[i];
        items[i] = (Tbw__Failure)TBW__FAILURE__INIT;
        items[i].code = (char *)code_name(from->code);
        items[i].subject = wire_text(from->subject);
        items[i].message = wire_text(from->message);
        items[i].line = from->line;
        items[i].sink = wire_text(from->sink);
        items[i].transform = wire_text(from->transform);
        items[i].offset = from->offset;
        pointers[i] = &items[i];
    }
    return pointers;
}

static Tbw__ProducedFile **encode_produced(Arena *arena, const Facts *facts) {
    Tbw__ProducedFile *items = arena_take(arena, facts->n_produced + 1, sizeof *items);
    Tbw__ProducedFile **pointers = arena_take(arena, facts->n_produced + 1, sizeof *pointers);
    if (!items || !pointers) return NULL;
    for (size_t i = 0; i < facts->n_produced; i++) {
        const ProducedFile *from = &facts->produced[i];
        items[i] = (Tbw__ProducedFile)TBW__PRODUCED_FILE__INIT;
        items[i].name = (ProtobufCBinaryData){from->name_bytes, from->name};
        items[i].size_bytes = from->size_bytes;
        if (from->has_sha256)
            items[i].sha256 = (ProtobufCBinaryData){SHA256_BYTES, (uint8_t *)from->sha256};
        items[i].note = wire_text(from->note);
        pointers[i] = &items[i];
    }
    return pointers;
}

static Tbw__PhaseTime **encode_phases(Arena *arena, const Facts *facts, size_t *ret_n_phases) {
    Tbw__PhaseTime *items = arena_take(arena, PHASE_COUNT, sizeof *items);
    Tbw__PhaseTime **pointers = arena_take(arena, PHASE_COUNT, sizeof *pointers);
    if (!items || !pointers) return NULL;
    size_t n_phases = 0;
    for (unsigned phase = 0; phase < PHASE_COUNT; phase++) {
        if (!facts->seen[phase]) continue;
        items[n_phases] = (Tbw__PhaseTime)TBW__PHASE_TIME__INIT;
        items[n_phases].phase = phase;
        items[n_phases].at_us = facts->at_us[phase];
        pointers[n_phases] = &items[n_phases];
        n_phases++;
    }
    *ret_n_phases = n_phases;
    return pointers;
}

static Tbw__Output encode_output(const OutputFacts *from) {
    Tbw__Output output = TBW__OUTPUT__INIT;
    output.head = (ProtobufCBinaryData){from->head_bytes, from->head};
    output.tail = (ProtobufCBinaryData){from->tail_bytes, from->tail};
    output.total_bytes = from->total_bytes;
    output.omitted_bytes = from->omitted_bytes;
    output.sha256 = (ProtobufCBinaryData){SHA256_BYTES, (uint8_t *)from->sha256};
    return output;
}

static Tbw__Result encode_result(Arena *arena, const Facts *facts) {
    Tbw__Result result = TBW__RESULT__INIT;
    result.phases = encode_phases(arena, facts, &result.n_phases);
    result.n_rejects = facts->rejects.n_items;
    result.rejects = encode_failures(arena, &facts->rejects);
    result.exited = facts->exited;
    result.exit_code = facts->exit_code;
    result.signal = (uint32_t)facts->signal;
    result.killed_by_warden = facts->killed_by_warden;
    result.limit = (char *)code_name(facts->limit);
    result.limit_detail = wire_text(facts->limit_detail);
    result.limit_subject = wire_text(facts->limit_subject);
    result.excerpt = wire_text(facts->excerpt);
    result.n_produced = facts->n_produced;
    result.produced = encode_produced(arena, facts);
    result.n_findings = facts->findings.n_items;
    result.findings = encode_failures(arena, &facts->findings);
    result.wall_us = facts->wall_us;
    result.cpu_us = facts->cpu_us;
    result.peak_memory_bytes = facts->peak_memory_bytes;
    result.disk_bytes = facts->disk_bytes;
    result.held = facts->held;
    result.fault = (char *)code_name(facts->fault);
    result.fault_detail = wire_text(facts->fault_detail);
    return result;
}

int warden_channel_send_result(WardenChannel *channel, const Facts *facts) {
    CLEANUP(arena_deinit) Arena arena = {0};
    Tbw__Result result = encode_result(&arena, facts);
    if (arena.failed) return error_origin(-ENOMEM);
    Tbw__Output out = encode_output(&facts->out);
    Tbw__Output err = encode_output(&facts->err);
    result.stdout = &out;
    result.stderr = &err;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_RESULT;
    message.result = &result;
    return send_message(channel, &message);
}
