#include "broker/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "tbsandbox.pb-c.h"
#include "wire.h"

/* Unpacked messages own their texts in malloc'ed memory of their own: taking one over saves a copy
 * of every input. protobuf-c's empty string is static and must be copied. */
static int take_text(char **source, char **ret_text) {
    if (*source == protobuf_c_empty_string) {
        *ret_text = strdup("");
        return *ret_text ? 0 : error_origin(-ENOMEM);
    }
    *ret_text = *source;
    *source = (char *)protobuf_c_empty_string;
    return 0;
}

static void take_bytes(ProtobufCBinaryData *source, Blob *ret_blob) {
    *ret_blob = (Blob){source->data, source->len};
    *source = (ProtobufCBinaryData){0};
}

static bool is_plain_text(const char *text, size_t max_bytes) {
    const size_t n = strlen(text);
    if (n > max_bytes || !text_is_utf8(text, n)) return false;
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f) return false;
    return true;
}

static int invalid(Refusal *refusal, const char *what) {
    return refusal_set(refusal, REFUSE_INVALID_ARGUMENT, "%s", what);
}

/* ---- checks of Submit ---- */

static int check_inputs(const Tb__Submit *submit, Refusal *refusal) {
    if (submit->n_inputs > REQUEST_MAX_INPUTS) return invalid(refusal, "more than 64 inputs");
    for (size_t i = 0; i < submit->n_inputs; i++) {
        if (!text_is_file_name(submit->inputs[i]->name))
            return refusal_set(refusal, REFUSE_INVALID_ARGUMENT,
                               "input %zu: its name is no plain file name", i + 1);
    }
    return 0;
}

static int check_canaries(const Tb__Submit *submit, Refusal *refusal) {
    if (submit->n_canaries > REQUEST_MAX_CANARIES)
        return invalid(refusal, "more than 1000 canaries");
    for (size_t i = 0; i < submit->n_canaries; i++) {
        const Tb__Canary *canary = submit->canaries[i];
        if (!text_is_token(canary->id, REQUEST_MAX_TOKEN_BYTES))
            return refusal_set(refusal, REFUSE_INVALID_ARGUMENT,
                               "canary %zu: its id must be 1 to 64 of A-Z a-z 0-9 . _ -", i + 1);
        if (canary->value.len < 1 || canary->value.len > REQUEST_MAX_CANARY_BYTES)
            return refusal_set(refusal, REFUSE_INVALID_ARGUMENT,
                               "canary %zu: its value must have 1 to 4096 bytes", i + 1);
    }
    return 0;
}

static int check_labels(Tb__Label *const *labels, size_t n_labels, Refusal *refusal) {
    if (n_labels > REQUEST_MAX_LABELS) return invalid(refusal, "more than 32 labels");
    for (size_t i = 0; i < n_labels; i++) {
        if (!text_is_token(labels[i]->key, REQUEST_MAX_TOKEN_BYTES))
            return refusal_set(refusal, REFUSE_INVALID_ARGUMENT,
                               "label %zu: its key must be 1 to 64 of A-Z a-z 0-9 . _ -", i + 1);
        if (!is_plain_text(labels[i]->value, REQUEST_MAX_LABEL_BYTES))
            return refusal_set(refusal, REFUSE_INVALID_ARGUMENT,
                               "label %zu: its value must be text of at most 256 bytes", i + 1);
    }
    return 0;
}

static int check_columns(const Tb__Submit *submit, Refusal *refusal) {
    if (submit->n_protected_columns > REQUEST_MAX_COLUMNS)
        return invalid(refusal, "more than 256 protected columns");
    for (size_t i = 0; i < submit->n_protected_columns; i++) {
        const char *column = submit->protected_columns[i];
        const size_t n = strlen(column);
        if (n > REQUEST_MAX_COLUMN_BYTES || !text_is_utf8(column, n))
            return refusal_set(refusal, REFUSE_INVALID_ARGUMENT,
                               "protected column %zu: its name must be text of at most 1024 bytes",
                               i + 1);
    }
    return 0;
}

