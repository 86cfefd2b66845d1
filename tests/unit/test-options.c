#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "client/options.h"

typedef struct Settings {
    bool flag;
    const char *text;
    TextList texts;
    uint32_t count;
    uint64_t ms;
    uint64_t watch_ms;
} Settings;

static const Option options[] = {
    {"flag", OPTION_FLAG, offsetof(Settings, flag), NULL, "a flag", 0, 0, NULL},
    {"text", OPTION_TEXT, offsetof(Settings, text), "T", "a text", 0, 0, NULL},
    {"texts", OPTION_TEXTS, offsetof(Settings, texts), "T", "texts", 0, 0, NULL},
    {"count", OPTION_COUNT, offsetof(Settings, count), "N", "a count", 2, 9, NULL},
    {"ms", OPTION_SECONDS, offsetof(Settings, ms), "S", "seconds", 100, 60000, NULL},
    {"watch", OPTION_SECONDS, offsetof(Settings, watch_ms), "S", "again", 1, 60000, "2"},
    {NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

static Settings settings;
static TextList operands;
static Trouble trouble;
static int n_read;

static void teardown(void) {
    const OptionSet set = {options, &settings};
    options_deinit(&set);
    text_list_deinit(&operands);
}

/* Words are split at spaces. */
static int parse(const char *words, TextList *ret_operands) {
    static char line[256];
    char *args[16];
    int n_args = 0;
    const OptionSet set = {options, &settings};
    snprintf(line, sizeof line, "%s", words);
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) args[n_args++] = word;
    return options_parse(&set, 1, n_args, args, ret_operands, &trouble, &n_read);
}

START_TEST(all_kinds_are_read) {
    ck_assert_int_eq(parse("--flag --text a --texts b --texts=c=d --count 9 --ms=0.5", &operands),
                     0);
    ck_assert(settings.flag);
    ck_assert_str_eq(settings.text, "a");
    ck_assert_uint_eq(settings.texts.n_items, 2);
    ck_assert_str_eq(settings.texts.items[1], "c=d");
    ck_assert_uint_eq(settings.count, 9);
    ck_assert_uint_eq(settings.ms, 500);
    ck_assert_uint_eq(operands.n_items, 0);
}
END_TEST

START_TEST(operands_may_stand_anywhere) {
    ck_assert_int_eq(parse("a - --flag b -- --count -c", &operands), 0);
    ck_assert_uint_eq(operands.n_items, 5);
    ck_assert_str_eq(operands.items[1], "-");
    ck_assert_str_eq(operands.items[3], "--count");
    ck_assert_str_eq(operands.items[4], "-c");
    ck_assert_uint_eq(settings.count, 0);
}
END_TEST

START_TEST(parsing_can_stop_at_the_first_operand) {
    ck_assert_int_eq(parse("--count 3 run --flag", NULL), 0);
    ck_assert_int_eq(n_read, 2);
    ck_assert_uint_eq(settings.count, 3);
    ck_assert(!settings.flag);
}
END_TEST

static const struct {
    const char *words;
    uint64_t watch_ms;
    size_t n_operands;
} fallbacks[] = {
    {"--watch", 2000, 0},   {"--watch 5", 5000, 0},      {"--watch=0.5", 500, 0},
    {"--watch x", 2000, 1}, {"--watch --flag", 2000, 0},
};

START_TEST(argument_may_be_left_out_where_there_is_a_fallback) {
    ck_assert_int_eq(parse(fallbacks[_i].words, &operands), 0);
    ck_assert_uint_eq(settings.watch_ms, fallbacks[_i].watch_ms);
    ck_assert_uint_eq(operands.n_items, fallbacks[_i].n_operands);
}
END_TEST

static const struct {
    const char *words;
    const char *told;
} errors[] = {
    {"--nope", "unknown option --nope"},
    {"--nope=1", "unknown option --nope"},
    {"--fla", "unknown option --fla"},
    {"-f", "unknown option -f"},
    {"--flag=1", "--flag takes no value"},
    {"--text", "--text needs a value: T"},
    {"--count 1", "--count takes a whole number from 2 to 9, not '1'"},
    {"--count 10", "--count takes a whole number from 2 to 9, not '10'"},
    {"--count many", "--count takes a whole number from 2 to 9, not 'many'"},
    {"--count 4294967299", "--count takes a whole number from 2 to 9, not '4294967299'"},
    {"--ms 0.05", "--ms takes seconds from 0.1 to 60, not '0.05'"},
    {"--ms=", "--ms takes seconds from 0.1 to 60, not ''"},
};

START_TEST(errors_are_told) {
    ck_assert_int_eq(parse(errors[_i].words, &operands), TROUBLE_E_TOLD);
    ck_assert_str_eq(trouble.text, errors[_i].told);
    ck_assert_uint_eq(settings.count, 0);
}
END_TEST

START_TEST(every_option_is_explained) {
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *stream = open_memstream(&text, &n_bytes);
    options_explain(options, stream);
    fclose(stream);
    ck_assert_ptr_nonnull(strstr(text, "  --flag                  a flag\n"));
    ck_assert_ptr_nonnull(strstr(text, "  --count N               a count\n"));
    ck_assert_ptr_nonnull(strstr(text, "  --watch [S]             again\n"));
    free(text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("options");
    TCase *tests = tcase_create("options");
    tcase_add_checked_fixture(tests, NULL, teardown);
    tcase_add_test(tests, all_kinds_are_read);
    tcase_add_test(tests, operands_may_stand_anywhere);
    tcase_add_test(tests, parsing_can_stop_at_the_first_operand);
    tcase_add_loop_test(tests, argument_may_be_left_out_where_there_is_a_fallback, 0,
                        sizeof fallbacks / sizeof *fallbacks);
    tcase_add_loop_test(tests, errors_are_told, 0, sizeof errors / sizeof *errors);
    tcase_add_test(tests, every_option_is_explained);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
