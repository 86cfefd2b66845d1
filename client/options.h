/* Options: tables that say which options there are and where their values lie in a struct. The same
 * table parses, explains and frees. Knows no command. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"
#include "trouble.h"

typedef enum OptionKind {
    OPTION_FLAG,    /* bool */
    OPTION_TEXT,    /* const char *, borrowed from argv */
    OPTION_TEXTS,   /* TextList; may be given several times */
    OPTION_COUNT,   /* uint32_t within [min, max] */
    OPTION_SECONDS, /* uint64_t in ms within [min, max] */
} OptionKind;

typedef struct Option {
    const char *name; /* without the dashes; NULL ends a table */
    OptionKind kind;
    size_t offset;
    const char *argument; /* as help shows it; NULL for a flag */
    const char *help;
    uint64_t min;
    uint64_t max;
    /* SECONDS: what the option means without an argument, so that one may be left out. */
    const char *fallback;
} Option;

/* A table and the struct it is about. */
typedef struct OptionSet {
    const Option *options;
    void *base;
} OptionSet;

/* Reads `args` (argv without the program's name) into the structs; what is no option is appended to
 * `operands`. Options are recognised as --name VALUE or --name=VALUE, and end at "--". With
 * `operands` NULL parsing stops at the first operand, whose index is *ret_n_read.
 * 0, TROUBLE_E_TOLD, or -ENOMEM. */
int options_parse(const OptionSet *sets, size_t n_sets, int n_args, char *const *args,
                  TextList *operands, Trouble *trouble, int *ret_n_read);
/* One line for each option. */
void options_explain(const Option *options, FILE *stream);
void options_deinit(const OptionSet *set);
