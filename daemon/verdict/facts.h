/* Facts: what was seen of one run of one job in one environment. Plain data that owns its memory.
 * Text in it is redacted and well-formed UTF-8; outputs and file names are redacted bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verdict/code.h"
#include "verdict/phase.h"

enum { SHA256_BYTES = 32 };

/* One reason. Strings may be NULL. */
typedef struct Failure {
    Code code;
    char *subject;
    char *message;
    uint32_t line;
    char *sink;
    char *transform;
    uint64_t offset;
} Failure;

typedef struct FailureList {
    Failure *items;
    size_t n_items;
} FailureList;

typedef struct OutputFacts {
    uint8_t *head;
    size_t head_bytes;
    uint8_t *tail;
    size_t tail_bytes;
    uint64_t total_bytes;         /* as written by the job, before redaction */
    uint64_t omitted_bytes;       /* between head and tail */
    uint8_t sha256[SHA256_BYTES]; /* of all that was written */
} OutputFacts;

typedef struct ProducedFile {
    uint8_t *name; /* NUL-terminated as well */
    size_t name_bytes;
    uint64_t size_bytes;
    uint8_t sha256[SHA256_BYTES];
    bool has_sha256;
    char *note; /* why a file was not read; NULL when it was */
} ProducedFile;

typedef struct Facts {
    bool seen[PHASE_COUNT];
    uint64_t at_us[PHASE_COUNT]; /* since SPAWNED */

    FailureList rejects; /* of the static rules; each code_is_reject */
    bool held;           /* the harness stopped before STARTED because it was told to */

    bool exited; /* an exit status was collected */
    int exit_code;
    int signal; /* 0: it exited by itself */
    bool killed_by_warden;

    Code limit;          /* the limit that ended it, from evidence, or CODE_NONE */
    char *limit_subject; /* what the limit was about, such as the name of a call; may be NULL */
    char *limit_detail;

    char *excerpt; /* traceback tail or head of a crash dump */

    OutputFacts out;
    OutputFacts err;
    ProducedFile *produced;
    size_t n_produced;
    FailureList findings; /* of the post-run checks and the source scan; each code_is_finding */

    uint64_t wall_us;
    uint64_t cpu_us;
    uint64_t peak_memory_bytes;
    uint64_t disk_bytes;

    Code fault; /* infrastructure fault the warden named, or CODE_NONE */
    char *fault_detail;

    char *environment_id;
    uint64_t hash_sample;
} Facts;

Facts *facts_free(Facts *facts); /* takes NULL, returns NULL */
void facts_deinit(Facts *facts); /* leaves zeroed facts */
/* Drops what the job made and what was found about it; leaves the ledger, usage and environment. */
void facts_drop_artifacts(Facts *facts);

static inline void facts_freep(Facts **facts) {
    facts_free(*facts);
}

/* Appends a copy of the given texts (each may be NULL). 0 or -ENOMEM. */
int failure_list_append(FailureList *list, const Failure *failure);
/* 0 or -ENOMEM; on failure *ret_copy is untouched. */
int failure_copy(const Failure *failure, Failure *ret_copy);
void failure_deinit(Failure *failure);
void failure_list_deinit(FailureList *list);
