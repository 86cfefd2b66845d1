#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct ArenaChunk {
    ArenaChunk *next;
    max_align_t bytes[];
};

void *arena_take(Arena *arena, size_t n_items, size_t item_bytes) {
    if (item_bytes && n_items > (SIZE_MAX - sizeof(ArenaChunk)) / item_bytes) {
        arena->failed = true;
        return NULL;
    }
    ArenaChunk *chunk = calloc(1, sizeof *chunk + n_items * item_bytes);
    if (!chunk) {
        arena->failed = true;
        return NULL;
    }
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return chunk->bytes;
}

void arena_deinit(Arena *arena) {
    for (ArenaChunk *chunk = arena->chunks; chunk;) {
        ArenaChunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    *arena = (Arena){0};
}
