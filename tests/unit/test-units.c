#include <stdlib.h>

#include <check.h>

#include "config/units.h"

static const struct {
    const char *text;
    bool good;
    uint64_t bytes;
} sizes[] = {
    {"0", true, 0},
    {"1", true, 1},
    {"65536", true, 65536},
    {"64KiB", true, 65536},
    {"1MiB", true, 1048576},
    {"3GiB", true, UINT64_C(3221225472)},
    {"18446744073709551615", true, UINT64_MAX},
    {"17179869183GiB", true, UINT64_C(17179869183) << 30},
    {"17179869184GiB", false, 0},
    {"18446744073709551616", false, 0},
    {"", false, 0},
    {"KiB", false, 0},
    {"lots", false, 0},
    {"-1", false, 0},
    {"+1", false, 0},
    {" 1", false, 0},
    {"1 KiB", false, 0},
    {"1KB", false, 0},
    {"1kib", false, 0},
    {"1KiBx", false, 0},
    {"01", false, 0},
    {"0x10", false, 0},
    {"1.5MiB", false, 0},
};

START_TEST(bytes_are_read) {
    uint64_t bytes = 77;
    ck_assert_int_eq(units_parse_bytes(sizes[_i].text, &bytes), sizes[_i].good);
    ck_assert_uint_eq(bytes, sizes[_i].good ? sizes[_i].bytes : 77);
}
END_TEST

static const struct {
    const char *text;
    bool good;
    uint64_t ms;
} durations[] = {
    {"0", true, 0},
    {"10", true, 10000},
    {"0.5", true, 500},
    {"0.05", true, 50},
    {"1.005", true, 1005},
    {"2.250", true, 2250},
    {"18446744073709551.615", true, UINT64_MAX},
    {"18446744073709551.616", false, 0},
    {"18446744073709552", false, 0},
    {"1.0005", false, 0},
    {"1.", false, 0},
    {".5", false, 0},
    {"1.5s", false, 0},
    {"1,5", false, 0},
    {"-1", false, 0},
    {"1e3", false, 0},
    {"", false, 0},
};

START_TEST(seconds_are_read) {
    uint64_t ms = 77;
    ck_assert_int_eq(units_parse_seconds(durations[_i].text, &ms), durations[_i].good);
    ck_assert_uint_eq(ms, durations[_i].good ? durations[_i].ms : 77);
}
END_TEST

START_TEST(counts_are_read) {
    uint64_t count = 77;
    ck_assert(units_parse_count("1024", &count));
    ck_assert_uint_eq(count, 1024);
    ck_assert(!units_parse_count("1KiB", &count));
    ck_assert(!units_parse_count("08", &count));
    ck_assert(!units_parse_count("99999999999999999999", &count));
    ck_assert_uint_eq(count, 1024);
}
END_TEST

static const struct {
    uint64_t bytes;
    const char *text;
} printed_sizes[] = {
    {0, "0"},
    {1, "1"},
    {1000, "1000"},
    {1024, "1KiB"},
    {1025, "1025"},
    {65536, "64KiB"},
    {UINT64_C(1) << 20, "1MiB"},
    {UINT64_C(1) << 40, "1024GiB"},
    {UINT64_MAX, "18446744073709551615"},
};

START_TEST(bytes_are_printed) {
    char text[UNITS_TEXT_BYTES];
    uint64_t bytes;
    units_format_bytes(printed_sizes[_i].bytes, text);
    ck_assert_str_eq(text, printed_sizes[_i].text);
    ck_assert(units_parse_bytes(text, &bytes));
    ck_assert_uint_eq(bytes, printed_sizes[_i].bytes);
}
END_TEST

static const struct {
    uint64_t ms;
    const char *text;
} printed_durations[] = {
    {0, "0"},    {1, "0.001"},   {10, "0.01"},        {500, "0.5"},
    {1000, "1"}, {1050, "1.05"}, {86400000, "86400"}, {UINT64_MAX, "18446744073709551.615"},
};

START_TEST(seconds_are_printed) {
    char text[UNITS_TEXT_BYTES];
    uint64_t ms;
    units_format_seconds(printed_durations[_i].ms, text);
    ck_assert_str_eq(text, printed_durations[_i].text);
    ck_assert(units_parse_seconds(text, &ms));
    ck_assert_uint_eq(ms, printed_durations[_i].ms);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("units");
    TCase *tests = tcase_create("units");
    tcase_add_loop_test(tests, bytes_are_read, 0, sizeof sizes / sizeof *sizes);
    tcase_add_loop_test(tests, seconds_are_read, 0, sizeof durations / sizeof *durations);
    tcase_add_test(tests, counts_are_read);
    tcase_add_loop_test(tests, bytes_are_printed, 0, sizeof printed_sizes / sizeof *printed_sizes);
    tcase_add_loop_test(tests, seconds_are_printed, 0,
                        sizeof printed_durations / sizeof *printed_durations);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
