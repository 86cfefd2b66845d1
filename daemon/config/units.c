#include "config/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { DECIMALS_MAX = 3 };

static const struct {
    const char *suffix;
    unsigned shift;
} size_units[] = {{"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"", 0}};

#define N_SIZE_UNITS (sizeof size_units / sizeof *size_units)

/* Reads digits at *text and moves it behind them. */
static bool read_digits(const char **text, uint64_t *ret_value) {
    const char *p = *text;
    if (*p < '0' || *p > '9') return false;
    if (p[0] == '0' && p[1] >= '0' && p[1] <= '9') return false;
    uint64_t value = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (__builtin_mul_overflow(value, UINT64_C(10), &value)) return false;
        if (__builtin_add_overflow(value, (uint64_t)(*p - '0'), &value)) return false;
    }
    *text = p;
    *ret_value = value;
    return true;
}

bool units_parse_count(const char *text, uint64_t *ret_value) {
    uint64_t value;
    if (!read_digits(&text, &value) || *text) return false;
    *ret_value = value;
    return true;
}

bool units_parse_bytes(const char *text, uint64_t *ret_bytes) {
    uint64_t value;
    if (!read_digits(&text, &value)) return false;
    for (size_t i = 0; i < N_SIZE_UNITS; i++) {
        if (strcmp(text, size_units[i].suffix) != 0) continue;
        if (value > UINT64_MAX >> size_units[i].shift) return false;
        *ret_bytes = value << size_units[i].shift;
        return true;
    }
    return false;
}

/* `.5` behind the seconds: thousandths, so that "5" is 500. */
static bool read_decimals(const char *text, uint64_t *ret_ms) {
    uint64_t ms = 0;
    int n = 0;
    for (; *text >= '0' && *text <= '9' && n < DECIMALS_MAX; text++, n++)
        ms = ms * 10 + (uint64_t)(*text - '0');
    if (n == 0 || *text) return false;
    for (; n < DECIMALS_MAX; n++) ms *= 10;
    *ret_ms = ms;
    return true;
}

bool units_parse_seconds(const char *text, uint64_t *ret_ms) {
    uint64_t ms, decimals_ms = 0;
    if (!read_digits(&text, &ms)) return false;
    if (__builtin_mul_overflow(ms, MS_PER_S, &ms)) return false;
    if (*text == '.' ? !read_decimals(text + 1, &decimals_ms) : *text != '\0') return false;
    if (__builtin_add_overflow(ms, decimals_ms, &ms)) return false;
    *ret_ms = ms;
    return true;
}

void units_format_bytes(uint64_t bytes, char ret_text[UNITS_TEXT_BYTES]) {
    size_t i = 0;
    while (bytes & ((UINT64_C(1) << size_units[i].shift) - 1)) i++;
    if (bytes == 0) i = N_SIZE_UNITS - 1;
    snprintf(ret_text, UNITS_TEXT_BYTES, "%" PRIu64 "%s", bytes >> size_units[i].shift,
             size_units[i].suffix);
}

void units_format_seconds(uint64_t ms, char ret_text[UNITS_TEXT_BYTES]) {
    const int n = snprintf(ret_text, UNITS_TEXT_BYTES, "%" PRIu64, ms / MS_PER_S);
    uint64_t rest = ms % MS_PER_S;
    if (rest == 0) return;
    int decimals = DECIMALS_MAX;
    for (; rest % 10 == 0; rest /= 10) decimals--;
    snprintf(ret_text + n, UNITS_TEXT_BYTES - (size_t)n, ".%0*" PRIu64, decimals, rest);
}