/* ---- canaries in what is shown ---- */

/* Values in order, none of which begins with another one: then at most one begins at any place of
 * a text, and it is the last that is not greater than the rest of the text. */
typedef struct ValueSet {
    const Tb__Canary **items;
    size_t n_items;
} ValueSet;

static int compare_bytes(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    const int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static int compare_values(const void *a, const void *b) {
    const ProtobufCBinaryData *left = &(*(const Tb__Canary *const *)a)->value;
    const ProtobufCBinaryData *right = &(*(const Tb__Canary *const *)b)->value;
    return compare_bytes(left->data, left->len, right->data, right->len);
}

static bool begins_with(const void *text, size_t n_bytes, const Tb__Canary *canary) {
    return canary->value.len <= n_bytes && memcmp(text, canary->value.data, canary->value.len) == 0;
}

static int value_set_init(const Tb__Submit *submit, ValueSet *ret_set) {
    const Tb__Canary **items = calloc(submit->n_canaries + 1, sizeof *items);
    if (!items) return error_origin(-ENOMEM);
    for (size_t i = 0; i < submit->n_canaries; i++) items[i] = submit->canaries[i];
    qsort(items, submit->n_canaries, sizeof *items, compare_values);
    size_t n_items = 0;
    for (size_t i = 0; i < submit->n_canaries; i++) {
        const ProtobufCBinaryData *value = &items[i]->value;
        if (n_items > 0 && begins_with(value->data, value->len, items[n_items - 1])) continue;
        items[n_items++] = items[i];
    }
    *ret_set = (ValueSet){items, n_items};
    return 0;
}

static void value_set_deinit(ValueSet *set) {
    free(set->items);
}

/* The canary whose value stands in the text, or NULL. */
static const Tb__Canary *find_value(const ValueSet *set, const char *text) {
    for (size_t n_bytes = strlen(text); n_bytes > 0; text++, n_bytes--) {
        size_t low = 0, high = set->n_items; /* those before `low` are not greater */
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            const ProtobufCBinaryData *value = &set->items[middle]->value;
            if (compare_bytes(value->data, value->len, text, n_bytes) <= 0)
                low = middle + 1;
            else
                high = middle;
        }
        if (low > 0 && begins_with(text, n_bytes, set->items[low - 1])) return set->items[low - 1];
    }
    return NULL;
}

static int refuse_value(const ValueSet *set, const char *text, const char *what, size_t number,
                        const char *part, Refusal *refusal) {
    const Tb__Canary *canary = find_value(set, text);
    if (!canary) return 0;
    /* Of ids that hold values none is shown. */
    const bool is_shown = !find_value(set, canary->id);
    return refusal_set(refusal, REFUSE_INVALID_ARGUMENT, "%s %zu: its %s holds the value of %s%s",
                       what, number, part, is_shown ? "canary " : "a canary",
                       is_shown ? canary->id : "");
}

/* Logs, listings and verdicts show these as they are. */
static int check_shown(const Tb__Submit *submit, const ValueSet *set, Refusal *refusal) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < submit->n_canaries; i++)
        r = refuse_value(set, submit->canaries[i]->id, "canary", i + 1, "id", refusal);
    if (r != 0) return r;
    const Tb__Canary *canary = find_value(set, submit->file_name);
    if (canary)
        return refusal_set(refusal, REFUSE_INVALID_ARGUMENT,
                           "file_name holds the value of canary %s", canary->id);
    for (size_t i = 0; r == 0 && i < submit->n_inputs; i++)
        r = refuse_value(set, submit->inputs[i]->name, "input", i + 1, "name", refusal);
    for (size_t i = 0; r == 0 && i < submit->n_protected_columns; i++)
        r = refuse_value(set, submit->protected_columns[i], "protected column", i + 1, "name",
                         refusal);
    for (size_t i = 0; r == 0 && i < submit->n_labels; i++) {
        r = refuse_value(set, submit->labels[i]->key, "label", i + 1, "key", refusal);
        if (r == 0)
            r = refuse_value(set, submit->labels[i]->value, "label", i + 1, "value", refusal);
    }
    return r;
}

