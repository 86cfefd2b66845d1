#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>
#include <jansson.h>

#include "base/log.h"

/* Standard error of what follows goes to the returned file. Each test is a process of its own. */
static FILE *capture_stderr(void) {
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    return file;
}

static void read_back(FILE *file, char *text, size_t size) {
    fflush(stderr);
    rewind(file);
    const size_t n = fread(text, 1, size - 1, file);
    text[n] = '\0';
    fclose(file);
}

/* What stands behind time and process. */
static const char *behind_process(const char *line, const char *process) {
    char mark[64];
    snprintf(mark, sizeof mark, "Z %s[%d] ", process, (int)getpid());
    const char *found = strstr(line, mark);
    ck_assert_msg(found != NULL, "no '%s' in '%s'", mark, line);
    return found + strlen(mark);
}

static const struct {
    const char *name;
    LogLevel level;
} levels[] = {{"error", LOG_LEVEL_ERROR},
              {"warning", LOG_LEVEL_WARNING},
              {"info", LOG_LEVEL_INFO},
              {"debug", LOG_LEVEL_DEBUG}};

START_TEST(level_names) {
    LogLevel level;
    ck_assert(log_level_from_name(levels[_i].name, &level));
    ck_assert_int_eq(level, levels[_i].level);
    ck_assert_str_eq(log_level_name(level), levels[_i].name);
}
END_TEST

START_TEST(format_names) {
    LogFormat format;
    ck_assert(log_format_from_name("json", &format));
    ck_assert_int_eq(format, LOG_FORMAT_JSON);
    ck_assert_str_eq(log_format_name(LOG_FORMAT_TEXT), "text");
}
END_TEST

START_TEST(unknown_names_change_nothing) {
    LogLevel level = LOG_LEVEL_DEBUG;
    LogFormat format = LOG_FORMAT_JSON;
    ck_assert(!log_level_from_name("Info", &level));
    ck_assert(!log_format_from_name("xml", &format));
    ck_assert_int_eq(level, LOG_LEVEL_DEBUG);
    ck_assert_int_eq(format, LOG_FORMAT_JSON);
}
END_TEST

START_TEST(text_line) {
    log_setup("prog", LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    FILE *file = capture_stderr();
    log_write(LOG_LEVEL_WARNING, (LogContext){.job = "j1", .environment = "e2"}, -ENOENT, "no %s",
              "luck");
    char line[512];
    read_back(file, line, sizeof line);
    ck_assert_str_eq(behind_process(line, "prog"),
                     "warning: no luck: No such file or directory job=j1 environment=e2\n");
}
END_TEST

START_TEST(one_event_is_one_line) {
    log_setup("prog", LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    FILE *file = capture_stderr();
    log_info("a\nforged [1] error: line\x1b[2J");
    char line[512];
    read_back(file, line, sizeof line);
    ck_assert_str_eq(behind_process(line, "prog"), "info: a?forged [1] error: line?[2J\n");
}
END_TEST

START_TEST(less_important_than_the_level_is_left_out) {
    log_setup("prog", LOG_LEVEL_WARNING, LOG_FORMAT_TEXT);
    FILE *file = capture_stderr();
    log_info("quiet");
    log_debug("quieter");
    log_warning(0, "loud");
    char text[512];
    read_back(file, text, sizeof text);
    ck_assert_str_eq(behind_process(text, "prog"), "warning: loud\n");
    ck_assert_ptr_null(strstr(text, "quiet"));
}
END_TEST

START_TEST(json_line) {
    log_setup("prog", LOG_LEVEL_DEBUG, LOG_FORMAT_JSON);
    FILE *file = capture_stderr();
    log_write(LOG_LEVEL_ERROR, (LogContext){.job = "j1"}, 0, "said \"%s\"", "no");
    char line[512];
    read_back(file, line, sizeof line);
    json_t *root = json_loads(line, 0, NULL);
    ck_assert_ptr_nonnull(root);
    ck_assert_str_eq(json_string_value(json_object_get(root, "message")), "said \"no\"");
    ck_assert_str_eq(json_string_value(json_object_get(root, "level")), "error");
    ck_assert_str_eq(json_string_value(json_object_get(root, "process")), "prog");
    ck_assert_str_eq(json_string_value(json_object_get(root, "job")), "j1");
    ck_assert_int_eq(json_integer_value(json_object_get(root, "pid")), getpid());
    ck_assert_ptr_null(json_object_get(root, "environment"));
    const char *when = json_string_value(json_object_get(root, "time"));
    ck_assert_uint_eq(strlen(when), strlen("2024-01-31T12:34:56.789Z"));
    json_decref(root);
}
END_TEST

START_TEST(a_foreign_byte_does_not_cost_the_line) {
    FILE *file = capture_stderr();
    log_setup("tbwarden", LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    log_info("name \xff end");
    char line[512];
    read_back(file, line, sizeof line);
    json_t *event = json_loads(line, 0, NULL);
    ck_assert_ptr_nonnull(event);
    ck_assert_str_eq(json_string_value(json_object_get(event, "message")), "name \xef\xbf\xbd end");
    json_decref(event);
}
END_TEST

START_TEST(long_messages_are_cut) {
    log_setup("prog", LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    char message[5000];
    memset(message, 'x', sizeof message);
    message[sizeof message - 1] = '\0';
    FILE *file = capture_stderr();
    log_error(-EIO, "%s", message);
    char line[sizeof message];
    read_back(file, line, sizeof line);
    ck_assert_uint_gt(strlen(line), 1000);
    ck_assert_uint_lt(strlen(line), 2200);
    ck_assert_int_eq(line[strlen(line) - 1], '\n');
}
END_TEST

int main(void) {
    Suite *suite = suite_create("log");
    TCase *tests = tcase_create("log");
    tcase_add_loop_test(tests, level_names, 0, sizeof levels / sizeof *levels);
    tcase_add_test(tests, format_names);
    tcase_add_test(tests, unknown_names_change_nothing);
    tcase_add_test(tests, text_line);
    tcase_add_test(tests, one_event_is_one_line);
    tcase_add_test(tests, less_important_than_the_level_is_left_out);
    tcase_add_test(tests, json_line);
    tcase_add_test(tests, a_foreign_byte_does_not_cost_the_line);
    tcase_add_test(tests, long_messages_are_cut);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
