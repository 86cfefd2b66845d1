#include "warden/scan.h"

#include <stdlib.h>

#include "canary_maker.h"
#include "suite.h"

typedef struct Found {
    char text[512];
    size_t n_bytes;
} Found;

static void note(void *data, size_t canary, size_t start) {
    Found *found = data;
    found->n_bytes += (size_t)snprintf(found->text + found->n_bytes,
                                       sizeof found->text - found->n_bytes, "%zu@%zu ", canary,
                                       start);
}

static void expect(const char *const *canaries, const char *text, const char *expected) {
    CanaryMaker maker;
    Found found = {0};
    const size_t n = strlen(text);
    canary_maker_init(&maker, canaries);
    scanner_scan(maker.scanner, (const uint8_t *)text, n, n, NULL, note, &found);
    ck_assert_str_eq(found.text, expected);
    canary_maker_deinit(&maker);
}

#define CANARIES(...) ((const char *const[]){__VA_ARGS__, NULL})

START_TEST(every_occurrence_is_found) {
    expect(CANARIES("needle"), "a needle, a needle", "0@2 0@12 ");
    expect(CANARIES("needle"), "needl", "");
    expect(CANARIES("needle"), "needlneedle", "0@5 ");
    expect(CANARIES("needle"), "", "");
    expect(CANARIES("x"), "xaxx", "0@0 0@2 0@3 ");
    expect(CANARIES("aa"), "aaaa", "0@0 0@1 0@2 ");
}
END_TEST

START_TEST(canaries_may_overlap) {
    expect(CANARIES("abc", "bcd", "abcdef"), "xabcdefx", "2@1 0@1 1@2 ");
    expect(CANARIES("x", "xyz"), "xyz", "1@0 0@0 ");
    expect(CANARIES("one", "two"), "twoonetwo", "1@0 0@3 1@6 ");
}
END_TEST

START_TEST(only_starts_in_the_range_count) {
    CanaryMaker maker;
    Found found = {0};
    canary_maker_init(&maker, CANARIES("abc"));
    scanner_scan(maker.scanner, (const uint8_t *)"abcabcabc", 9, 6, NULL, note, &found);
    ck_assert_str_eq(found.text, "0@0 0@3 ");
    canary_maker_deinit(&maker);
}
END_TEST

START_TEST(some_may_be_skipped) {
    CanaryMaker maker;
    Found found = {0};
    const bool skip[] = {true, false};
    canary_maker_init(&maker, CANARIES("abc", "bcd"));
    scanner_scan(maker.scanner, (const uint8_t *)"abcd", 4, 4, skip, note, &found);
    ck_assert_str_eq(found.text, "1@1 ");
    canary_maker_deinit(&maker);
}
END_TEST

/* Against the obvious way, on texts of few letters, where everything nearly matches. */
START_TEST(it_agrees_with_the_obvious_way) {
    unsigned seed = 7;
    for (int round = 0; round < 400; round++) {
        char values[4][8] = {{0}}, text[64] = {0};
        const char *pointers[5] = {values[0], values[1], values[2], values[3], NULL};
        for (int i = 0; i < 4; i++) {
            const int n = 1 + rand_r(&seed) % (round % 2 ? 7 : 3);
            for (int k = 0; k < n; k++) values[i][k] = (char)('a' + rand_r(&seed) % 2);
        }
        for (size_t k = 0; k < sizeof text - 1; k++) text[k] = (char)('a' + rand_r(&seed) % 2);
        CanaryMaker maker;
        canary_maker_init(&maker, pointers);
        size_t counts[4] = {0};
        Found found = {0};
        for (size_t start = 0; start < 63; start++)
            for (int i = 0; i < 4; i++)
                counts[i] += strncmp(text + start, values[i], strlen(values[i])) == 0;
        for (size_t start = 0; start < 63; start++) {
            found.n_bytes = 0;
            found.text[0] = '\0';
            scanner_scan(maker.scanner, (const uint8_t *)text + start, 63 - start, 1, NULL, note,
                         &found);
            for (const char *at = found.text; (at = strchr(at, '@')); at++) counts[at[-1] - '0']--;
        }
        for (int i = 0; i < 4; i++) ck_assert_uint_eq(counts[i], 0);
        canary_maker_deinit(&maker);
    }
}
END_TEST

SUITE_MAIN("scan", every_occurrence_is_found, canaries_may_overlap, only_starts_in_the_range_count,
           some_may_be_skipped, it_agrees_with_the_obvious_way)
