#include "parts.h"

#include <string.h>

char *parts_text(Arena *arena, const char *text) {
    const size_t n_bytes = strlen(text) + 1;
    char *copy = arena_take(arena, n_bytes, 1);
    return copy ? memcpy(copy, text, n_bytes) : NULL;
}

/* The room doubles whenever the count is a power of two; what it leaves behind stays in the arena.
 */
void *parts_grow(Arena *arena, void *items, size_t n_items) {
    if (n_items & (n_items - 1)) return items;
    void *grown = arena_take(arena, n_items ? n_items * 2 : 1, sizeof(void *));
    if (grown && n_items) memcpy(grown, items, n_items * sizeof(void *));
    return grown;
}
