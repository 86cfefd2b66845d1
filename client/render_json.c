#include "render_json.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

static json_t *base64_object(const void *bytes, size_t n_bytes) {
    const size_t text_bytes = sodium_base64_encoded_len(n_bytes, sodium_base64_VARIANT_ORIGINAL);
    CLEANUP(freep) char *text = malloc(text_bytes);
    if (!text) return NULL;
    sodium_bin2base64(text, text_bytes, bytes, n_bytes, sodium_base64_VARIANT_ORIGINAL);
    return json_pack("{s:s}", "base64", text);
}

json_t *render_json_bytes(const void *bytes, size_t n_bytes) {
    if (!text_is_utf8(bytes, n_bytes)) return base64_object(bytes, n_bytes);
    return json_stringn_nocheck(n_bytes ? bytes : "", n_bytes);
}

static json_t *hex_string(const ProtobufCBinaryData *bytes) {
    CLEANUP(freep) char *text = malloc(2 * bytes->len + 1);
    if (!text) return NULL;
    sodium_bin2hex(text, 2 * bytes->len + 1, bytes->data, bytes->len);
    return json_string(text);
}

static json_t *binary_value(const ProtobufCFieldDescriptor *field,
                            const ProtobufCBinaryData *bytes) {
    if (strcmp(field->name, "sha256") == 0) return hex_string(bytes);
    return render_json_bytes(bytes->data, bytes->len);
}

/* A value this client does not know is its number. */
static json_t *enum_value(const ProtobufCFieldDescriptor *field, int number) {
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(field->descriptor,
                                                                           number);
    if (!value) return json_integer(number);
    CLEANUP(freep) char *name = strdup(value->name);
    if (!name) return NULL;
    for (char *p = name; *p; p++) *p = (char)tolower((unsigned char)*p);
    return json_string(name);
}

/* JSON's integers end earlier than ours. */
static json_t *unsigned_value(uint64_t value) {
    return value > INT64_MAX ? json_real((double)value) : json_integer((json_int_t)value);
}

static json_t *string_value(const char *text) {
    return text ? render_json_bytes(text, strlen(text)) : json_null();
}

/* Every kind that tbsandbox.proto uses; another one shows as null until it is added here. */
static json_t *scalar_value(const ProtobufCFieldDescriptor *field, const void *member) {
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
        return json_integer(*(const int32_t *)member);
    case PROTOBUF_C_TYPE_UINT32:
        return json_integer(*(const uint32_t *)member);
    case PROTOBUF_C_TYPE_UINT64:
        return unsigned_value(*(const uint64_t *)member);
    case PROTOBUF_C_TYPE_BOOL:
        return json_boolean(*(const protobuf_c_boolean *)member);
    case PROTOBUF_C_TYPE_ENUM:
        return enum_value(field, *(const int *)member);
    case PROTOBUF_C_TYPE_STRING:
        return string_value(*(char *const *)member);
    case PROTOBUF_C_TYPE_BYTES:
        return binary_value(field, member);
    case PROTOBUF_C_TYPE_MESSAGE: {
        const ProtobufCMessage *message = *(ProtobufCMessage *const *)member;
        return message ? render_json_message(message) : json_null();
    }
    default:
        return json_null();
    }
}

static size_t element_bytes(ProtobufCType type) {
    switch (type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_UINT32:
        return sizeof(uint32_t);
    case PROTOBUF_C_TYPE_UINT64:
        return sizeof(uint64_t);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_ENUM:
        return sizeof(int);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return sizeof(void *);
    }
}

static json_t *repeated_value(const ProtobufCFieldDescriptor *field, const char *elements,
                              size_t n_elements) {
    json_t *array = json_array();
    for (size_t i = 0; array && i < n_elements; i++) {
        const void *element = elements + i * element_bytes(field->type);
        if (json_array_append_new(array, scalar_value(field, element)) == 0) continue;
        json_decref(array);
        return NULL;
    }
    return array;
}

static json_t *field_value(const ProtobufCFieldDescriptor *field, const char *message) {
    const char *member = message + field->offset;
    if (field->label != PROTOBUF_C_LABEL_REPEATED) return scalar_value(field, member);
    return repeated_value(field, *(char *const *)(const void *)member,
                          *(const size_t *)(const void *)(message + field->quantifier_offset));
}

/* The protocol's messages do not contain themselves: the depth is that of the .proto. */
json_t *render_json_message(const ProtobufCMessage *message) {
    json_t *object = json_object();
    for (unsigned i = 0; object && i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        json_t *value = field_value(field, (const char *)message);
        if (json_object_set_new(object, field->name, value) == 0) continue;
        json_decref(object);
        return NULL;
    }
    return object;
}

int render_json_write(FILE *stream, json_t *object) {
    if (!object) return error_origin(-ENOMEM);
    /* A stream that cannot be written to is noticed where it is closed. */
    json_dumpf(object, stream, JSON_COMPACT);
    fputc('\n', stream);
    json_decref(object);
    return 0;
}

int render_json_line(FILE *stream, const char *file, const ProtobufCMessage *message) {
    json_t *content = render_json_message(message);
    json_t *object = json_object();
    bool good = content && object;
    if (good && file)
        good = json_object_set_new(object, "file", render_json_bytes(file, strlen(file))) == 0;
    good = good && json_object_update(object, content) == 0;
    json_decref(content);
    if (good) return render_json_write(stream, object);
    json_decref(object);
    return error_origin(-ENOMEM);
}
