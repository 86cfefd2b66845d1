#include "warden/harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "harness/harness_source.h"

enum { LENGTH_DIGITS = 10, HASH_DIGITS = 16, MAX_FAILURES = 50 };

static const char *const kind_names[HARNESS_KIND_COUNT] = {
    [HARNESS_SURVEYED] = "surveyed", [HARNESS_READY] = "ready",       [HARNESS_UNFIT] = "unfit",
    [HARNESS_RECEIVED] = "received", [HARNESS_PARSED] = "parsed",     [HARNESS_ALLOWED] = "allowed",
    [HARNESS_COMPILED] = "compiled", [HARNESS_REJECTED] = "rejected", [HARNESS_HELD] = "held",
    [HARNESS_STARTED] = "started",   [HARNESS_ENDED] = "ended",
};

/* --- What it is told ----------------------------------------------------------------------- */

static int send_frame(Child *child, const void *bytes, size_t n_bytes) {
    char length[LENGTH_DIGITS + 1 + 10];
    snprintf(length, sizeof length, "%0*zu", LENGTH_DIGITS, n_bytes);
    int r = child_feed(child, length, LENGTH_DIGITS);
    if (r == 0) r = child_feed(child, bytes, n_bytes);
    return r < 0 ? error_fold(r) : 0;
}

/* Takes over `value`; NULL stands for no memory. */
static int send_json(Child *child, json_t *value) {
    CLEANUP(json_decrefp) json_t *owned = value;
    CLEANUP(freep) char *text = owned ? json_dumps(owned, JSON_COMPACT) : NULL;
    if (!text) return error_origin(-ENOMEM);
    const int r = send_frame(child, text, strlen(text));
    return r < 0 ? error_fold(r) : 0;
}

static json_t *make_array(const TextList *list) {
    json_t *array = json_array();
    for (size_t i = 0; array && i < list->n_items; i++) {
        if (json_array_append_new(array, json_string(list->items[i])) == 0) continue;
        json_decref(array); /* a rule that is lost would let code through */
        return NULL;
    }
    return array;
}

int harness_send_setup(Child *child, const Setup *setup) {
    int r = setup->survey ? send_frame(child, survey_source, survey_source_bytes)
                          : send_frame(child, harness_source, harness_source_bytes);
    if (r < 0) return error_fold(r);
    const bool hide = text_list_contains(&setup->layers,
                                         child_layer_name(CHILD_LAYER_NOT_DUMPABLE));
    r = send_json(child,
                  json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:b}", "readable",
                            make_array(&setup->readable), "preload", make_array(&setup->preload),
                            "allowed_imports", make_array(&setup->allowed_imports), "refused_calls",
                            make_array(&setup->refused_calls), "poisoned_modules",
                            make_array(&setup->poisoned_modules), "warmup", setup->warmup,
                            "interpreter", setup->interpreter, "hide", (int)hide));
    return r < 0 ? error_fold(r) : 0;
}

int harness_send_order(Child *child, const Order *order, bool hold) {
    int r = send_json(child, json_pack("{s:s, s:s, s:b}", "nonce", order->nonce, "file_name",
                                       order->file_name, "hold", hold));
    if (r == 0) r = send_frame(child, order->code.data, order->code.n_bytes);
    return r < 0 ? error_fold(r) : 0;
}

/* --- What one line says -------------------------------------------------------------------- */

void harness_marker_deinit(HarnessMarker *marker) {
    free(marker->ready.version);
    free(marker->ready.directory);
    child_env_deinit(&marker->ready.environment);
    text_list_deinit(&marker->ready.imports);
    root_plan_deinit(&marker->plan);
    free(marker->step);
    free(marker->error);
    failure_list_deinit(&marker->failures);
    *marker = (HarnessMarker){0};
}

static int copy_text(const json_t *object, const char *key, char **ret_text) {
    const char *text = json_string_value(json_object_get(object, key));
    if (!text) return HARNESS_E_MALFORMED;
    char *copy = strdup(text);
    if (!copy) return error_origin(-ENOMEM);
    *ret_text = copy;
    return 0;
}

