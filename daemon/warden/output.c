#include "warden/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "warden/keep.h"

_Static_assert((size_t)crypto_hash_sha256_BYTES == (size_t)SHA256_BYTES, "one size of hash");

struct Output {
    const Scanner *scanner;
    Redactor *redactor;
    Keeper keeper;
    crypto_hash_sha256_state hash;
    uint64_t total_bytes;
};

static void keep(void *data, const uint8_t *bytes, size_t n_bytes) {
    keeper_add(data, bytes, n_bytes);
}

int output_new(const Scanner *scanner, size_t keep_bytes, Output **ret_output) {
    CLEANUP(output_freep) Output *output = calloc(1, sizeof *output);
    if (!output) return error_origin(-ENOMEM);
    output->scanner = scanner;
    crypto_hash_sha256_init(&output->hash);
    int r = keeper_init(&output->keeper, keep_bytes);
    if (r == 0) r = redactor_new(scanner, keep, &output->keeper, &output->redactor);
    if (r < 0) return error_fold(r);
    *ret_output = TAKE(output);
    return 0;
}

Output *output_free(Output *output) {
    if (!output) return NULL;
    redactor_free(output->redactor);
    keeper_deinit(&output->keeper);
    free(output);
    return NULL;
}

void output_add(Output *output, const uint8_t *bytes, size_t n_bytes) {
    output->total_bytes += n_bytes;
    crypto_hash_sha256_update(&output->hash, bytes, n_bytes);
    redactor_feed(output->redactor, bytes, n_bytes);
}

uint64_t output_total_bytes(const Output *output) {
    return output->total_bytes;
}

/* The halves of a marker say nothing, and look like something that the code wrote. */
static void drop_halves(const Scanner *scanner, OutputFacts *facts) {
    const size_t begun = redact_begun_bytes(scanner, facts->head, facts->head_bytes);
    const size_t ended = redact_ended_bytes(scanner, facts->tail, facts->tail_bytes);
    facts->head_bytes -= begun;
    facts->tail_bytes -= ended;
    facts->omitted_bytes += begun + ended;
    memmove(facts->tail, facts->tail + ended, facts->tail_bytes);
}

void output_finish(Output *output, bool is_cut, OutputFacts *ret_facts) {
    redactor_finish(output->redactor, is_cut);
    keeper_finish(&output->keeper);
    *ret_facts = (OutputFacts){
        .head_bytes = output->keeper.head_bytes,
        .tail_bytes = output->keeper.tail_bytes,
        .total_bytes = output->total_bytes,
        .omitted_bytes = keeper_omitted_bytes(&output->keeper),
    };
    ret_facts->head = TAKE(output->keeper.head);
    ret_facts->tail = TAKE(output->keeper.tail);
    crypto_hash_sha256_final(&output->hash, ret_facts->sha256);
    if (ret_facts->omitted_bytes > 0) drop_halves(output->scanner, ret_facts);
}

int output_join(const OutputFacts *facts, char **ret_text, size_t *ret_n_bytes) {
    char *text = malloc(facts->head_bytes + facts->tail_bytes + 2);
    if (!text) return error_origin(-ENOMEM);
    size_t n_bytes = facts->head_bytes;
    memcpy(text, facts->head, n_bytes);
    if (facts->omitted_bytes > 0) text[n_bytes++] = '\n';
    memcpy(text + n_bytes, facts->tail, facts->tail_bytes);
    *ret_text = text;
    *ret_n_bytes = n_bytes + facts->tail_bytes;
    return 0;
}

bool output_saw(const Output *output, size_t canary, uint64_t *ret_offset) {
    return redactor_saw(output->redactor, canary, ret_offset);
}
