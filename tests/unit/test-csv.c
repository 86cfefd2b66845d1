#include "warden/checks/csv.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

/* Fields are joined by '|', records by '/'. */
static void expect(const char *text, const char *expected) {
    CsvReader reader;
    char found[256] = "";
    size_t n = 0;
    csv_init(&reader, (const uint8_t *)text, strlen(text));
    int r;
    for (size_t row = 0; (r = csv_next(&reader)) == 0; row++)
        for (size_t i = 0; i < reader.n_fields; i++) {
            const CsvField field = csv_field(&reader, i);
            n += (size_t)snprintf(found + n, sizeof found - n, "%s%.*s",
                                  i     ? "|"
                                  : row ? "/"
                                        : "",
                                  (int)field.n_bytes, field.text);
        }
    ck_assert_int_eq(r, CSV_E_END);
    ck_assert_str_eq(found, expected);
    csv_deinit(&reader);
}

START_TEST(tables_are_read) {
    expect("", "");
    expect("a", "a");
    expect("a,b\n1,2\n", "a|b/1|2");
    expect("a,b\r\n1,2\r\n", "a|b/1|2");
    expect("a,b\r1,2", "a|b/1|2");
    expect("a,\n,b\n", "a|/|b");
    expect("\xef\xbb\xbf"
           "a,b\n",
           "a|b");
    expect("a,b\n\n\n1,2\n\n", "a|b/1|2");
    expect("a,b\n1\n1,2,3\n", "a|b/1/1|2|3");
}
END_TEST

START_TEST(quotes_are_understood) {
    expect("\"a,b\",c\n", "a,b|c");
    expect("\"a\nb\",c\n", "a\nb|c");
    expect("\"a\"\"b\",c\n", "a\"b|c");
    expect("\"\",c\n", "|c");
    expect("\"a\"b,c\n", "ab|c");
    expect("a\"b\",c\n", "a\"b\"|c");
    expect("\"open,c\n1,2", "open,c\n1,2");
    expect("\"a\"", "a");
}
END_TEST

START_TEST(fields_are_found_by_name) {
    CsvReader reader;
    size_t index = 9;
    csv_init(&reader, (const uint8_t *)"a,\"b c\",a\n", 10);
    ck_assert_int_eq(csv_next(&reader), 0);
    ck_assert(csv_find(&reader, "b c", &index));
    ck_assert_uint_eq(index, 1);
    ck_assert(csv_find(&reader, "a", &index));
    ck_assert_uint_eq(index, 0);
    ck_assert(!csv_find(&reader, "b", &index));
    ck_assert_uint_eq(csv_field(&reader, 3).n_bytes, 0);
    csv_deinit(&reader);
}
END_TEST

SUITE_MAIN("csv", tables_are_read, quotes_are_understood, fields_are_found_by_name)
