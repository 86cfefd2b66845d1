#include "warden/checks/csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const uint8_t byte_order_mark[] = {0xef, 0xbb, 0xbf};

void csv_init(CsvReader *reader, const uint8_t *bytes, size_t n_bytes) {
    *reader = (CsvReader){.bytes = bytes, .n_bytes = n_bytes};
    if (n_bytes >= sizeof byte_order_mark &&
        memcmp(bytes, byte_order_mark, sizeof byte_order_mark) == 0)
        reader->position = sizeof byte_order_mark;
}

void csv_deinit(CsvReader *reader) {
    free(reader->text);
    free(reader->fields);
    *reader = (CsvReader){0};
}

static bool at_end(const CsvReader *reader) {
    return reader->position == reader->n_bytes;
}

static bool at_line_end(const CsvReader *reader) {
    return at_end(reader) || reader->bytes[reader->position] == '\n' ||
           reader->bytes[reader->position] == '\r';
}

static void skip_line_ends(CsvReader *reader) {
    while (!at_end(reader) && at_line_end(reader)) reader->position++;
}

static int append_text(CsvReader *reader, const uint8_t *bytes, size_t n_bytes) {
    if (reader->text_bytes + n_bytes > reader->text_capacity) {
        const size_t capacity = 2 * (reader->text_bytes + n_bytes);
        char *grown = realloc(reader->text, capacity);
        if (!grown) return error_origin(-ENOMEM);
        reader->text = grown;
        reader->text_capacity = capacity;
    }
    if (n_bytes) memcpy(reader->text + reader->text_bytes, bytes, n_bytes);
    reader->text_bytes += n_bytes;
    return 0;
}

/* Up to the closing quote, which is passed over; a doubled one is one. */
static int read_quoted(CsvReader *reader) {
    while (!at_end(reader)) {
        const uint8_t *start = reader->bytes + reader->position;
        const uint8_t *quote = memchr(start, '"', reader->n_bytes - reader->position);
        const size_t n = quote ? (size_t)(quote - start) : reader->n_bytes - reader->position;
        const int r = append_text(reader, start, n);
        if (r < 0) return error_fold(r);
        reader->position += n + (quote != NULL);
        if (at_end(reader) || reader->bytes[reader->position] != '"') return 0;
        const int doubled = append_text(reader, (const uint8_t *)"\"", 1);
        if (doubled < 0) return error_fold(doubled);
        reader->position++;
    }
    return 0;
}

static int read_plain(CsvReader *reader) {
    const size_t start = reader->position;
    while (!at_line_end(reader) && reader->bytes[reader->position] != ',') reader->position++;
    const int r = append_text(reader, reader->bytes + start, reader->position - start);
    return r < 0 ? error_fold(r) : 0;
}

/* The text may still move: fields hold offsets until the record is whole. */
static int append_field(CsvReader *reader, size_t start) {
    if (reader->n_fields == reader->fields_capacity) {
        const size_t capacity = reader->fields_capacity ? 2 * reader->fields_capacity : 16;
        CsvField *grown = realloc(reader->fields, capacity * sizeof *grown);
        if (!grown) return error_origin(-ENOMEM);
        reader->fields = grown;
        reader->fields_capacity = capacity;
    }
    reader->fields[reader->n_fields++] = (CsvField){.n_bytes = reader->text_bytes - start};
    return 0;
}

static int read_field(CsvReader *reader) {
    const size_t start = reader->text_bytes;
    int r = 0;
    if (!at_end(reader) && reader->bytes[reader->position] == '"') {
        reader->position++;
        r = read_quoted(reader);
    }
    if (r == 0) r = read_plain(reader);
    if (r == 0) r = append_field(reader, start);
    return r < 0 ? error_fold(r) : 0;
}

static void settle_fields(CsvReader *reader) {
    size_t offset = 0;
    for (size_t i = 0; i < reader->n_fields; i++) {
        const size_t n_bytes = reader->fields[i].n_bytes;
        reader->fields[i].text = n_bytes ? reader->text + offset : "";
        offset += n_bytes;
    }
}

int csv_next(CsvReader *reader) {
    reader->text_bytes = reader->n_fields = 0;
    skip_line_ends(reader);
    if (at_end(reader)) return CSV_E_END;
    for (;;) {
        const int r = read_field(reader);
        if (r < 0) return error_fold(r);
        if (at_line_end(reader)) break;
        reader->position++; /* the comma */
    }
    settle_fields(reader);
    return 0;
}

CsvField csv_field(const CsvReader *reader, size_t index) {
    return index < reader->n_fields ? reader->fields[index] : (CsvField){"", 0};
}

bool csv_find(const CsvReader *reader, const char *name, size_t *ret_index) {
    const size_t n_bytes = strlen(name);
    for (size_t i = 0; i < reader->n_fields; i++) {
        if (reader->fields[i].n_bytes != n_bytes) continue;
        if (memcmp(reader->fields[i].text, name, n_bytes) != 0) continue;
        *ret_index = i;
        return true;
    }
    return false;
}
