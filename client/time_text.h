/* Time text: points in time and durations as people write and read them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { TIME_TEXT_BYTES = 40 };

/* `90s`, `15m`, `2h`, `7d` before now, or `2030-01-31`, `2030-01-31T12:00`, `2030-01-31T12:00:00`,
 * in UTC, with or without a Z. Times are ms since the epoch; the output is untouched when false. */
bool time_text_parse_since(const char *text, uint64_t now_ms, uint64_t *ret_since_ms);
/* `2030-01-31T12:00:00Z` */
void time_text_format(uint64_t wall_ms, char ret_text[TIME_TEXT_BYTES]);
/* The two largest units: `3d4h`, `2m05s`. */
void time_text_format_duration(uint64_t ms, char ret_text[TIME_TEXT_BYTES]);
