#include "config/field.h"

#include <stdlib.h>
#include <string.h>

#include "config/config.h"

void field_path(const char *prefix, const char *key, char ret_path[FIELD_PATH_BYTES]) {
    snprintf(ret_path, FIELD_PATH_BYTES, "%s%s%s", prefix, prefix[0] ? "." : "", key);
}

static bool variables_equal(const EnvVariableList *a, const EnvVariableList *b) {
    if (a->n_items != b->n_items) return false;
    for (size_t i = 0; i < a->n_items; i++) {
        if (strcmp(a->items[i].name, b->items[i].name) != 0) return false;
        if (strcmp(a->items[i].value, b->items[i].value) != 0) return false;
    }
    return true;
}

static bool field_equal(const Field *field, const void *a, const void *b) {
    switch (field->kind) {
    case FIELD_SECTION:
        return fields_equal(field->section, a, b);
    case FIELD_ELSEWHERE:
        return true;
    case FIELD_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case FIELD_COUNT:
    case FIELD_MODE:
        return *(const uint32_t *)a == *(const uint32_t *)b;
    case FIELD_CHOICE:
        return *(const unsigned *)a == *(const unsigned *)b;
    case FIELD_BYTES:
    case FIELD_SECONDS:
        return *(const uint64_t *)a == *(const uint64_t *)b;
    case FIELD_TEXT:
        return strcmp(*(char *const *)a, *(char *const *)b) == 0;
    case FIELD_TEXTS:
        return text_list_equal(a, b);
    case FIELD_VARIABLES:
        return variables_equal(a, b);
    }
    return false;
}

bool fields_equal(const Field *fields, const void *a, const void *b) {
    for (const Field *field = fields; field->key; field++)
        if (!field_equal(field, (const char *)a + field->offset, (const char *)b + field->offset))
            return false;
    return true;
}

void fields_deinit(const Field *fields, void *base) {
    for (const Field *field = fields; field->key; field++) {
        void *value = (char *)base + field->offset;
        if (field->kind == FIELD_SECTION) fields_deinit(field->section, value);
        if (field->kind == FIELD_TEXTS) text_list_deinit(value);
        if (field->kind == FIELD_VARIABLES) env_variable_list_deinit(value);
        if (field->kind != FIELD_TEXT) continue;
        free(*(char **)value);
        *(char **)value = NULL;
    }
}
