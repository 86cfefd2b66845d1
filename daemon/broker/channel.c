#include "broker/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "warden.pb-c.h"
#include "wire.h"

static int pack(Tbw__Message *message, ChannelFrame *ret_frame) {
    const int r = wire_pack(&message->base, &ret_frame->bytes, &ret_frame->n_bytes);
    return r == 0 ? 0 : r < 0 ? error_fold(r) : error_origin(-EMSGSIZE);
}

static Tbw__Limits encode_limits(const Limits *limits) {
    Tbw__Limits message = TBW__LIMITS__INIT;
    message.wall_ms = limits->wall_ms;
    message.cpu_ms = limits->cpu_ms;
    message.memory_bytes = limits->memory_bytes;
    message.output_bytes = limits->output_bytes;
    message.disk_bytes = limits->disk_bytes;
    message.processes = limits->processes;
    message.open_files = limits->open_files;
    return message;
}

typedef struct EncodedSetup {
    Tbw__Variable *variables;
    Tbw__Variable **variable_pointers;
    Tbw__Link *links;
    Tbw__Link **link_pointers;
} EncodedSetup;

static void encoded_setup_deinit(EncodedSetup *encoded) {
    free(encoded->variables);
    free(encoded->variable_pointers);
    free(encoded->links);
    free(encoded->link_pointers);
}

static int encode_setup_lists(const ChildEnv *environment, const RootPlan *root,
                              EncodedSetup *encoded) {
    const size_t n_variables = environment->n_items;
    encoded->variables = calloc(n_variables + 1, sizeof *encoded->variables);
    encoded->variable_pointers = calloc(n_variables + 1, sizeof *encoded->variable_pointers);
    encoded->links = calloc(root->n_links + 1, sizeof *encoded->links);
    encoded->link_pointers = calloc(root->n_links + 1, sizeof *encoded->link_pointers);
    if (!encoded->variables || !encoded->variable_pointers || !encoded->links ||
        !encoded->link_pointers)
        return error_origin(-ENOMEM);
    for (size_t i = 0; i < n_variables; i++) {
        encoded->variables[i] = (Tbw__Variable)TBW__VARIABLE__INIT;
        encoded->variables[i].name = environment->items[i].name;
        encoded->variables[i].value = environment->items[i].value;
        encoded->variable_pointers[i] = &encoded->variables[i];
    }
    for (size_t i = 0; i < root->n_links; i++) {
        encoded->links[i] = (Tbw__Link)TBW__LINK__INIT;
        encoded->links[i].path = root->links[i].path;
        encoded->links[i].target = root->links[i].target;
        encoded->link_pointers[i] = &encoded->links[i];
    }
    return 0;
}

static void set_rules(const Profile *profile, Tbw__Setup *setup) {
    setup->interpreter = profile->interpreter;
    setup->n_preload = profile->preload.n_items;
    setup->preload = profile->preload.items;
    setup->n_allowed_imports = profile->allowed_imports.n_items;
    setup->allowed_imports = profile->allowed_imports.items;
    setup->n_refused_calls = profile->refused_calls.n_items;
    setup->refused_calls = profile->refused_calls.items;
    setup->n_poisoned_modules = profile->poisoned_modules.n_items;
    setup->poisoned_modules = profile->poisoned_modules.items;
    setup->warmup = profile->warmup;
    setup->n_readable = profile->readable.n_items;
    setup->readable = profile->readable.items;
    setup->ready_timeout_ms = profile->ready_timeout_ms;
}

int channel_encode_setup(const ChannelSetup *from, ChannelFrame *ret_frame) {
    CLEANUP(encoded_setup_deinit) EncodedSetup encoded = {0};
    const int r = encode_setup_lists(from->environment, from->root, &encoded);
    if (r < 0) return error_fold(r);
    Tbw__Limits limits = encode_limits(&from->profile->limits);
    Tbw__Root root = TBW__ROOT__INIT;
    root.n_paths = from->root->paths.n_items;
    root.paths = from->root->paths.items;
    root.n_links = from->root->n_links;
    root.links = encoded.link_pointers;
    Tbw__Setup setup = TBW__SETUP__INIT;
    set_rules(from->profile, &setup);
    setup.environment_id = (char *)from->environment_id;
    setup.directory = (char *)from->directory;
    setup.n_environment = from->environment->n_items;
    setup.environment = encoded.variable_pointers;
    setup.limits = &limits;
    setup.n_layers = from->layers->n_items;
    setup.layers = from->layers->items;
    setup.keep_bytes = from->keep_bytes;
    setup.uid = from->uid;
    setup.root = &root;
    setup.n_hidden = from->hidden->n_items;
    setup.hidden = from->hidden->items;
    setup.survey = from->survey;
    if (from->cgroup) setup.cgroup = (char *)from->cgroup;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_SETUP;
    message.setup = &setup;
    return pack(&message, ret_frame);
}

