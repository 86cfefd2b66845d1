#include "submission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "parts.h"

enum { KEY_RANDOM_BYTES = 16, TOKEN_MAX_BYTES = 64 };

int submission_add_input(Tb__Submit *submit, Arena *arena, const char *name,
                         ProtobufCBinaryData content) {
    Tb__InputFile **inputs = parts_grow(arena, submit->inputs, submit->n_inputs);
    Tb__InputFile *input = arena_take(arena, 1, sizeof *input);
    char *copy = parts_text(arena, name);
    if (!inputs || !input || !copy) return error_origin(-ENOMEM);
    *input = (Tb__InputFile)TB__INPUT_FILE__INIT;
    input->name = copy;
    input->content = content;
    submit->inputs = inputs;
    submit->inputs[submit->n_inputs++] = input;
    return 0;
}

int submission_add_protected(Tb__Submit *submit, Arena *arena, const char *column) {
    char **columns = parts_grow(arena, submit->protected_columns, submit->n_protected_columns);
    char *copy = parts_text(arena, column);
    if (!columns || !copy) return error_origin(-ENOMEM);
    submit->protected_columns = columns;
    submit->protected_columns[submit->n_protected_columns++] = copy;
    return 0;
}

int submission_add_canary(Tb__Submit *submit, Arena *arena, const char *id, const char *value) {
    Tb__Canary **canaries = parts_grow(arena, submit->canaries, submit->n_canaries);
    Tb__Canary *canary = arena_take(arena, 1, sizeof *canary);
    char *id_copy = parts_text(arena, id), *value_copy = parts_text(arena, value);
    if (!canaries || !canary || !id_copy || !value_copy) return error_origin(-ENOMEM);
    *canary = (Tb__Canary)TB__CANARY__INIT;
    canary->id = id_copy;
    canary->value = (ProtobufCBinaryData){.len = strlen(value), .data = (uint8_t *)value_copy};
    submit->canaries = canaries;
    submit->canaries[submit->n_canaries++] = canary;
    return 0;
}

int submission_add_label(Tb__Submit *submit, Arena *arena, const char *key, const char *value) {
    Tb__Label **labels = parts_grow(arena, submit->labels, submit->n_labels);
    Tb__Label *label = arena_take(arena, 1, sizeof *label);
    char *key_copy = parts_text(arena, key), *value_copy = parts_text(arena, value);
    if (!labels || !label || !key_copy || !value_copy) return error_origin(-ENOMEM);
    *label = (Tb__Label)TB__LABEL__INIT;
    label->key = key_copy;
    label->value = value_copy;
    submit->labels = labels;
    submit->labels[submit->n_labels++] = label;
    return 0;
}

int submission_set_wall_ms(Tb__Submit *submit, Arena *arena, uint64_t wall_ms) {
    Tb__Limits *limits = arena_take(arena, 1, sizeof *limits);
    if (!limits) return error_origin(-ENOMEM);
    *limits = (Tb__Limits)TB__LIMITS__INIT;
    limits->wall_ms = wall_ms;
    submit->limits = limits;
    return 0;
}

int submission_set_file_name(Tb__Submit *submit, Arena *arena, const char *path,
                             const char *fallback) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char *copy = parts_text(arena, text_is_file_name(name) ? name : fallback);
    if (!copy) return error_origin(-ENOMEM);
    submit->file_name = copy;
    return 0;
}

int submission_set_key(Tb__Submit *submit, Arena *arena) {
    if (sodium_init() < 0) return error_origin(-ENOSYS);
    uint8_t random[KEY_RANDOM_BYTES];
    randombytes_buf(random, sizeof random);
    char *key = arena_take(arena, 2 * sizeof random + 1, 1);
    if (!key) return error_origin(-ENOMEM);
    sodium_bin2hex(key, 2 * sizeof random + 1, random, sizeof random);
    submit->idempotency_key = key;
    return 0;
}

static const char token_rule[] = "must be 1 to 64 of A-Z a-z 0-9 . _ -";

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* `names` is sorted in place. */
static int refuse_twins(const char **names, size_t n_names, const char *what, Trouble *trouble) {
    if (n_names > 1) qsort(names, n_names, sizeof *names, compare_texts);
    for (size_t i = 1; i < n_names; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return trouble_set(trouble, "there are two %s named '%s'", what, names[i]);
    return 0;
}

static int check_inputs(const Tb__Submit *submit, Trouble *trouble) {
    CLEANUP(freep) const char **names = calloc(submit->n_inputs + 1, sizeof *names);
    if (!names) return error_origin(-ENOMEM);
    for (size_t i = 0; i < submit->n_inputs; i++) {
        names[i] = submit->inputs[i]->name;
        if (!text_is_file_name(names[i]))
            return trouble_set(trouble, "input '%s': its name must be a plain file name", names[i]);
    }
    return refuse_twins(names, submit->n_inputs, "inputs", trouble);
}

static int check_canaries(const Tb__Submit *submit, Trouble *trouble) {
    CLEANUP(freep) const char **ids = calloc(submit->n_canaries + 1, sizeof *ids);
    if (!ids) return error_origin(-ENOMEM);
    for (size_t i = 0; i < submit->n_canaries; i++) {
        ids[i] = submit->canaries[i]->id;
        if (!text_is_token(ids[i], TOKEN_MAX_BYTES))
            return trouble_set(trouble, "canary '%s': its id %s", ids[i], token_rule);
        if (submit->canaries[i]->value.len == 0)
            return trouble_set(trouble, "canary '%s' has no value", ids[i]);
    }
    return refuse_twins(ids, submit->n_canaries, "canaries", trouble);
}

static int check_labels(const Tb__Submit *submit, Trouble *trouble) {
    for (size_t i = 0; i < submit->n_labels; i++) {
        const Tb__Label *label = submit->labels[i];
        if (!text_is_token(label->key, TOKEN_MAX_BYTES))
            return trouble_set(trouble, "label '%s': its key %s", label->key, token_rule);
        if (!text_is_utf8(label->value, strlen(label->value)))
            return trouble_set(trouble, "label '%s': its value is not UTF-8", label->key);
    }
    return 0;
}

static int check_columns(const Tb__Submit *submit, Trouble *trouble) {
    for (size_t i = 0; i < submit->n_protected_columns; i++) {
        const char *column = submit->protected_columns[i];
        if (!text_is_utf8(column, strlen(column)))
            return trouble_set(trouble, "protected column '%s' is not UTF-8", column);
    }
    return 0;
}

int submission_check(const Tb__Submit *submit, Trouble *trouble) {
    if (!text_is_token(submit->profile, TOKEN_MAX_BYTES))
        return trouble_set(trouble, "profile '%s': its name %s", submit->profile, token_rule);
    int r = check_inputs(submit, trouble);
    if (r == 0) r = check_canaries(submit, trouble);
    if (r == 0) r = check_labels(submit, trouble);
    if (r == 0) r = check_columns(submit, trouble);
    return r;
}
