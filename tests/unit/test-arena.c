#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "suite.h"

START_TEST(memory_is_zeroed_and_apart) {
    Arena arena = {0};
    char *a = arena_take(&arena, 100, 1);
    char *b = arena_take(&arena, 100, 1);
    for (int i = 0; i < 100; i++) ck_assert_int_eq(a[i], 0);
    memset(a, 1, 100);
    for (int i = 0; i < 100; i++) ck_assert_int_eq(b[i], 0);
    ck_assert(!arena.failed);
    arena_deinit(&arena);
    ck_assert_ptr_null(arena.chunks);
}
END_TEST

START_TEST(an_impossible_size_is_noted) {
    Arena arena = {0};
    ck_assert_ptr_null(arena_take(&arena, SIZE_MAX / 2, 4));
    ck_assert(arena.failed);
    arena_deinit(&arena);
}
END_TEST

SUITE_MAIN("arena", memory_is_zeroed_and_apart, an_impossible_size_is_noted)
