#include "warden/keep.h"

#include <string.h>

#include "suite.h"

/* Adds the text in pieces of `step` bytes. */
static void expect(size_t keep_bytes, size_t step, const char *text, const char *head,
                   const char *tail, uint64_t omitted) {
    Keeper keeper;
    const size_t n = strlen(text);
    ck_assert_int_eq(keeper_init(&keeper, keep_bytes), 0);
    for (size_t i = 0; i < n; i += step)
        keeper_add(&keeper, (const uint8_t *)text + i, step < n - i ? step : n - i);
    ck_assert_uint_eq(keeper_omitted_bytes(&keeper), omitted);
    keeper_finish(&keeper);
    ck_assert_uint_eq(keeper.head_bytes, strlen(head));
    ck_assert_uint_eq(keeper.tail_bytes, strlen(tail));
    ck_assert(memcmp(keeper.head, head, strlen(head)) == 0);
    ck_assert(memcmp(keeper.tail, tail, strlen(tail)) == 0);
    ck_assert_uint_eq(keeper.total_bytes, n);
    keeper_deinit(&keeper);
}

START_TEST(head_and_tail_are_kept) {
    for (size_t step = 1; step <= 12; step++) {
        expect(4, step, "", "", "", 0);
        expect(4, step, "abc", "abc", "", 0);
        expect(4, step, "abcd", "abcd", "", 0);
        expect(4, step, "abcdef", "abcd", "ef", 0);
        expect(4, step, "abcdefgh", "abcd", "efgh", 0);
        expect(4, step, "abcdefghi", "abcd", "fghi", 1);
        expect(4, step, "abcdefghijk", "abcd", "hijk", 3);
        expect(4, step, "abcdefghijkl", "abcd", "ijkl", 4);
        expect(0, step, "abc", "", "", 3);
        expect(1, step, "abc", "a", "c", 1);
    }
}
END_TEST

SUITE_MAIN("keep", head_and_tail_are_kept)