static int copy_texts(const json_t *array, TextList *list) {
    if (!json_is_array(array)) return HARNESS_E_MALFORMED;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *text = json_string_value(json_array_get(array, i));
        if (!text) return HARNESS_E_MALFORMED;
        const int r = text_list_append(list, text);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int copy_variables(json_t *object, ChildEnv *environment) {
    const char *name;
    json_t *value;
    if (!json_is_object(object)) return HARNESS_E_MALFORMED;
    json_object_foreach(object, name, value) {
        if (!json_is_string(value)) return HARNESS_E_MALFORMED;
        const int r = env_variable_list_append(environment, name, json_string_value(value));
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static bool parse_hash_sample(const char *text, uint64_t *ret_sample) {
    if (!text || strlen(text) != HASH_DIGITS || strspn(text, "0123456789abcdef") != HASH_DIGITS)
        return false;
    *ret_sample = strtoull(text, NULL, 16);
    return true;
}

static int parse_ready(const json_t *line, HarnessReady *ready) {
    const char *sample = json_string_value(json_object_get(line, "hash_sample"));
    const json_t *entries = json_object_get(line, "entries");
    ready->hash_randomization = json_integer_value(json_object_get(line, "hash_randomization")) ==
                                1;
    ready->has_hash_sample = parse_hash_sample(sample, &ready->hash_sample);
    ready->has_urandom = json_is_true(json_object_get(line, "urandom"));
    ready->is_isolated = json_is_true(json_object_get(line, "isolated"));
    ready->is_writable = json_is_true(json_object_get(line, "writable"));
    if (!json_is_array(entries)) return HARNESS_E_MALFORMED;
    ready->n_entries = json_array_size(entries);
    int r = copy_text(line, "version", &ready->version);
    if (r == 0) r = copy_text(line, "directory", &ready->directory);
    if (r == 0) r = copy_variables(json_object_get(line, "environ"), &ready->environment);
    if (r == 0) r = copy_texts(json_object_get(line, "imports"), &ready->imports);
    return r;
}

static int parse_unfit(const json_t *line, HarnessMarker *marker) {
    int r = copy_text(line, "step", &marker->step);
    if (r == 0) r = copy_text(line, "error", &marker->error);
    return r;
}

static int parse_failure(const json_t *item, FailureList *failures) {
    const char *code = json_string_value(json_object_get(item, "code"));
    const json_int_t line = json_integer_value(json_object_get(item, "line"));
    const Failure failure = {
        .code = code_from_name(code ? code : ""),
        .subject = (char *)json_string_value(json_object_get(item, "subject")),
        .message = (char *)json_string_value(json_object_get(item, "message")),
        .line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0,
    };
    if (!code || failure.code == CODE_COUNT || !code_is_reject(failure.code))
        return HARNESS_E_MALFORMED;
    if (!failure.subject || !failure.message) return HARNESS_E_MALFORMED;
    const int r = failure_list_append(failures, &failure);
    return r < 0 ? error_fold(r) : 0;
}

static int parse_rejected(const json_t *line, FailureList *failures) {
    const json_t *items = json_object_get(line, "failures");
    const size_t n_items = json_array_size(items);
    if (n_items == 0 || n_items > MAX_FAILURES) return HARNESS_E_MALFORMED;
    for (size_t i = 0; i < n_items; i++) {
        const int r = parse_failure(json_array_get(items, i), failures);
        if (r != 0) return r;
    }
    return 0;
}

static int parse_surveyed(const json_t *line, RootPlan *plan) {
    const json_t *links = json_object_get(line, "links");
    if (!json_is_array(links)) return HARNESS_E_MALFORMED;
    int r = copy_texts(json_object_get(line, "paths"), &plan->paths);
    for (size_t i = 0; r == 0 && i < json_array_size(links); i++) {
        const json_t *link = json_array_get(links, i);
        const char *path = json_string_value(json_array_get(link, 0));
        const char *target = json_string_value(json_array_get(link, 1));
        if (!path || !target) return HARNESS_E_MALFORMED;
        r = root_plan_add_link(plan, path, target);
    }
    return r;
}

static HarnessKind parse_kind(const json_t *line) {
    const char *name = json_string_value(json_object_get(line, "marker"));
    HarnessKind kind = 0;
    while (kind < HARNESS_KIND_COUNT && !(name && strcmp(name, kind_names[kind]) == 0)) kind++;
    return kind;
}

static int parse_body(const json_t *line, const char *nonce, HarnessMarker *marker) {
    marker->kind = parse_kind(line);
    if (marker->kind == HARNESS_KIND_COUNT) return HARNESS_E_MALFORMED;
    if (marker->kind == HARNESS_READY) return parse_ready(line, &marker->ready);
    if (marker->kind == HARNESS_UNFIT) return parse_unfit(line, marker);
    if (marker->kind == HARNESS_SURVEYED) return parse_surveyed(line, &marker->plan);
    const char *said = json_string_value(json_object_get(line, "nonce"));
    if (!said || !nonce[0] || strcmp(said, nonce) != 0) return HARNESS_E_MALFORMED;
    return marker->kind == HARNESS_REJECTED ? parse_rejected(line, &marker->failures) : 0;
}

int harness_parse(const char *line, size_t n_bytes, const char *nonce, HarnessMarker *ret_marker) {
    CLEANUP(json_decrefp)
    json_t *value = json_loadb(line, n_bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    if (!json_is_object(value)) return HARNESS_E_MALFORMED;
    CLEANUP(harness_marker_deinit) HarnessMarker marker = {0};
    const int r = parse_body(value, nonce, &marker);
    if (r != 0) return r;
    *ret_marker = marker;
    marker = (HarnessMarker){0};
    return 0;
}

/* --- Lines --------------------------------------------------------------------------------- */

int harness_reader_init(HarnessReader *reader) {
    char *line = malloc(HARNESS_LINE_MAX_BYTES);
    if (!line) return error_origin(-ENOMEM);
    *reader = (HarnessReader){.line = line};
    return 0;
}

void harness_reader_deinit(HarnessReader *reader) {
    free(reader->line);
    *reader = (HarnessReader){0};
}

void harness_feed(HarnessReader *reader, const uint8_t *bytes, size_t n_bytes) {
    reader->bytes = bytes;
    reader->n_bytes = n_bytes;
}

/* Moves bytes up to the end of a line. 0 when the line is whole. */
static int gather_line(HarnessReader *reader) {
    const uint8_t *newline = reader->n_bytes ? memchr(reader->bytes, '\n', reader->n_bytes) : NULL;
    const size_t n = newline ? (size_t)(newline - reader->bytes) : reader->n_bytes;
    if (n > HARNESS_LINE_MAX_BYTES - reader->line_bytes) {
        if (!reader->is_hostile) return HARNESS_E_MALFORMED;
        reader->is_overlong = true;
    }
    if (!reader->is_overlong && n > 0) {
        memcpy(reader->line + reader->line_bytes, reader->bytes, n);
        reader->line_bytes += n;
    }
    const size_t used = newline ? n + 1 : n;
    reader->n_bytes -= used;
    if (used > 0) reader->bytes += used;
    return newline ? 0 : HARNESS_E_MORE;
}

static bool says_ended(const HarnessReader *reader) {
    char expected[sizeof "{\"marker\":\"ended\",\"nonce\":\"\"}" + ORDER_NONCE_TEXT_BYTES];
    const int n = snprintf(expected, sizeof expected, "{\"marker\":\"ended\",\"nonce\":\"%s\"}",
                           reader->nonce);
    return !reader->is_overlong && reader->line_bytes == (size_t)n &&
           memcmp(reader->line, expected, (size_t)n) == 0;
}

int harness_next(HarnessReader *reader, HarnessMarker *ret_marker) {
    int r;
    while ((r = gather_line(reader)) == 0) {
        const size_t n_bytes = reader->line_bytes;
        const bool is_ended = reader->is_hostile && says_ended(reader);
        reader->line_bytes = 0;
        reader->is_overlong = false;
        if (is_ended) {
            *ret_marker = (HarnessMarker){.kind = HARNESS_ENDED};
            return 0;
        }
        if (reader->is_hostile) continue;
        r = harness_parse(reader->line, n_bytes, reader->nonce, ret_marker);
        if (r == 0 && ret_marker->kind == HARNESS_STARTED) reader->is_hostile = true;
        return r;
    }
    return r;
}
