#include "warden/keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int keeper_init(Keeper *keeper, size_t keep_bytes) {
    uint8_t *head = malloc(keep_bytes + 1);
    uint8_t *tail = malloc(keep_bytes + 1);
    if (!head || !tail) {
        free(head);
        free(tail);
        return error_origin(-ENOMEM);
    }
    *keeper = (Keeper){.head = head, .tail = tail, .keep_bytes = keep_bytes};
    return 0;
}

void keeper_deinit(Keeper *keeper) {
    free(keeper->head);
    free(keeper->tail);
    *keeper = (Keeper){0};
}

/* Writes into the ring at `at` bytes after its start, at most once around. */
static void write_ring(Keeper *keeper, size_t at, const uint8_t *bytes, size_t n_bytes) {
    const size_t position = (keeper->tail_start + at) % keeper->keep_bytes;
    const size_t until_end = keeper->keep_bytes - position;
    const size_t first_bytes = n_bytes < until_end ? n_bytes : until_end;
    memcpy(keeper->tail + position, bytes, first_bytes);
    memcpy(keeper->tail, bytes + first_bytes, n_bytes - first_bytes);
}

static void add_to_tail(Keeper *keeper, const uint8_t *bytes, size_t n_bytes) {
    const size_t keep_bytes = keeper->keep_bytes;
    if (keep_bytes == 0) return;
    if (n_bytes > keep_bytes) {
        bytes += n_bytes - keep_bytes;
        n_bytes = keep_bytes;
    }
    write_ring(keeper, keeper->tail_bytes, bytes, n_bytes);
    const size_t filled = keeper->tail_bytes + n_bytes;
    const size_t lost = filled > keep_bytes ? filled - keep_bytes : 0;
    keeper->tail_bytes = filled - lost;
    keeper->tail_start = (keeper->tail_start + lost) % keep_bytes;
}

void keeper_add(Keeper *keeper, const uint8_t *bytes, size_t n_bytes) {
    if (n_bytes == 0) return;
    const size_t room = keeper->keep_bytes - keeper->head_bytes;
    const size_t to_head = n_bytes < room ? n_bytes : room;
    keeper->total_bytes += n_bytes;
    memcpy(keeper->head + keeper->head_bytes, bytes, to_head);
    keeper->head_bytes += to_head;
    if (n_bytes > to_head) add_to_tail(keeper, bytes + to_head, n_bytes - to_head);
}

uint64_t keeper_omitted_bytes(const Keeper *keeper) {
    return keeper->total_bytes - keeper->head_bytes - keeper->tail_bytes;
}

static void reverse(uint8_t *bytes, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes / 2; i++) {
        const uint8_t byte = bytes[i];
        bytes[i] = bytes[n_bytes - 1 - i];
        bytes[n_bytes - 1 - i] = byte;
    }
}

void keeper_finish(Keeper *keeper) {
    /* Three reversals rotate in place; a ring that never turned stays as it is. */
    if (keeper->tail_start == 0) return;
    reverse(keeper->tail, keeper->tail_start);
    reverse(keeper->tail + keeper->tail_start, keeper->keep_bytes - keeper->tail_start);
    reverse(keeper->tail, keeper->keep_bytes);
    keeper->tail_start = 0;
}
