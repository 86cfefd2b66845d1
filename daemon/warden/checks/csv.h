/* Csv: records of comma-separated values (RFC 4180, and what is found in its name: any line end,
 * ragged records, text around quotes, a byte order mark). Never fails on what it reads: every byte
 * sequence is some table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct CsvField {
    const char *text; /* without its quotes; not NUL-terminated */
    size_t n_bytes;
} CsvField;

typedef struct CsvReader {
    const uint8_t *bytes; /* borrowed */
    size_t n_bytes;
    size_t position;
    char *text; /* of the current record */
    size_t text_bytes;
    size_t text_capacity;
    CsvField *fields;
    size_t n_fields;
    size_t fields_capacity;
} CsvReader;

/* Documented result of csv_next. */
enum { CSV_E_END = 1 };

void csv_init(CsvReader *reader, const uint8_t *bytes, size_t n_bytes);
void csv_deinit(CsvReader *reader);
/* Reads the next record that is not blank; its fields are valid until the next call. 0, CSV_E_END,
 * or -ENOMEM. */
int csv_next(CsvReader *reader);
/* The field at `index`; an empty one where the record is too short. */
CsvField csv_field(const CsvReader *reader, size_t index);
/* True when there is a field `name`; the first one's index. */
bool csv_find(const CsvReader *reader, const char *name, size_t *ret_index);
