/* Expect: what a case of a suite says its verdict must be, and how a verdict differs from it. Pure:
 * looks at nothing but the two. What cannot be shown to be as expected is a difference. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tbsandbox.pb-c.h"

/* One failure; NULL members may be anything. */
typedef struct ExpectFailure {
    const char *code;
    const char *subject;
    const char *sink;
    const char *transform;
    const char *message_contains;
    bool has_line;
    uint32_t line;
} ExpectFailure;

typedef struct ExpectTexts {
    char **items;
    size_t n_items;
} ExpectTexts;

typedef struct ExpectOutput {
    const char *equals; /* NULL: anything */
    ExpectTexts contains;
    ExpectTexts lacks;
} ExpectOutput;

typedef struct ExpectFile {
    const char *name;
    bool has_size;
    uint64_t size_bytes;
} ExpectFile;

typedef struct ExpectCount {
    bool is_set;
    uint64_t value;
} ExpectCount;

/* Points into memory of its owner. */
typedef struct Expect {
    Tb__VerdictKind kind;
    ExpectFailure **failures; /* each must be there */
    size_t n_failures;
    bool failures_exact; /* and no other */
    bool has_stages;
    ExpectTexts stages; /* exactly these, in this order */
    ExpectCount exit_code;
    const char *signal; /* name or number; NULL: not looked at */
    ExpectOutput out;
    ExpectOutput err;
    ExpectCount child_started; /* 0 or 1 */
    ExpectCount native_crashes;
    ExpectCount attempts;
    ExpectFile **produced; /* each must be there */
    size_t n_produced;
    bool produced_exact; /* and no other */
} Expect;

/* Writes each difference on a printable line of its own. Their number. */
size_t expect_compare(const Expect *expect, const Tb__Verdict *verdict, FILE *stream);

/* "passed" and so on; "unknown" for what is no kind. Static. */
const char *expect_kind_name(Tb__VerdictKind kind);
