#include "complain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/units.h"
#include "printable.h"

enum { LINE_BYTES = 2048 };

/* What is named in a message may hold anything: a path, a daemon's reply. */
static void print_line(const char *lead, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void print_line(const char *lead, const char *format, va_list args) {
    char line[LINE_BYTES];
    vsnprintf(line, sizeof line, format, args);
    fputs(lead, stderr);
    printable_text(stderr, line);
}

ExitStatus complain_infrastructure(const char *format, ...) {
    va_list args;
    va_start(args, format);
    print_line("INFRASTRUCTURE FAILURE: ", format, args);
    va_end(args);
    fputc('\n', stderr);
    return EXIT_STATUS_INFRASTRUCTURE;
}

ExitStatus complain_usage(const char *command, const char *format, ...) {
    const char *space = command ? " " : "";
    va_list args;
    va_start(args, format);
    fprintf(stderr, "tbclient%s%s", space, command ? command : "");
    print_line(": ", format, args);
    va_end(args);
    fprintf(stderr, "; see: tbclient%s%s --help\n", space, command ? command : "");
    return EXIT_STATUS_USAGE;
}

ExitStatus complain_step(int r, const Trouble *trouble, uint64_t wait_ms) {
    char seconds[UNITS_TEXT_BYTES];
    switch (r) {
    case TROUBLE_E_TOLD:
        return complain_infrastructure("%s", trouble->text);
    case TROUBLE_E_TIMEOUT:
        units_format_seconds(wait_ms, seconds);
        return complain_infrastructure("tbsandboxd does not answer within %s s", seconds);
    case TROUBLE_E_INTERRUPTED:
        fputs("tbclient: interrupted\n", stderr);
        return EXIT_STATUS_INTERRUPTED;
    default:
        return complain_infrastructure("%s", strerror(-r));
    }
}
