/* Field print: the reverse of field read, exact to the bit. Never decides what is worth printing.
 */
#include "config/field.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "config/config.h"
#include "config/units.h"

enum { INDENT = 2 };

/* Decodes one character of well-formed UTF-8 and moves *text behind it. */
static uint32_t next_character(const char **text) {
    const unsigned char *p = (const unsigned char *)*text;
    const int n_more = p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2 : 3;
    uint32_t character = n_more ? p[0] & (0x3fu >> n_more) : p[0];
    for (int i = 1; i <= n_more && p[i]; i++) {
        character = character << 6 | (p[i] & 0x3f);
        (*text)++;
    }
    (*text)++;
    return character;
}

/* Everything that is not plain ASCII is escaped: YAML refuses some characters and a terminal shows
 * others as something else. */
void field_print_quoted(const char *text, FILE *stream) {
    fputc('"', stream);
    while (*text) {
        const uint32_t c = next_character(&text);
        if (c == '\n')
            fputs("\\n", stream);
        else if (c == '"' || c == '\\')
            fprintf(stream, "\\%c", (char)c);
        else if (c >= 0x20 && c < 0x7f)
            fputc((int)c, stream);
        else
            fprintf(stream, "\\U%08" PRIX32, c);
    }
    fputc('"', stream);
}

/* True when a literal block (`|`) holds the text exactly. */
static bool fits_block(const char *text) {
    const size_t n = strlen(text);
    if (n < 2 || text[0] == ' ' || text[0] == '\n') return false;
    if (text[n - 1] != '\n' || text[n - 2] == '\n') return false;
    for (; *text; text++)
        if (*text != '\n' && (*text < 0x20 || *text > 0x7e)) return false;
    return true;
}

static void print_block(const char *text, int indent, FILE *stream) {
    fputs(" |\n", stream);
    while (*text) {
        const size_t n = strcspn(text, "\n");
        if (n) fprintf(stream, "%*s%.*s", indent, "", (int)n, text);
        fputc('\n', stream);
        text += n + 1;
    }
}

static void print_text(const char *text, int indent, FILE *stream) {
    if (fits_block(text)) {
        print_block(text, indent + INDENT, stream);
        return;
    }
    fputc(' ', stream);
    field_print_quoted(text, stream);
    fputc('\n', stream);
}

static void print_texts(const TextList *list, int indent, FILE *stream) {
    fputs(list->n_items ? "\n" : " []\n", stream);
    for (size_t i = 0; i < list->n_items; i++) {
        fprintf(stream, "%*s- ", indent + INDENT, "");
        field_print_quoted(list->items[i], stream);
        fputc('\n', stream);
    }
}

static void print_variables(const EnvVariableList *list, int indent, FILE *stream) {
    fputs(list->n_items ? "\n" : " {}\n", stream);
    for (size_t i = 0; i < list->n_items; i++) {
        fprintf(stream, "%*s%s: ", indent + INDENT, "", list->items[i].name);
        field_print_quoted(list->items[i].value, stream);
        fputc('\n', stream);
    }
}

static void print_value(const Field *field, const void *value, int indent, FILE *stream) {
    char text[UNITS_TEXT_BYTES];
    switch (field->kind) {
    case FIELD_BOOL:
        fputs(*(const bool *)value ? " true\n" : " false\n", stream);
        return;
    case FIELD_COUNT:
        fprintf(stream, " %" PRIu32 "\n", *(const uint32_t *)value);
        return;
    case FIELD_MODE:
        fprintf(stream, " \"%04" PRIo32 "\"\n", *(const uint32_t *)value);
        return;
    case FIELD_CHOICE:
        fprintf(stream, " %s\n", field->choices[*(const unsigned *)value]);
        return;
    case FIELD_BYTES:
        units_format_bytes(*(const uint64_t *)value, text);
        fprintf(stream, " %s\n", text);
        return;
    case FIELD_SECONDS:
        units_format_seconds(*(const uint64_t *)value, text);
        fprintf(stream, " %s\n", text);
        return;
    case FIELD_TEXT:
        print_text(*(char *const *)value, indent, stream);
        return;
    case FIELD_TEXTS:
        print_texts(value, indent, stream);
        return;
    case FIELD_VARIABLES:
        print_variables(value, indent, stream);
        return;
    case FIELD_SECTION:
        fputc('\n', stream);
        fields_print(field->section, value, indent + INDENT, stream);
        return;
    case FIELD_ELSEWHERE:
        return;
    }
}

void fields_print(const Field *fields, const void *base, int indent, FILE *stream) {
    for (const Field *field = fields; field->key; field++) {
        if (field->kind == FIELD_ELSEWHERE) continue;
        fprintf(stream, "%*s%s:", indent, "", field->key);
        print_value(field, (const char *)base + field->offset, indent, stream);
    }
}
