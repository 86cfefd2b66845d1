/* Parts: copies texts and grows arrays in an arena. What a submission or a suite is made of lies in
 * one, so that jobs can share inputs without counting who uses them. */
#pragma once

#include "base/arena.h"

/* A NUL-terminated copy; NULL when there is no memory. */
char *parts_text(Arena *arena, const char *text);
/* An array of pointers with the same n_items items and room for one more; NULL without memory. */
void *parts_grow(Arena *arena, void *items, size_t n_items);
