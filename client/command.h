/* Command: what the program can be asked to do: one table entry, one file for each. Parses the
 * words of the command line for them and explains itself; the command only does its work. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "exit_status.h"
#include "options.h"

/* Options that every command has. */
typedef struct Common {
    const char *socket; /* NULL: the default address */
    uint64_t wait_ms;   /* for everything the command waits for, together */
    bool json;
    bool help;
    bool version;
} Common;

typedef struct Invocation {
    Common common;
    const void *settings; /* the command's own options */
    const TextList *operands;
} Invocation;

typedef struct Command {
    const char *name;     /* NULL ends a table */
    const char *operands; /* as help shows them */
    const char *summary;
    const char *notes; /* behind the options in its help; may be NULL */
    const Option *options;
    size_t settings_bytes;
    size_t min_operands;
    size_t max_operands;
    uint64_t wait_ms; /* when --wait-s is not given */
    /* An ExitStatus, or -errno for what the command does not report itself. */
    int (*run)(const Invocation *invocation);
} Command;

/* Runs what the command line asks for; `commands` ends with an entry without a name. The program's
 * exit status. */
int command_main(const Command *const *commands, int argc, char **argv);