static ProtobufCBinaryData as_bytes(const Blob *blob) {
    return (ProtobufCBinaryData){blob->n_bytes, blob->bytes};
}

typedef struct EncodedJob {
    Tbw__InputFile *inputs;
    Tbw__InputFile **input_pointers;
    Tbw__Canary *canaries;
    Tbw__Canary **canary_pointers;
    char (*markers)[MARKER_BYTES];
} EncodedJob;

static void encoded_job_deinit(EncodedJob *encoded) {
    free(encoded->inputs);
    free(encoded->input_pointers);
    free(encoded->canaries);
    free(encoded->canary_pointers);
    free(encoded->markers);
}

static int encode_payload(const JobSpec *spec, const MarkerKey *key, EncodedJob *encoded) {
    encoded->inputs = calloc(spec->n_inputs + 1, sizeof *encoded->inputs);
    encoded->input_pointers = calloc(spec->n_inputs + 1, sizeof *encoded->input_pointers);
    encoded->canaries = calloc(spec->n_canaries + 1, sizeof *encoded->canaries);
    encoded->canary_pointers = calloc(spec->n_canaries + 1, sizeof *encoded->canary_pointers);
    encoded->markers = calloc(spec->n_canaries + 1, sizeof *encoded->markers);
    if (!encoded->inputs || !encoded->input_pointers || !encoded->canaries ||
        !encoded->canary_pointers || !encoded->markers)
        return error_origin(-ENOMEM);
    for (size_t i = 0; i < spec->n_inputs; i++) {
        encoded->inputs[i] = (Tbw__InputFile)TBW__INPUT_FILE__INIT;
        encoded->inputs[i].name = spec->inputs[i].name;
        encoded->inputs[i].content = as_bytes(&spec->inputs[i].content);
        encoded->input_pointers[i] = &encoded->inputs[i];
    }
    for (size_t i = 0; i < spec->n_canaries; i++) {
        const JobCanary *canary = &spec->canaries[i];
        marker_make(key, canary->value.bytes, canary->value.n_bytes, encoded->markers[i]);
        encoded->canaries[i] = (Tbw__Canary)TBW__CANARY__INIT;
        encoded->canaries[i].id = canary->id;
        encoded->canaries[i].value = as_bytes(&canary->value);
        encoded->canaries[i].marker = encoded->markers[i];
        encoded->canary_pointers[i] = &encoded->canaries[i];
    }
    return 0;
}

int channel_encode_job(const Job *job, const Limits *job_limits, const MarkerKey *key,
                       ChannelFrame *ret_frame) {
    CLEANUP(encoded_job_deinit) EncodedJob encoded = {0};
    const int r = encode_payload(&job->spec, key, &encoded);
    if (r < 0) return error_fold(r);
    uint8_t nonce[CHANNEL_NONCE_BYTES];
    randombytes_buf(nonce, sizeof nonce);
    Tbw__Limits limits = encode_limits(job_limits);
    Tbw__Job message_job = TBW__JOB__INIT;
    message_job.job_id = (char *)job->id;
    message_job.nonce = (ProtobufCBinaryData){sizeof nonce, nonce};
    message_job.code = as_bytes(&job->spec.code);
    message_job.file_name = job->spec.file_name;
    message_job.n_inputs = job->spec.n_inputs;
    message_job.inputs = encoded.input_pointers;
    message_job.n_protected_columns = job->spec.protected_columns.n_items;
    message_job.protected_columns = job->spec.protected_columns.items;
    message_job.n_canaries = job->spec.n_canaries;
    message_job.canaries = encoded.canary_pointers;
    message_job.limits = &limits;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_JOB;
    message.job = &message_job;
    return pack(&message, ret_frame);
}

/* A warden's text is well-formed; if it is not, it still is when it leaves here. NULL when empty.
 */
static int take_text(const char *text, char **ret_text) {
    if (!text || !text[0]) return 0;
    const int r = text_sanitize(text, strlen(text), ret_text);
    return r < 0 ? error_fold(r) : 0;
}

