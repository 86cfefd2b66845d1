#include "arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { FIRST_CAPACITY = 16 };

int arena_adopt(Arena *arena, void *block) {
    if (arena->n_blocks == arena->capacity) {
        const size_t capacity = arena->capacity ? arena->capacity * 2 : FIRST_CAPACITY;
        void **blocks = realloc(arena->blocks, capacity * sizeof *blocks);
        if (!blocks) {
            free(block);
            return error_origin(-ENOMEM);
        }
        arena->blocks = blocks;
        arena->capacity = capacity;
    }
    arena->blocks[arena->n_blocks++] = block;
    return 0;
}

void *arena_alloc(Arena *arena, size_t n_bytes) {
    void *block = calloc(1, n_bytes ? n_bytes : 1);
    if (!block || arena_adopt(arena, block) < 0) return NULL;
    return block;
}

char *arena_text(Arena *arena, const char *text) {
    const size_t n_bytes = strlen(text) + 1;
    char *copy = arena_alloc(arena, n_bytes);
    return copy ? memcpy(copy, text, n_bytes) : NULL;
}

/* The room doubles whenever the count is a power of two; what it leaves behind stays in the arena.
 */
void *arena_grow(Arena *arena, void *items, size_t n_items) {
    if (n_items & (n_items - 1)) return items;
    const size_t capacity = n_items ? n_items * 2 : 1;
    void *grown = arena_alloc(arena, capacity * sizeof(void *));
    if (grown && n_items) memcpy(grown, items, n_items * sizeof(void *));
    return grown;
}

void arena_deinit(Arena *arena) {
    for (size_t i = 0; i < arena->n_blocks; i++) free(arena->blocks[i]);
    free(arena->blocks);
    *arena = (Arena){0};
}