static int check_values(const Tb__Submit *submit, Refusal *refusal) {
    CLEANUP(value_set_deinit) ValueSet set = {0};
    if (submit->n_canaries == 0) return 0;
    int r = value_set_init(submit, &set);
    if (r == 0) r = check_shown(submit, &set, refusal);
    return r < 0 ? error_fold(r) : r;
}

/* ---- names that stand twice; a refusal may show them by now ---- */

static int compare_ids(const void *a, const void *b) {
    return strcmp((*(Tb__Canary *const *)a)->id, (*(Tb__Canary *const *)b)->id);
}

static int check_twins(const Tb__Submit *submit, Refusal *refusal) {
    for (size_t i = 0; i < submit->n_inputs; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(submit->inputs[i]->name, submit->inputs[j]->name) == 0)
                return refusal_set(refusal, REFUSE_INVALID_ARGUMENT, "two inputs are named '%s'",
                                   submit->inputs[i]->name);
    if (submit->n_canaries > 1)
        qsort(submit->canaries, submit->n_canaries, sizeof *submit->canaries, compare_ids);
    for (size_t i = 1; i < submit->n_canaries; i++)
        if (strcmp(submit->canaries[i]->id, submit->canaries[i - 1]->id) == 0)
            return refusal_set(refusal, REFUSE_INVALID_ARGUMENT, "two canaries have the id %s",
                               submit->canaries[i]->id);
    return 0;
}

static int check_submit(const Tb__Submit *submit, Refusal *refusal) {
    if (!text_is_token(submit->idempotency_key, REQUEST_MAX_TOKEN_BYTES))
        return invalid(refusal, "the idempotency key must be 1 to 64 of A-Z a-z 0-9 . _ -");
    if (!text_is_file_name(submit->file_name))
        return invalid(refusal, "file_name is no plain file name");
    if (!text_is_token(submit->profile, REQUEST_MAX_TOKEN_BYTES))
        return invalid(refusal, "profile must be 1 to 64 of A-Z a-z 0-9 . _ -");
    if (submit->code.len > REQUEST_MAX_CODE_BYTES)
        return invalid(refusal, "more than 4 MiB of code");
    if (submit->repeats > REQUEST_MAX_REPEATS) return invalid(refusal, "more than 16 repeats");
    int r = check_inputs(submit, refusal);
    if (r == 0) r = check_canaries(submit, refusal);
    if (r == 0) r = check_labels(submit->labels, submit->n_labels, refusal);
    if (r == 0) r = check_columns(submit, refusal);
    if (r == 0) r = check_values(submit, refusal);
    if (r == 0) r = check_twins(submit, refusal);
    return r;
}

/* ---- taking over ---- */

