#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/text.h"

enum { LOG_LINE_BYTES = 2048 };

static struct {
    const char *process;
    LogLevel level;
    LogFormat format;
} state = {.process = "tbsandbox", .level = LOG_LEVEL_INFO, .format = LOG_FORMAT_TEXT};

static const char *const level_names[] = {"error", "warning", "info", "debug"};
static const char *const format_names[] = {"text", "json"};

void log_setup(const char *process, LogLevel level, LogFormat format) {
    state.process = process;
    state.level = level;
    state.format = format;
}

static bool index_of(const char *const *names, size_t n_names, const char *name,
                     size_t *ret_index) {
    for (size_t i = 0; i < n_names; i++) {
        if (strcmp(names[i], name) != 0) continue;
        *ret_index = i;
        return true;
    }
    return false;
}

bool log_level_from_name(const char *name, LogLevel *ret_level) {
    size_t i;
    if (!index_of(level_names, sizeof level_names / sizeof *level_names, name, &i)) return false;
    *ret_level = (LogLevel)i;
    return true;
}

const char *log_level_name(LogLevel level) {
    return level_names[level];
}

bool log_format_from_name(const char *name, LogFormat *ret_format) {
    size_t i;
    if (!index_of(format_names, sizeof format_names / sizeof *format_names, name, &i)) return false;
    *ret_format = (LogFormat)i;
    return true;
}

const char *log_format_name(LogFormat format) {
    return format_names[format];
}

static void format_time(char *buffer, size_t size) {
    const uint64_t now_ms = clock_wall_ms();
    const time_t seconds = (time_t)(now_ms / MS_PER_S);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    const size_t n = strftime(buffer, size, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(buffer + n, size - n, ".%03uZ", (unsigned)(now_ms % MS_PER_S));
}

static void write_text(LogLevel level, LogContext context, const char *message) {
    char when[40];
    format_time(when, sizeof when);
    fprintf(stderr, "%s %s[%d] %s: %s%s%s%s%s\n", when, state.process, (int)getpid(),
            level_names[level], message, context.job ? " job=" : "", context.job ? context.job : "",
            context.environment ? " environment=" : "",
            context.environment ? context.environment : "");
}

static void write_json(LogLevel level, LogContext context, const char *message) {
    char when[40];
    format_time(when, sizeof when);
    json_t *line = json_pack("{s:s, s:s, s:i, s:s, s:s}", "time", when, "process", state.process,
                             "pid", (int)getpid(), "level", level_names[level], "message", message);
    if (!line) return;
    if (context.job) json_object_set_new(line, "job", json_string(context.job));
    if (context.environment)
        json_object_set_new(line, "environment", json_string(context.environment));
    char *text = json_dumps(line, JSON_COMPACT);
    if (text) fprintf(stderr, "%s\n", text);
    free(text);
    json_decref(line);
}

void log_write(LogLevel level, LogContext context, int code, const char *format, ...) {
    if (level > state.level) return;
    char message[LOG_LINE_BYTES];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (n < 0) return;
    if (code < 0 && (size_t)n < sizeof message)
        snprintf(message + n, sizeof message - (size_t)n, ": %s", strerror(-code));
    text_make_printable(message);
    /* A foreign byte, or a character cut in two at the bound, must not cost the line. */
    char *line = NULL;
    if (text_sanitize(message, strlen(message), &line) < 0) return;
    if (state.format == LOG_FORMAT_JSON)
        write_json(level, context, line);
    else
        write_text(level, context, line);
    free(line);
}
