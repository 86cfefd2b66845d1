/* Render JSON: messages of the protocol as JSON, every field under its name in the .proto, by the
 * message's own description, so that none is forgotten. Bytes that are well-formed UTF-8 are
 * strings; others are {"base64": …}; digests are hex. Enum values are in lower case; a missing part
 * is null. */
#pragma once

#include <stdio.h>

#include <jansson.h>
#include <protobuf-c/protobuf-c.h>

/* The caller drops the reference; NULL without memory. */
json_t *render_json_message(const ProtobufCMessage *message);
/* A string, or {"base64": …}. NULL without memory. */
json_t *render_json_bytes(const void *bytes, size_t n_bytes);

/* The message's object on a line of its own, behind {"file": file} unless that is NULL. 0 or
 * -ENOMEM.
 */
int render_json_line(FILE *stream, const char *file, const ProtobufCMessage *message);
/* Writes an object on a line and drops the reference; NULL is -ENOMEM. */
int render_json_write(FILE *stream, json_t *object);