static int take_labels(Tb__Label **labels, size_t n_labels, JobLabel **ret_labels,
                       size_t *ret_n_labels) {
    JobLabel *taken = calloc(n_labels + 1, sizeof *taken);
    if (!taken) return error_origin(-ENOMEM);
    *ret_labels = taken;
    for (size_t i = 0; i < n_labels; i++) {
        *ret_n_labels = i + 1;
        int r = take_text(&labels[i]->key, &taken[i].key);
        if (r == 0) r = take_text(&labels[i]->value, &taken[i].value);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int take_payload(Tb__Submit *submit, JobSpec *spec) {
    take_bytes(&submit->code, &spec->code);
    spec->inputs = calloc(submit->n_inputs + 1, sizeof *spec->inputs);
    spec->canaries = calloc(submit->n_canaries + 1, sizeof *spec->canaries);
    if (!spec->inputs || !spec->canaries) return error_origin(-ENOMEM);
    int r = 0;
    for (size_t i = 0; r == 0 && i < submit->n_inputs; i++) {
        JobInput *input = &spec->inputs[spec->n_inputs++];
        take_bytes(&submit->inputs[i]->content, &input->content);
        r = take_text(&submit->inputs[i]->name, &input->name);
    }
    for (size_t i = 0; r == 0 && i < submit->n_canaries; i++) {
        JobCanary *canary = &spec->canaries[spec->n_canaries++];
        take_bytes(&submit->canaries[i]->value, &canary->value);
        r = take_text(&submit->canaries[i]->id, &canary->id);
    }
    for (size_t i = 0; r == 0 && i < submit->n_protected_columns; i++)
        r = text_list_append(&spec->protected_columns, submit->protected_columns[i]);
    return r < 0 ? error_fold(r) : 0;
}

static int take_submit(Tb__Submit *submit, JobSpec *spec) {
    int r = take_text(&submit->idempotency_key, &spec->idempotency_key);
    if (r == 0) r = take_text(&submit->file_name, &spec->file_name);
    if (r == 0) r = take_text(&submit->profile, &spec->profile);
    if (r == 0) r = take_labels(submit->labels, submit->n_labels, &spec->labels, &spec->n_labels);
    if (r == 0) r = take_payload(submit, spec);
    if (r < 0) return error_fold(r);
    spec->repeats = submit->repeats ? submit->repeats : 1;
    const Tb__Limits *limits = submit->limits;
    if (!limits) return 0;
    spec->limits = (Limits){
        .wall_ms = limits->wall_ms,
        .cpu_ms = limits->cpu_ms,
        .memory_bytes = limits->memory_bytes,
        .output_bytes = limits->output_bytes,
        .disk_bytes = limits->disk_bytes,
        .processes = limits->processes,
        .open_files = limits->open_files,
    };
    return 0;
}

static int decode_submit(Tb__Submit *submit, Request *request, Refusal *refusal) {
    const int r = check_submit(submit, refusal);
    if (r != 0) return r;
    request->kind = REQUEST_SUBMIT;
    request->follow = submit->follow;
    return take_submit(submit, &request->spec);
}

static int decode_list(Tb__List *list, Request *request, Refusal *refusal) {
    static const int states[] = {
        [TB__JOB_STATE__JOB_STATE_UNSPECIFIED] = -1,
        [TB__JOB_STATE__QUEUED] = JOB_QUEUED,
        [TB__JOB_STATE__RUNNING] = JOB_RUNNING,
        [TB__JOB_STATE__FINISHED] = JOB_FINISHED,
    };
    if ((unsigned)list->state >= sizeof states / sizeof *states)
        return invalid(refusal, "List: no such state");
    if ((unsigned)list->verdict > VERDICT_INFRASTRUCTURE_FAILURE)
        return invalid(refusal, "List: no such verdict");
    if (list->max_jobs > REQUEST_MAX_LISTED) return invalid(refusal, "List: more than 1000 jobs");
    const int r = check_labels(list->labels, list->n_labels, refusal);
    if (r != 0) return r;
    request->kind = REQUEST_LIST;
    request->filter.state = states[list->state];
    request->filter.verdict = (int)list->verdict;
    request->filter.since_ms = list->since_ms;
    request->filter.max_jobs = list->max_jobs ? list->max_jobs : REQUEST_LISTED;
    return take_labels(list->labels, list->n_labels, &request->filter.labels,
                       &request->filter.n_labels);
}

static int decode_job_id(RequestKind kind, const char *job_id, Request *request, Refusal *refusal) {
    request->kind = kind;
    if (strlen(job_id) >= sizeof request->job_id)
        return refusal_set(refusal, REFUSE_NOT_FOUND, "there is no job '%.64s'", job_id);
    memcpy(request->job_id, job_id, strlen(job_id) + 1);
    return 0;
}

static int decode_doctor(Tb__Doctor *doctor, Request *request, Refusal *refusal) {
    request->kind = REQUEST_DOCTOR;
    if (!doctor->profile[0]) return 0;
    if (!text_is_token(doctor->profile, REQUEST_MAX_TOKEN_BYTES))
        return invalid(refusal, "profile must be 1 to 64 of A-Z a-z 0-9 . _ -");
    return take_text(&doctor->profile, &request->profile);
}

static int decode_plain(RequestKind kind, Request *request) {
    request->kind = kind;
    return 0;
}

static int decode_body(Tb__Envelope *envelope, Request *request, Refusal *refusal) {
    switch (envelope->body_case) {
    case TB__ENVELOPE__BODY_HELLO:
        request->protocol = envelope->hello->protocol;
        return decode_plain(REQUEST_HELLO, request);
    case TB__ENVELOPE__BODY_SUBMIT:
        return decode_submit(envelope->submit, request, refusal);
    case TB__ENVELOPE__BODY_WAIT:
        request->follow = envelope->wait->events;
        return decode_job_id(REQUEST_WAIT, envelope->wait->job_id, request, refusal);
    case TB__ENVELOPE__BODY_GET:
        return decode_job_id(REQUEST_GET, envelope->get->job_id, request, refusal);
    case TB__ENVELOPE__BODY_LIST:
        return decode_list(envelope->list, request, refusal);
    case TB__ENVELOPE__BODY_CANCEL:
        return decode_job_id(REQUEST_CANCEL, envelope->cancel->job_id, request, refusal);
    case TB__ENVELOPE__BODY_GET_STATUS:
        return decode_plain(REQUEST_STATUS, request);
    case TB__ENVELOPE__BODY_DOCTOR:
        return decode_doctor(envelope->doctor, request, refusal);
    case TB__ENVELOPE__BODY_DRAIN:
        return decode_plain(REQUEST_DRAIN, request);
    case TB__ENVELOPE__BODY_RESUME:
        return decode_plain(REQUEST_RESUME, request);
    case TB__ENVELOPE__BODY_RELOAD:
        return decode_plain(REQUEST_RELOAD, request);
    case TB__ENVELOPE__BODY__NOT_SET:
        /* A body of a later version is an unknown field to this one. */
        if (envelope->base.n_unknown_fields > 0)
            return refusal_set(refusal, REFUSE_UNIMPLEMENTED,
                               "this daemon does not know the request");
        return refusal_set(refusal, REFUSE_MALFORMED, "the frame has no request");
    default:
        return refusal_set(refusal, REFUSE_UNIMPLEMENTED, "that message is a reply, not a request");
    }
}

int request_decode(const uint8_t *payload, size_t payload_bytes, Request *ret_request,
                   Refusal *ret_refusal) {
    *ret_request = (Request){0};
    ProtobufCMessage *unpacked = NULL;
    if (wire_unpack(&tb__envelope__descriptor, payload, payload_bytes, &unpacked) != 0)
        return refusal_set(ret_refusal, REFUSE_MALFORMED,
                           "the frame is no message of this protocol");
    Tb__Envelope *envelope = (Tb__Envelope *)unpacked;
    ret_request->id = envelope->request_id;
    const int r = decode_body(envelope, ret_request, ret_refusal);
    wire_message_free(unpacked);
    if (r == 0) return 0;
    const uint64_t id = ret_request->id;
    request_deinit(ret_request);
    ret_request->id = id;
    return r;
}

static void labels_free(JobLabel *labels, size_t n_labels) {
    for (size_t i = 0; i < n_labels; i++) {
        free(labels[i].key);
        free(labels[i].value);
    }
    free(labels);
}

void request_deinit(Request *request) {
    job_spec_deinit(&request->spec);
    labels_free(request->filter.labels, request->filter.n_labels);
    free(request->profile);
    *request = (Request){0};
}

static bool has_label(const Job *job, const JobLabel *wanted) {
    for (size_t i = 0; i < job->spec.n_labels; i++)
        if (strcmp(job->spec.labels[i].key, wanted->key) == 0 &&
            strcmp(job->spec.labels[i].value, wanted->value) == 0)
            return true;
    return false;
}

bool job_filter_matches(const JobFilter *filter, const Job *job) {
    if (filter->state >= 0 && filter->state != (int)job->state) return false;
    if (filter->verdict && (!job->verdict || filter->verdict != (int)job->verdict->kind))
        return false;
    if (job->submitted_ms < filter->since_ms) return false;
    for (size_t i = 0; i < filter->n_labels; i++)
        if (!has_label(job, &filter->labels[i])) return false;
    return true;
}
