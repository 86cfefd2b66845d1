#include "printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

typedef struct Range {
    uint32_t first;
    uint32_t last;
} Range;

/* Characters that move, hide or reorder what is around them. */
static const Range unsafe[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

static size_t announced_bytes(unsigned char lead) {
    if (lead < 0x80) return 1;
    if (lead >= 0xf0) return 4;
    return lead >= 0xe0 ? 3 : 2;
}

static uint32_t code_point(const unsigned char *p, size_t n_bytes) {
    static const unsigned char lead_masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t value = p[0] & lead_masks[n_bytes];
    for (size_t i = 1; i < n_bytes; i++) value = value << 6 | (p[i] & 0x3f);
    return value;
}

static bool is_unsafe(uint32_t value) {
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++)
        if (value >= unsafe[i].first && value <= unsafe[i].last) return true;
    return false;
}

/* Bytes of the character at `p`; *ret_safe says whether it may be shown. A malformed one is one
 * byte long. */
static size_t character(const unsigned char *p, size_t n_bytes, bool *ret_safe) {
    const size_t length = announced_bytes(p[0]);
    *ret_safe = false;
    if (length > n_bytes || !text_is_utf8(p, length)) return 1;
    *ret_safe = !is_unsafe(code_point(p, length));
    return length;
}

static void write_character(FILE *stream, const unsigned char *p, size_t n_bytes, bool is_safe) {
    if (is_safe) {
        fwrite(p, 1, n_bytes, stream);
        return;
    }
    for (size_t i = 0; i < n_bytes; i++) fprintf(stream, "\\x%02x", p[i]);
}

void printable_line(FILE *stream, const void *bytes, size_t n_bytes) {
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n_bytes;) {
        bool is_safe;
        const size_t length = character(p + i, n_bytes - i, &is_safe);
        write_character(stream, p + i, length, is_safe || p[i] == '\t');
        i += length;
    }
}

void printable_text(FILE *stream, const char *text) {
    printable_line(stream, text, strlen(text));
}

static bool write_escaped(FILE *stream, unsigned char c) {
    static const char plain[] = "\n\t\"\\", escaped[] = "nt\"\\";
    const char *found = c ? strchr(plain, c) : NULL;
    if (!found) return false;
    fprintf(stream, "\\%c", escaped[found - plain]);
    return true;
}

void printable_quoted(FILE *stream, const void *bytes, size_t n_bytes) {
    const unsigned char *p = bytes;
    fputc('"', stream);
    for (size_t i = 0; i < n_bytes;) {
        bool is_safe;
        const size_t length = character(p + i, n_bytes - i, &is_safe);
        if (!write_escaped(stream, p[i])) write_character(stream, p + i, length, is_safe);
        i += length;
    }
    fputc('"', stream);
}

static size_t count_lines(const char *p, const char *end) {
    size_t n_lines = 0;
    for (; p < end; n_lines++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        p = newline ? newline + 1 : end;
    }
    return n_lines;
}

void printable_block(FILE *stream, const char *prefix, const void *bytes, size_t n_bytes,
                     size_t max_lines) {
    if (n_bytes == 0) return;
    const char *p = bytes, *end = p + n_bytes;
    for (; p < end && max_lines > 0; max_lines--) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        fputs(prefix, stream);
        printable_line(stream, p, (size_t)((newline ? newline : end) - p));
        fputc('\n', stream);
        p = newline ? newline + 1 : end;
    }
    const size_t n_more = count_lines(p, end);
    if (n_more) fprintf(stream, "%s(%zu more lines)\n", prefix, n_more);
}
