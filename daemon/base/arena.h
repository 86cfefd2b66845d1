/* Arena: memory for one short piece of work, freed all at once. Keeps a note of failure, so that a
 * builder of nested structures checks once, at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
    ArenaChunk *chunks;
    bool failed; /* some arena_take found no memory */
} Arena;

/* Zeroed memory for n_items of item_bytes each; NULL (and `failed`) when there is none. */
void *arena_take(Arena *arena, size_t n_items, size_t item_bytes);
/* Frees everything that was taken. */
void arena_deinit(Arena *arena);
