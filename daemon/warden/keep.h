/* Keep: the head and the tail of a stream of any length, in memory that is fixed from the start. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct Keeper {
    uint8_t *head;
    uint8_t *tail; /* a ring once it is full */
    size_t keep_bytes;
    size_t head_bytes;
    size_t tail_bytes;
    size_t tail_start; /* of the ring */
    uint64_t total_bytes;
} Keeper;

/* keep_bytes of the head and again of the tail. The caller calls keeper_deinit. 0 or -ENOMEM. */
int keeper_init(Keeper *keeper, size_t keep_bytes);
void keeper_deinit(Keeper *keeper);
void keeper_add(Keeper *keeper, const uint8_t *bytes, size_t n_bytes);
/* Between head and tail. */
uint64_t keeper_omitted_bytes(const Keeper *keeper);
/* Turns the ring so that the tail is in order from its first byte; nothing is added after that. */
void keeper_finish(Keeper *keeper);
