#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "complain.h"

enum { MAX_WAIT_S = 7 * 86400, MS = 1000 };

static const Option common_options[] = {
    {"socket", OPTION_TEXT, offsetof(Common, socket), "PATH", "the daemon's socket", 0, 0, NULL},
    {"wait-s", OPTION_SECONDS, offsetof(Common, wait_ms), "S", "wait at most S seconds in all", 1,
     (uint64_t)MAX_WAIT_S *MS, NULL},
    {"json", OPTION_FLAG, offsetof(Common, json), NULL, "print JSON, one object per line", 0, 0,
     NULL},
    {"help", OPTION_FLAG, offsetof(Common, help), NULL, "explain and exit", 0, 0, NULL},
    {NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

static const Option program_options[] = {
    {"version", OPTION_FLAG, offsetof(Common, version), NULL, "print the version and exit", 0, 0,
     NULL},
    {NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

static const char exit_statuses[] =
    "exit status:\n"
    "  0   every verdict passed, or the command did its work\n"
    "  1   at least one verdict is failed, and all are verdicts\n"
    "  2   infrastructure failure: something is not a verdict on the code; wins over 1\n"
    "  64  usage; nothing was sent\n"
    "  130 interrupted; accepted jobs go on\n";

static void explain_program(const Command *const *commands) {
    puts("usage: tbclient [--socket PATH] COMMAND ...\n\ncommands:");
    for (; *commands; commands++) printf("  %-8s %s\n", (*commands)->name, (*commands)->summary);
    puts("\noptions (every command has them but --version; tbclient COMMAND --help tells the "
         "rest):");
    options_explain(program_options, stdout);
    options_explain(common_options, stdout);
    printf("\nThe socket is $TBSANDBOX_SOCKET when set; otherwise /run/tbsandboxd/tbsandboxd.sock "
           "for\n"
           "root, and $XDG_RUNTIME_DIR/tbsandboxd/tbsandboxd.sock or "
           "/tmp/tbsandboxd-UID/tbsandboxd.sock\nfor a user, who uses root's when there is no such "
           "socket.\n\n%s",
           exit_statuses);
}

static void explain_command(const Command *command) {
    printf("usage: tbclient %s [OPTION]...%s%s\n\n%s\n\noptions:\n", command->name,
           command->operands[0] ? " " : "", command->operands, command->summary);
    options_explain(command->options, stdout);
    options_explain(common_options, stdout);
    printf("\n--wait-s is %llu unless given.\n", (unsigned long long)(command->wait_ms / MS));
    if (command->notes) printf("\n%s", command->notes);
    printf("\n%s", exit_statuses);
}

static const Command *find_command(const Command *const *commands, const char *name) {
    while (*commands && strcmp((*commands)->name, name) != 0) commands++;
    return *commands;
}

static ExitStatus refuse_operands(const Command *command, const TextList *operands) {
    if (operands->n_items < command->min_operands)
        return complain_usage(command->name, "names no %s", command->operands);
    return complain_usage(command->name, "does not take '%s'",
                          operands->items[command->max_operands]);
}

static int run_parsed(const Command *command, const Common *common, const void *settings,
                      const TextList *operands) {
    if (common->help) {
        explain_command(command);
        return EXIT_STATUS_PASSED;
    }
    if (operands->n_items < command->min_operands || operands->n_items > command->max_operands)
        return refuse_operands(command, operands);
    const Invocation invocation = {*common, settings, operands};
    return command->run(&invocation);
}

static int run_command(const Command *command, Common common, int n_args, char *const *args) {
    CLEANUP(freep) void *settings = calloc(1, command->settings_bytes + 1);
    if (!settings) return -ENOMEM;
    if (common.wait_ms == 0) common.wait_ms = command->wait_ms;
    const OptionSet sets[] = {{command->options, settings}, {common_options, &common}};
    CLEANUP(text_list_deinit) TextList operands = {0};
    Trouble trouble;
    int n_read;
    int r = options_parse(sets, 2, n_args, args, &operands, &trouble, &n_read);
    if (r == TROUBLE_E_TOLD)
        r = complain_usage(command->name, "%s", trouble.text);
    else if (r == 0)
        r = run_parsed(command, &common, settings, &operands);
    options_deinit(&sets[0]);
    return r;
}

static int run_program(const Command *const *commands, int n_args, char *const *args) {
    Common common = {0};
    const OptionSet sets[] = {{program_options, &common}, {common_options, &common}};
    Trouble trouble;
    int n_read = 0;
    const int r = options_parse(sets, 2, n_args, args, NULL, &trouble, &n_read);
    if (r == TROUBLE_E_TOLD) return complain_usage(NULL, "%s", trouble.text);
    if (r < 0) return r;
    if (common.version) {
        puts("tbclient " TBSANDBOX_VERSION);
        return EXIT_STATUS_PASSED;
    }
    if (common.help) {
        explain_program(commands);
        return EXIT_STATUS_PASSED;
    }
    if (n_read == n_args) return complain_usage(NULL, "names no command");
    const Command *command = find_command(commands, args[n_read]);
    if (!command) return complain_usage(NULL, "unknown command '%s'", args[n_read]);
    return run_command(command, common, n_args - n_read - 1, args + n_read + 1);
}

/* Results that nobody could read are no results. A reader who went away wants no words about it. */
static int close_output(int status) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    if (errno != EPIPE)
        complain_infrastructure("cannot write the results: %s",
                                errno ? strerror(errno) : "an earlier write failed");
    return exit_status_worse((ExitStatus)status, EXIT_STATUS_INFRASTRUCTURE);
}

int command_main(const Command *const *commands, int argc, char **argv) {
    const int r = run_program(commands, argc > 1 ? argc - 1 : 0, argv + (argc > 0));
    return close_output(r < 0 ? (int)complain_infrastructure("%s", strerror(-r)) : r);
}
