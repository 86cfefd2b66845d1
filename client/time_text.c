#include "time_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

enum { MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400 };

static bool parse_ago(const char *text, uint64_t now_ms, uint64_t *ret_since_ms) {
    static const struct {
        char unit;
        unsigned seconds;
    } units[] = {{'s', 1}, {'m', MINUTE_S}, {'h', HOUR_S}, {'d', DAY_S}};
    const size_t n_digits = strspn(text, "0123456789");
    if (n_digits == 0 || n_digits > 9 || strlen(text) != n_digits + 1) return false;
    uint64_t count = 0;
    for (size_t i = 0; i < n_digits; i++) count = count * 10 + (uint64_t)(text[i] - '0');
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (units[i].unit != text[n_digits]) continue;
        const uint64_t ago_ms = count * units[i].seconds * MS_PER_S;
        *ret_since_ms = ago_ms < now_ms ? now_ms - ago_ms : 0;
        return true;
    }
    return false;
}

/* True when `text` has the form of `pattern`, where 0 stands for a digit. */
static bool has_form(const char *text, const char *pattern) {
    for (; *pattern; text++, pattern++) {
        const bool is_digit = *text >= '0' && *text <= '9';
        if (*pattern == '0' ? !is_digit : *text != *pattern) return false;
    }
    return *text == '\0';
}

static bool has_known_form(const char *text) {
    static const char *const forms[] = {"0000-00-00", "0000-00-00T00:00", "0000-00-00T00:00:00",
                                        "0000-00-00T00:00Z", "0000-00-00T00:00:00Z"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (has_form(text, forms[i])) return true;
    return false;
}

static bool parse_point(const char *text, uint64_t *ret_since_ms) {
    if (!has_known_form(text)) return false;
    struct tm read = {0};
    sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &read.tm_year, &read.tm_mon, &read.tm_mday,
           &read.tm_hour, &read.tm_min, &read.tm_sec);
    read.tm_year -= 1900;
    read.tm_mon -= 1;
    struct tm normal = read;
    const time_t seconds = timegm(&normal);
    /* What timegm had to carry over, such as a 31st of June, was no date. */
    if (seconds < 0 || normal.tm_mday != read.tm_mday || normal.tm_mon != read.tm_mon ||
        normal.tm_hour != read.tm_hour || normal.tm_min != read.tm_min ||
        normal.tm_sec != read.tm_sec)
        return false;
    *ret_since_ms = (uint64_t)seconds * MS_PER_S;
    return true;
}

bool time_text_parse_since(const char *text, uint64_t now_ms, uint64_t *ret_since_ms) {
    return parse_ago(text, now_ms, ret_since_ms) || parse_point(text, ret_since_ms);
}

void time_text_format(uint64_t wall_ms, char ret_text[TIME_TEXT_BYTES]) {
    const time_t seconds = (time_t)(wall_ms / MS_PER_S);
    struct tm utc;
    if (!gmtime_r(&seconds, &utc) ||
        !strftime(ret_text, TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc))
        snprintf(ret_text, TIME_TEXT_BYTES, "%" PRIu64 " ms", wall_ms);
}

void time_text_format_duration(uint64_t ms, char ret_text[TIME_TEXT_BYTES]) {
    const uint64_t s = ms / MS_PER_S;
    if (s < MINUTE_S)
        snprintf(ret_text, TIME_TEXT_BYTES, "%" PRIu64 "s", s);
    else if (s < HOUR_S)
        snprintf(ret_text, TIME_TEXT_BYTES, "%" PRIu64 "m%02us", s / MINUTE_S,
                 (unsigned)(s % MINUTE_S));
    else if (s < DAY_S)
        snprintf(ret_text, TIME_TEXT_BYTES, "%" PRIu64 "h%02um", s / HOUR_S,
                 (unsigned)(s % HOUR_S / MINUTE_S));
    else
        snprintf(ret_text, TIME_TEXT_BYTES, "%" PRIu64 "d%uh", s / DAY_S,
                 (unsigned)(s % DAY_S / HOUR_S));
}
