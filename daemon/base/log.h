/* Log: one line per event on standard error, as text or JSON. One layer logs; library code returns.
 * Never holds a canary's value or a byte that generated code produced. */
#pragma once

#include <stdbool.h>

typedef enum LogLevel {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG
} LogLevel;
typedef enum LogFormat { LOG_FORMAT_TEXT, LOG_FORMAT_JSON } LogFormat;

/* Ids that a line is about; either may be NULL. */
typedef struct LogContext {
    const char *job;
    const char *environment;
} LogContext;

/* Sets the process's log; `process` (borrowed, static) names the program in every line. */
void log_setup(const char *process, LogLevel level, LogFormat format);
bool log_level_from_name(const char *name, LogLevel *ret_level);
const char *log_level_name(LogLevel level);
bool log_format_from_name(const char *name, LogFormat *ret_format);
const char *log_format_name(LogFormat format);

/* Writes one line when `level` is enabled. `code` < 0 adds the error's text; 0 adds nothing. */
void log_write(LogLevel level, LogContext context, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define LOG_NOTHING ((LogContext){0})
#define log_error(code, ...) log_write(LOG_LEVEL_ERROR, LOG_NOTHING, (code), __VA_ARGS__)
#define log_warning(code, ...) log_write(LOG_LEVEL_WARNING, LOG_NOTHING, (code), __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, LOG_NOTHING, 0, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, LOG_NOTHING, 0, __VA_ARGS__)
