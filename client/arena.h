/* Arena: memory that is freed all at once. What a submission or a suite is made of points into one,
 * so that jobs can share inputs without counting who uses them. Never frees a single piece. */
#pragma once

#include <stddef.h>

typedef struct Arena {
    void **blocks;
    size_t n_blocks;
    size_t capacity;
} Arena;

/* Zeroed memory; NULL when there is none. */
void *arena_alloc(Arena *arena, size_t n_bytes);
/* A NUL-terminated copy; NULL when there is no memory. */
char *arena_text(Arena *arena, const char *text);
/* Takes over a malloc'ed block, on failure too (then it is freed). 0 or -ENOMEM. */
int arena_adopt(Arena *arena, void *block);
/* An array of pointers with the same n_items items and room for one more; NULL without memory. */
void *arena_grow(Arena *arena, void *items, size_t n_items);
/* Frees everything and leaves an empty arena. */
void arena_deinit(Arena *arena);
