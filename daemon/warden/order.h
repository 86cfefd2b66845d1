/* Order: what the broker asks of a warden, as plain data that owns its memory: the set-up of its
 * one environment, then its one job. Never holds a byte that generated code produced. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "config/config.h"
#include "platform/child_env.h"
#include "platform/enclosure.h"

enum { ORDER_NONCE_BYTES = 16, ORDER_NONCE_TEXT_BYTES = 2 * ORDER_NONCE_BYTES + 1 };

typedef struct Bytes {
    uint8_t *data; /* NULL when n_bytes is 0 */
    size_t n_bytes;
} Bytes;

typedef struct Setup {
    char *environment_id;
    char *directory;
    char *interpreter;
    ChildEnv environment; /* exactly the child's */
    TextList preload;
    TextList allowed_imports;
    TextList refused_calls;
    TextList poisoned_modules;
    char *warmup;
    Limits limits; /* bounds for every job */
    uint64_t ready_timeout_ms;
    TextList layers;   /* each must be in force */
    uint32_t uid;      /* of the user that owns nothing */
    RootPlan root;     /* what there is in a root of its own */
    TextList hidden;   /* paths that must not be there */
    TextList readable; /* by a job, besides what its interpreter needs */
    char *cgroup;      /* path of its control group; empty: none */
    bool survey;       /* only finds out what an interpreter needs in a root of its own */
    size_t keep_bytes; /* of the head, and again of the tail, of each output */
} Setup;

typedef struct OrderInput {
    char *name;
    Bytes content;
} OrderInput;

typedef struct Canary {
    char *id;
    Bytes value;  /* at least one byte */
    char *marker; /* what redaction puts in its place */
} Canary;

typedef struct CanaryList {
    Canary *items;
    size_t n_items;
} CanaryList;

typedef struct Order {
    char *job_id;
    char nonce[ORDER_NONCE_TEXT_BYTES]; /* lower-case hex */
    Bytes code;
    char *file_name;
    OrderInput *inputs;
    size_t n_inputs;
    TextList protected_columns;
    CanaryList canaries;
    Limits limits;
} Order;

void setup_deinit(Setup *setup);
void order_deinit(Order *order);