/* An unknown name of a code cannot be passed on as a reason. */
static bool take_code(const char *name, Code *ret_code) {
    const Code code = code_from_name(name ? name : "");
    if (code == CODE_COUNT) return false;
    *ret_code = code;
    return true;
}

static int decode_failures(Tbw__Failure **items, size_t n_items, FailureList *list) {
    for (size_t i = 0; i < n_items; i++) {
        const Tbw__Failure *item = items[i];
        Failure failure = {.line = item->line, .offset = item->offset};
        if (!take_code(item->code, &failure.code)) return CHANNEL_E_MALFORMED;
        int r = take_text(item->subject, &failure.subject);
        if (r == 0) r = take_text(item->message, &failure.message);
        if (r == 0) r = take_text(item->sink, &failure.sink);
        if (r == 0) r = take_text(item->transform, &failure.transform);
        if (r == 0) r = failure_list_append(list, &failure);
        failure_deinit(&failure);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int copy_bytes(const ProtobufCBinaryData *from, uint8_t **ret_bytes, size_t *ret_n_bytes) {
    uint8_t *bytes = malloc(from->len + 1);
    if (!bytes) return error_origin(-ENOMEM);
    if (from->len) memcpy(bytes, from->data, from->len);
    bytes[from->len] = '\0';
    *ret_bytes = bytes;
    *ret_n_bytes = from->len;
    return 0;
}

static int decode_output(const Tbw__Output *from, OutputFacts *output) {
    if (!from) return 0;
    int r = copy_bytes(&from->head, &output->head, &output->head_bytes);
    if (r == 0) r = copy_bytes(&from->tail, &output->tail, &output->tail_bytes);
    if (r < 0) return error_fold(r);
    output->total_bytes = from->total_bytes;
    output->omitted_bytes = from->omitted_bytes;
    if (from->sha256.len == SHA256_BYTES) memcpy(output->sha256, from->sha256.data, SHA256_BYTES);
    return 0;
}

static int decode_produced(const Tbw__Result *result, Facts *facts) {
    facts->produced = calloc(result->n_produced + 1, sizeof *facts->produced);
    if (!facts->produced) return error_origin(-ENOMEM);
    for (size_t i = 0; i < result->n_produced; i++) {
        const Tbw__ProducedFile *from = result->produced[i];
        ProducedFile *file = &facts->produced[facts->n_produced++];
        int r = copy_bytes(&from->name, &file->name, &file->name_bytes);
        if (r == 0) r = take_text(from->note, &file->note);
        if (r < 0) return error_fold(r);
        file->size_bytes = from->size_bytes;
        file->has_sha256 = from->sha256.len == SHA256_BYTES;
        if (file->has_sha256) memcpy(file->sha256, from->sha256.data, SHA256_BYTES);
    }
    return 0;
}

static int decode_phases(const Tbw__Result *result, Facts *facts) {
    for (size_t i = 0; i < result->n_phases; i++) {
        const Tbw__PhaseTime *phase = result->phases[i];
        if (phase->phase >= PHASE_COUNT || facts->seen[phase->phase]) return CHANNEL_E_MALFORMED;
        facts->seen[phase->phase] = true;
        facts->at_us[phase->phase] = phase->at_us;
    }
    return 0;
}

static int decode_result_texts(const Tbw__Result *result, Facts *facts) {
    int r = take_text(result->limit_detail, &facts->limit_detail);
    if (r == 0) r = take_text(result->limit_subject, &facts->limit_subject);
    if (r == 0) r = take_text(result->excerpt, &facts->excerpt);
    if (r == 0) r = take_text(result->fault_detail, &facts->fault_detail);
    if (r == 0) r = decode_output(result->stdout, &facts->out);
    if (r == 0) r = decode_output(result->stderr, &facts->err);
    if (r == 0) r = decode_produced(result, facts);
    return r < 0 ? error_fold(r) : 0;
}

static int decode_result(const Tbw__Result *result, ChannelMessage *message) {
    CLEANUP(facts_freep) Facts *facts = calloc(1, sizeof *facts);
    if (!facts) return error_origin(-ENOMEM);
    facts->exited = result->exited;
    facts->exit_code = result->exit_code;
    facts->signal = (int)result->signal;
    facts->killed_by_warden = result->killed_by_warden;
    facts->held = result->held;
    facts->wall_us = result->wall_us;
    facts->cpu_us = result->cpu_us;
    facts->peak_memory_bytes = result->peak_memory_bytes;
    facts->disk_bytes = result->disk_bytes;
    if (!take_code(result->limit, &facts->limit) || !take_code(result->fault, &facts->fault))
        return CHANNEL_E_MALFORMED;
    int r = decode_phases(result, facts);
    if (r == 0) r = decode_failures(result->rejects, result->n_rejects, &facts->rejects);
    if (r == 0) r = decode_failures(result->findings, result->n_findings, &facts->findings);
    if (r == 0) r = decode_result_texts(result, facts);
    if (r != 0) return r;
    message->facts = TAKE(facts);
    return 0;
}

static int decode_ready(const Tbw__Ready *ready, ChannelMessage *message) {
    message->hash_randomized = ready->hash_randomized;
    message->hash_sample = ready->hash_sample;
    int r = take_text(ready->version, &message->version);
    for (size_t i = 0; r == 0 && i < ready->n_enforced; i++) {
        CLEANUP(freep) char *layer = NULL;
        r = take_text(ready->enforced[i], &layer);
        if (r == 0 && layer) r = text_list_append(&message->enforced, layer);
    }
    return r < 0 ? error_fold(r) : 0;
}

/* Paths go back to wardens as they came: one that is not text would not be the same path. */
static int decode_root(const Tbw__Root *root, RootPlan *plan) {
    int r = root ? 0 : CHANNEL_E_MALFORMED;
    for (size_t i = 0; r == 0 && i < root->n_paths; i++)
        r = text_list_append(&plan->paths, root->paths[i]);
    for (size_t i = 0; r == 0 && i < root->n_links; i++)
        r = root_plan_add_link(plan, root->links[i]->path, root->links[i]->target);
    return r;
}

static int decode_survey(const Tbw__Survey *from, Survey *survey) {
    int r = decode_root(from->root, &survey->plan);
    for (size_t i = 0; r == 0 && i < from->n_missing; i++) {
        CLEANUP(freep) char *reason = NULL;
        r = take_text(from->missing[i]->reason, &reason);
        if (r == 0) r = text_list_append(&survey->missing, from->missing[i]->name);
        if (r == 0) r = text_list_append(&survey->reasons, reason ? reason : "no reason");
    }
    return r;
}

static int decode_invalid(const Tbw__Invalid *invalid, ChannelMessage *message) {
    message->dispatched = invalid->dispatched;
    if (!take_code(invalid->code, &message->code)) return CHANNEL_E_MALFORMED;
    if (!code_is_infrastructure(message->code)) return CHANNEL_E_MALFORMED;
    int r = take_text(invalid->detail, &message->detail);
    if (r == 0) r = take_text(invalid->stderr_excerpt, &message->stderr_excerpt);
    return r < 0 ? error_fold(r) : 0;
}

static int decode_body(const Tbw__Message *from, ChannelMessage *message) {
    switch (from->body_case) {
    case TBW__MESSAGE__BODY_READY:
        message->kind = CHANNEL_READY;
        return decode_ready(from->ready, message);
    case TBW__MESSAGE__BODY_INVALID:
        message->kind = CHANNEL_INVALID;
        return decode_invalid(from->invalid, message);
    case TBW__MESSAGE__BODY_SURVEY:
        message->kind = CHANNEL_SURVEY;
        return decode_survey(from->survey, &message->survey);
    case TBW__MESSAGE__BODY_RECEIVED:
        message->kind = CHANNEL_RECEIVED;
        return 0;
    case TBW__MESSAGE__BODY_RESULT:
        message->kind = CHANNEL_RESULT;
        return decode_result(from->result, message);
    default:
        return CHANNEL_E_MALFORMED;
    }
}

int channel_decode(const uint8_t *payload, size_t payload_bytes, ChannelMessage *ret_message) {
    ProtobufCMessage *unpacked = NULL;
    if (wire_unpack(&tbw__message__descriptor, payload, payload_bytes, &unpacked) != 0)
        return CHANNEL_E_MALFORMED;
    ChannelMessage message = {0};
    const int r = decode_body((const Tbw__Message *)unpacked, &message);
    wire_message_free(unpacked);
    if (r != 0) {
        channel_message_deinit(&message);
        return r;
    }
    *ret_message = message;
    return 0;
}

void channel_message_deinit(ChannelMessage *message) {
    free(message->version);
    free(message->detail);
    free(message->stderr_excerpt);
    text_list_deinit(&message->enforced);
    facts_free(message->facts);
    survey_deinit(&message->survey);
    *message = (ChannelMessage){0};
}
