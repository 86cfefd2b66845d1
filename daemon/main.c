/* tbsandboxd: argv, wiring, exit code. No logic. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include <sodium.h>

#include "broker/broker.h"

static const char usage_text[] =
    "usage: tbsandboxd [--config FILE]\n"
    "       tbsandboxd --check-config FILE\n"
    "\n"
    "Serves sandbox jobs in the foreground until SIGTERM; SIGHUP reloads the config.\n"
    "  --config FILE        read this config; without it the built-in one is used\n"
    "  --check-config FILE  print the effective config, or every error in it, and exit\n"
    "  --version            print the version and exit\n"
    "  --help               print this and exit\n"
    "exit status: 0 stopped as told, 1 could not run, 64 usage, 78 the config is wrong\n";

typedef struct Options {
    const char *config_file;
    const char *check_file;
    int exit_code; /* -1: go on */
} Options;

static Options read_options(int argc, char **argv) {
    static const struct option known[] = {
        {"config", required_argument, NULL, 'c'},
        {"check-config", required_argument, NULL, 'k'},
        {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    Options options = {.exit_code = -1};
    int choice;
    while ((choice = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (choice) {
        case 'c':
            options.config_file = optarg;
            break;
        case 'k':
            options.check_file = optarg;
            break;
        case 'v':
            puts("tbsandboxd " TBSANDBOX_VERSION);
            options.exit_code = 0;
            return options;
        case 'h':
            fputs(usage_text, stdout);
            options.exit_code = 0;
            return options;
        default:
            options.exit_code = EX_USAGE;
            break;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "tbsandboxd: unexpected argument '%s'\n", argv[optind]);
        options.exit_code = EX_USAGE;
    }
    if (options.exit_code == EX_USAGE) fputs(usage_text, stderr);
    return options;
}

static int check_config(const char *file) {
    const int r = broker_check_config(file, stdout);
    return r == 0 ? 0 : r == BROKER_E_CONFIG ? EX_CONFIG : 1;
}

static int serve(const char *config_file) {
    Broker *broker = NULL;
    int r = broker_new(config_file, &broker);
    if (r == BROKER_E_CONFIG) return EX_CONFIG;
    if (r == 0) r = broker_run(broker);
    if (r < 0) log_error(r, "cannot run");
    broker_free(broker);
    return r == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    const Options options = read_options(argc, argv);
    if (options.exit_code >= 0) return options.exit_code;
    log_setup("tbsandboxd", LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    if (sodium_init() < 0) {
        log_error(0, "no source of randomness");
        return 1;
    }
    return options.check_file ? check_config(options.check_file) : serve(options.config_file);
}
