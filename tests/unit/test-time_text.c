#include <stdlib.h>

#include <check.h>

#include "client/time_text.h"

#define NOW_MS UINT64_C(1900000000000)

static const struct {
    const char *text;
    bool good;
    uint64_t since_ms;
} moments[] = {
    {"0s", true, NOW_MS},
    {"90s", true, NOW_MS - 90000},
    {"15m", true, NOW_MS - 900000},
    {"2h", true, NOW_MS - 7200000},
    {"7d", true, NOW_MS - 604800000},
    {"99999999d", true, 0},
    {"1970-01-01", true, 0},
    {"2030-01-31", true, UINT64_C(1896048000000)},
    {"2030-01-31T12:00", true, UINT64_C(1896091200000)},
    {"2030-01-31T12:00Z", true, UINT64_C(1896091200000)},
    {"2030-01-31T12:00:07", true, UINT64_C(1896091207000)},
    {"2030-01-31T12:00:07Z", true, UINT64_C(1896091207000)},
    {"2028-02-29", true, UINT64_C(1835395200000)},
    {"2030-02-29", false, 0},
    {"2030-13-01", false, 0},
    {"2030-00-10", false, 0},
    {"2030-01-31T24:00", false, 0},
    {"2030-01-31T12:60", false, 0},
    {"2030-01-31 12:00", false, 0},
    {"1969-12-31", false, 0},
    {"30-1-31", false, 0},
    {"", false, 0},
    {"s", false, 0},
    {"5", false, 0},
    {"-5s", false, 0},
    {"5w", false, 0},
    {"5ss", false, 0},
    {"9999999999s", false, 0},
    {"yesterday", false, 0},
};

START_TEST(moments_are_read) {
    uint64_t since_ms = 77;
    ck_assert_int_eq(time_text_parse_since(moments[_i].text, NOW_MS, &since_ms), moments[_i].good);
    ck_assert_uint_eq(since_ms, moments[_i].good ? moments[_i].since_ms : 77);
}
END_TEST

START_TEST(moments_are_printed) {
    char text[TIME_TEXT_BYTES];
    time_text_format(UINT64_C(1896091207999), text);
    ck_assert_str_eq(text, "2030-01-31T12:00:07Z");
    time_text_format(UINT64_MAX, text);
    ck_assert_str_ne(text, "");
}
END_TEST

static const struct {
    uint64_t ms;
    const char *text;
} durations[] = {
    {0, "0s"},
    {999, "0s"},
    {59999, "59s"},
    {60000, "1m00s"},
    {125000, "2m05s"},
    {3599000, "59m59s"},
    {3600000, "1h00m"},
    {86399000, "23h59m"},
    {86400000, "1d0h"},
    {273600000, "3d4h"},
    {UINT64_MAX, "213503982334d14h"},
};

START_TEST(durations_are_printed) {
    char text[TIME_TEXT_BYTES];
    time_text_format_duration(durations[_i].ms, text);
    ck_assert_str_eq(text, durations[_i].text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("time_text");
    TCase *tests = tcase_create("time_text");
    tcase_add_loop_test(tests, moments_are_read, 0, sizeof moments / sizeof *moments);
    tcase_add_test(tests, moments_are_printed);
    tcase_add_loop_test(tests, durations_are_printed, 0, sizeof durations / sizeof *durations);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
