/* tbwarden: argv, wiring, exit code; no logic. Started by tbsandboxd only. */
#include <getopt.h>
#include <stdlib.h>

#include <sodium.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "platform/supervisor.h"
#include "platform/workdir.h"
#include "warden/warden.h"

enum { EXIT_USAGE = 64, FIRST_FREE_FD = 3 };

typedef struct Options {
    long channel;
    const char *remove; /* a directory, instead of serving a channel */
    long broker_pid;
    LogLevel log_level;
    LogFormat log_format;
} Options;

#if defined(__SANITIZE_ADDRESS__)
/* Looking for leaks takes /proc/self, which is gone once we stand in an enclosure. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0";
}
#endif

static bool parse_number(const char *text, long min, long *ret_number) {
    char *end;
    const long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || number < min || number > INT32_MAX) return false;
    *ret_number = number;
    return true;
}

static bool parse_option(int option, const char *value, Options *options) {
    switch (option) {
    case 'c':
        return parse_number(value, FIRST_FREE_FD, &options->channel);
    case 'r':
        options->remove = value;
        return true;
    case 'b':
        return parse_number(value, 1, &options->broker_pid);
    case 'l':
        return log_level_from_name(value, &options->log_level);
    case 'f':
        return log_format_from_name(value, &options->log_format);
    default:
        return false;
    }
}

static bool parse_options(int argc, char **argv, Options *ret_options) {
    static const struct option known[] = {
        {"channel", required_argument, NULL, 'c'},    {"remove", required_argument, NULL, 'r'},
        {"broker", required_argument, NULL, 'b'},     {"log-level", required_argument, NULL, 'l'},
        {"log-format", required_argument, NULL, 'f'}, {0},
    };
    Options options = {.log_level = LOG_LEVEL_INFO, .log_format = LOG_FORMAT_TEXT};
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;)
        if (!parse_option(option, optarg, &options)) return false;
    if (optind != argc || options.broker_pid == 0) return false;
    if ((options.channel != 0) == (options.remove != NULL)) return false;
    *ret_options = options;
    return true;
}

static int serve(const Options *options) {
    CLEANUP(warden_channel_freep) WardenChannel *channel = NULL;
    int r = supervisor_enter(options->broker_pid);
    if (r == SUPERVISOR_E_ORPHAN) return EXIT_SUCCESS;
    if (r == 0) r = warden_channel_new((int)options->channel, &channel);
    if (r == 0) r = warden_serve(channel);
    if (r < 0) log_error(r, "tbwarden failed");
    return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int remove_directory(const Options *options) {
    int r = supervisor_enter(options->broker_pid);
    if (r == SUPERVISOR_E_ORPHAN) return EXIT_FAILURE;
    if (r == 0) r = workdir_remove(options->remove);
    if (r < 0) log_error(r, "cannot remove %s", options->remove);
    return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    Options options;
    log_setup("tbwarden", LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    if (!parse_options(argc, argv, &options)) {
        log_error(0, "usage: tbwarden --channel FD|--remove DIRECTORY --broker PID "
                     "[--log-level LEVEL] [--log-format FORMAT]; tbsandboxd starts it");
        return EXIT_USAGE;
    }
    log_setup("tbwarden", options.log_level, options.log_format);
    if (sodium_init() < 0) {
        log_error(0, "the random number generator cannot be set up");
        return EXIT_FAILURE;
    }
    return options.remove ? remove_directory(&options) : serve(&options);
}
