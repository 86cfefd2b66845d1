/* Units: sizes and durations as people write them: `64MiB`, `0.5`. Exact both ways: what is printed
 * reads back to the same number. Knows no node and no key. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB(n) (UINT64_C(n) << 10)
#define MIB(n) (UINT64_C(n) << 20)
#define GIB(n) (UINT64_C(n) << 30)
#define TIB(n) (UINT64_C(n) << 40)

enum { UNITS_TEXT_BYTES = 32 };

/* Whole number without sign or leading zeros. False when it is not one or exceeds 64 bits; outputs
 * are untouched then (true of the others too). */
bool units_parse_count(const char *text, uint64_t *ret_value);
/* Whole number, optionally followed by KiB, MiB, GiB. */
bool units_parse_bytes(const char *text, uint64_t *ret_bytes);
/* Seconds with at most three decimals. */
bool units_parse_seconds(const char *text, uint64_t *ret_ms);

void units_format_bytes(uint64_t bytes, char ret_text[UNITS_TEXT_BYTES]);
void units_format_seconds(uint64_t ms, char ret_text[UNITS_TEXT_BYTES]);
