#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "config/units.h"

enum { HELP_COLUMN = 26 };

typedef struct Reader {
    const OptionSet *sets;
    size_t n_sets;
    int n_args;
    char *const *args;
    int next;
    Trouble *trouble;
} Reader;

/* The option that `--name` or `--name=…` means, and the struct it is in. */
static const Option *find_option(const Reader *reader, const char *name, size_t name_bytes,
                                 void **ret_base) {
    for (size_t i = 0; i < reader->n_sets; i++)
        for (const Option *option = reader->sets[i].options; option->name; option++)
            if (strlen(option->name) == name_bytes && !memcmp(option->name, name, name_bytes)) {
                *ret_base = reader->sets[i].base;
                return option;
            }
    return NULL;
}

static int refuse_range(const Option *option, const char *value, Trouble *trouble) {
    char low[UNITS_TEXT_BYTES], high[UNITS_TEXT_BYTES];
    if (option->kind == OPTION_SECONDS) {
        units_format_seconds(option->min, low);
        units_format_seconds(option->max, high);
    } else {
        snprintf(low, sizeof low, "%" PRIu64, option->min);
        snprintf(high, sizeof high, "%" PRIu64, option->max);
    }
    return trouble_set(trouble, "--%s takes %s from %s to %s, not '%s'", option->name,
                       option->kind == OPTION_SECONDS ? "seconds" : "a whole number", low, high,
                       value);
}

static bool parse_number(const Option *option, const char *value, uint64_t *ret_number) {
    uint64_t number;
    const bool is_number = option->kind == OPTION_SECONDS ? units_parse_seconds(value, &number)
                                                          : units_parse_count(value, &number);
    if (!is_number || number < option->min || number > option->max) return false;
    *ret_number = number;
    return true;
}

static int store(const Option *option, void *base, const char *value, Trouble *trouble) {
    void *target = (char *)base + option->offset;
    uint64_t number = 0;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)target = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)target = value;
        return 0;
    case OPTION_TEXTS:
        return text_list_append(target, value);
    case OPTION_COUNT:
        if (!parse_number(option, value, &number)) return refuse_range(option, value, trouble);
        *(uint32_t *)target = (uint32_t)number;
        return 0;
    case OPTION_SECONDS:
        if (!parse_number(option, value, &number)) return refuse_range(option, value, trouble);
        *(uint64_t *)target = number;
        return 0;
    }
    return error_origin(-EINVAL);
}

/* The argument of an option that has none in its own word. NULL when it has none at all. */
static const char *following_value(Reader *reader, const Option *option) {
    const char *next = reader->next < reader->n_args ? reader->args[reader->next] : NULL;
    uint64_t ms;
    if (option->fallback && !(next && units_parse_seconds(next, &ms))) return option->fallback;
    if (next) reader->next++;
    return next;
}

static int read_option(Reader *reader, const char *word) {
    const char *name = word + 2;
    const size_t name_bytes = strcspn(name, "=");
    const char *value = name[name_bytes] ? name + name_bytes + 1 : NULL;
    void *base = NULL;
    const Option *option = find_option(reader, name, name_bytes, &base);
    if (!option)
        return trouble_set(reader->trouble, "unknown option --%.*s", (int)name_bytes, name);
    if (option->kind == OPTION_FLAG && value)
        return trouble_set(reader->trouble, "--%s takes no value", option->name);
    if (option->kind != OPTION_FLAG && !value) {
        value = following_value(reader, option);
        if (!value)
            return trouble_set(reader->trouble, "--%s needs a value: %s", option->name,
                               option->argument);
    }
    return store(option, base, value, reader->trouble);
}

static bool is_operand(const char *word) {
    return word[0] != '-' || word[1] == '\0';
}

static int read_word(Reader *reader, TextList *operands, bool *options_ended) {
    const char *word = reader->args[reader->next++];
    if (*options_ended || is_operand(word)) return text_list_append(operands, word);
    if (strcmp(word, "--") == 0) {
        *options_ended = true;
        return 0;
    }
    if (strcmp(word, "-h") == 0) return read_option(reader, "--help");
    if (word[1] != '-') return trouble_set(reader->trouble, "unknown option %s", word);
    return read_option(reader, word);
}

int options_parse(const OptionSet *sets, size_t n_sets, int n_args, char *const *args,
                  TextList *operands, Trouble *trouble, int *ret_n_read) {
    Reader reader = {
        .sets = sets, .n_sets = n_sets, .n_args = n_args, .args = args, .trouble = trouble};
    bool options_ended = false;
    while (reader.next < n_args) {
        if (!operands && is_operand(args[reader.next])) break;
        const int r = read_word(&reader, operands, &options_ended);
        if (r) return r;
        if (!operands && options_ended) break;
    }
    *ret_n_read = reader.next;
    return 0;
}

void options_explain(const Option *options, FILE *stream) {
    for (const Option *option = options; option->name; option++) {
        const char *open = option->fallback ? " [" : " ", *close = option->fallback ? "]" : "";
        int width = fprintf(stream, "  --%s", option->name);
        if (option->argument) width += fprintf(stream, "%s%s%s", open, option->argument, close);
        if (width >= HELP_COLUMN) width = fprintf(stream, "\n") - 1;
        fprintf(stream, "%*s%s\n", HELP_COLUMN - width, "", option->help);
    }
}

void options_deinit(const OptionSet *set) {
    for (const Option *option = set->options; option->name; option++)
        if (option->kind == OPTION_TEXTS)
            text_list_deinit((TextList *)(void *)((char *)set->base + option->offset));
}
