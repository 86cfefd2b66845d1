#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { FILE_NAME_MAX_BYTES = 255 };

static bool is_control(unsigned char c) {
    return c < 0x20 || c == 0x7f;
}

void text_make_printable(char *text) {
    for (; *text; text++)
        if (is_control((unsigned char)*text)) *text = '?';
}

/* Length of the well-formed sequence at `p`, 0 when malformed. Table 3-7 of the Unicode Standard.
 */
static size_t utf8_sequence(const unsigned char *p, size_t n) {
    if (p[0] < 0x80) return 1;
    size_t length;
    unsigned char low = 0x80, high = 0xbf;
    if (p[0] >= 0xc2 && p[0] <= 0xdf) {
        length = 2;
    } else if (p[0] >= 0xe0 && p[0] <= 0xef) {
        length = 3;
        if (p[0] == 0xe0) low = 0xa0;
        if (p[0] == 0xed) high = 0x9f;
    } else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        length = 4;
        if (p[0] == 0xf0) low = 0x90;
        if (p[0] == 0xf4) high = 0x8f;
    } else {
        return 0;
    }
    if (n < length || p[1] < low || p[1] > high) return 0;
    for (size_t i = 2; i < length; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    return length;
}

bool text_is_utf8(const void *bytes, size_t n_bytes) {
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n_bytes;) {
        const size_t length = utf8_sequence(p + i, n_bytes - i);
        if (length == 0) return false;
        i += length;
    }
    return true;
}

int text_sanitize(const void *bytes, size_t n_bytes, char **ret_text) {
    static const char replacement[] = "\xef\xbf\xbd";
    const unsigned char *p = bytes;
    if (n_bytes > (SIZE_MAX - 1) / 4) return error_origin(-ENOMEM);
    char *text = malloc(n_bytes * 4 + 1);
    if (!text) return error_origin(-ENOMEM);
    size_t out = 0;
    for (size_t i = 0; i < n_bytes;) {
        const size_t length = utf8_sequence(p + i, n_bytes - i);
        if (length == 0) {
            memcpy(text + out, replacement, 3);
            out += 3;
            i++;
        } else if (length == 1 && is_control(p[i]) && p[i] != '\n' && p[i] != '\t') {
            out += (size_t)sprintf(text + out, "\\x%02x", p[i]);
            i++;
        } else {
            memcpy(text + out, p + i, length);
            out += length;
            i += length;
        }
    }
    text[out] = '\0';
    *ret_text = text;
    return 0;
}

int text_format(char **ret_text, const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    const int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0) return error_origin(-ENOMEM);
    *ret_text = text;
    return 0;
}

bool text_is_token(const char *name, size_t max_bytes) {
    const size_t n = strlen(name);
    if (n == 0 || n > max_bytes || name[0] == '.' || name[0] == '-') return false;
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

bool text_is_file_name(const char *name) {
    const size_t n = strlen(name);
    if (n == 0 || n > FILE_NAME_MAX_BYTES || !text_is_utf8(name, n)) return false;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return false;
    for (size_t i = 0; i < n; i++)
        if (name[i] == '/' || is_control((unsigned char)name[i])) return false;
    return true;
}

int text_list_append(TextList *list, const char *item) {
    char *copy = strdup(item);
    char **items = copy ? realloc(list->items, (list->n_items + 1) * sizeof *items) : NULL;
    if (!items) {
        free(copy);
        return error_origin(-ENOMEM);
    }
    list->items = items;
    list->items[list->n_items++] = copy;
    return 0;
}

bool text_list_contains(const TextList *list, const char *item) {
    for (size_t i = 0; i < list->n_items; i++)
        if (strcmp(list->items[i], item) == 0) return true;
    return false;
}

int text_list_copy(const TextList *list, TextList *ret_copy) {
    TextList copy = {0};
    for (size_t i = 0; i < list->n_items; i++) {
        const int r = text_list_append(&copy, list->items[i]);
        if (r < 0) {
            text_list_deinit(&copy);
            return error_fold(r);
        }
    }
    *ret_copy = copy;
    return 0;
}

bool text_list_equal(const TextList *a, const TextList *b) {
    if (a->n_items != b->n_items) return false;
    for (size_t i = 0; i < a->n_items; i++)
        if (strcmp(a->items[i], b->items[i]) != 0) return false;
    return true;
}

void text_list_deinit(TextList *list) {
    for (size_t i = 0; i < list->n_items; i++) free(list->items[i]);
    free(list->items);
    *list = (TextList){0};
}
