/* Render verdict: the text about one job's verdict. */
#include "render_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "host.h"
#include "output.h"
#include "printable.h"

enum { SHORT_OUTPUT_LINES = 20, US_PER_MS = 1000 };

RenderStyle render_style_for(FILE *stream, bool show_output) {
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    const bool is_dumb = terminal && strcmp(terminal, "dumb") == 0;
    return (RenderStyle){
        .color = host_is_terminal(stream) && !is_dumb && !(no_color && no_color[0]),
        .show_output = show_output,
    };
}

void render_colored(FILE *stream, RenderStyle style, Tb__VerdictKind kind, const char *word) {
    static const char *const colors[] = {
        [TB__VERDICT_KIND__VERDICT_UNSPECIFIED] = "\x1b[33m",
        [TB__VERDICT_KIND__PASSED] = "\x1b[32m",
        [TB__VERDICT_KIND__FAILED] = "\x1b[31m",
        [TB__VERDICT_KIND__INFRASTRUCTURE_FAILURE] = "\x1b[1;35m",
    };
    if (!style.color) {
        fputs(word, stream);
        return;
    }
    const size_t n_colors = sizeof colors / sizeof *colors;
    fprintf(stream, "%s%s\x1b[0m", colors[(size_t)kind < n_colors ? kind : 0], word);
}

/* Text of several lines: the first where we are, the others indented below. */
static void write_message(FILE *stream, const char *message) {
    const size_t first_bytes = strcspn(message, "\n");
    printable_line(stream, message, first_bytes);
    fputc('\n', stream);
    if (!message[first_bytes]) return;
    const char *rest = message + first_bytes + 1;
    printable_block(stream, "      ", rest, strlen(rest), SIZE_MAX);
}

static void write_place(FILE *stream, const Tb__Failure *failure) {
    if (failure->sink[0]) {
        fputs(" in ", stream);
        printable_text(stream, failure->sink);
        if (failure->transform[0]) {
            fputs(" (", stream);
            printable_text(stream, failure->transform);
            fputc(')', stream);
        }
        fprintf(stream, " at byte %" PRIu64, failure->offset);
    }
    if (failure->line) fprintf(stream, " (line %" PRIu32 ")", failure->line);
}

/* `canary_leak mail-1 in stdout (literal) at byte 12`, `exited: generated code exited 3: …` */
static void write_failure(FILE *stream, const Tb__Failure *failure) {
    fputs("  ", stream);
    printable_text(stream, failure->code);
    if (failure->subject[0]) {
        fputc(' ', stream);
        printable_text(stream, failure->subject);
    }
    write_place(stream, failure);
    if (!failure->message[0]) {
        fputc('\n', stream);
        return;
    }
    fputs(": ", stream);
    write_message(stream, failure->message);
}

void render_field(FILE *stream, const char *name, const char *text) {
    if (!text[0]) return;
    fprintf(stream, "  %s: ", name);
    printable_text(stream, text);
    fputc('\n', stream);
}

void render_list(FILE *stream, const char *name, char *const *items, size_t n_items) {
    if (n_items == 0) return;
    fprintf(stream, "  %s:", name);
    for (size_t i = 0; i < n_items; i++) {
        fputc(' ', stream);
        printable_text(stream, items[i]);
    }
    fputc('\n', stream);
}

static void write_exit(FILE *stream, const Tb__Exit *exit_status) {
    if (!exit_status) return;
    if (exit_status->signal) {
        fprintf(stream, "  exit: signal %" PRIu32 " ", exit_status->signal);
        printable_text(stream, exit_status->signal_name);
        fputc('\n', stream);
    } else {
        fprintf(stream, "  exit: %" PRId32 "\n", exit_status->code);
    }
}

static void write_usage(FILE *stream, const Tb__Usage *usage) {
    if (!usage) return;
    fprintf(stream, "  used: wall %.1f ms, cpu %.1f ms, peak memory %.1f MiB\n",
            (double)usage->wall_us / US_PER_MS, (double)usage->cpu_us / US_PER_MS,
            (double)usage->peak_memory_bytes / (1 << 20));
}

/* One line: the verdict's own failure or stderr tells the rest. */
static void write_crash(FILE *stream, const Tb__NativeCrash *crash) {
    fprintf(stream, "  native crash: attempt %" PRIu32 " in ", crash->attempt);
    printable_text(stream, crash->environment_id);
    fputs(", ", stream);
    printable_text(stream, crash->signal_name);
    if (crash->excerpt[0]) fputs(": ", stream);
    printable_line(stream, crash->excerpt, strcspn(crash->excerpt, "\n"));
    fputc('\n', stream);
}

static void write_produced(FILE *stream, const Tb__ProducedFile *file) {
    fputs("  produced: ", stream);
    printable_quoted(stream, file->name.data, file->name.len);
    fprintf(stream, " (%" PRIu64 " bytes)", file->size_bytes);
    if (file->note[0]) {
        fputs(" ", stream);
        printable_text(stream, file->note);
    }
    fputc('\n', stream);
}

static void write_output(FILE *stream, RenderStyle style, const char *name,
                         const Tb__Output *output) {
    if (!output || output->head.len + output->tail.len == 0) return;
    const size_t max_lines = style.show_output ? SIZE_MAX : SHORT_OUTPUT_LINES;
    fprintf(stream, "  %s (%" PRIu64 " bytes):\n", name, output->total_bytes);
    if (output->omitted_bytes) {
        printable_block(stream, "    | ", output->head.data, output->head.len, max_lines);
        fprintf(stream, "    (%" PRIu64 " bytes omitted)\n", output->omitted_bytes);
        printable_block(stream, "    | ", output->tail.data, output->tail.len, max_lines);
        return;
    }
    ProtobufCBinaryData joined;
    if (output_join(output, &joined) < 0) {
        fputs("    (no memory to show it)\n", stream);
        return;
    }
    printable_block(stream, "    | ", joined.data, joined.len, max_lines);
    free(joined.data);
}

static void write_environment(FILE *stream, const Tb__Environment *environment) {
    if (!environment || !environment->id[0]) return;
    fputs("  environment: ", stream);
    printable_text(stream, environment->id);
    if (environment->version[0]) {
        fputs(", python ", stream);
        printable_text(stream, environment->version);
    }
    fputc('\n', stream);
}

/* Everything but the failures. */
static void write_facts(FILE *stream, RenderStyle style, const Tb__Verdict *verdict) {
    for (size_t i = 0; i < verdict->n_native_crashes; i++)
        write_crash(stream, verdict->native_crashes[i]);
    render_field(stream, "job", verdict->job_id);
    render_list(stream, "stages", verdict->stages, verdict->n_stages);
    write_exit(stream, verdict->exit);
    write_usage(stream, verdict->usage);
    if (verdict->attempts > 1) fprintf(stream, "  attempts: %" PRIu32 "\n", verdict->attempts);
    write_environment(stream, verdict->environment);
    render_list(stream, "enforced", verdict->enforced, verdict->n_enforced);
    for (size_t i = 0; i < verdict->n_produced; i++) write_produced(stream, verdict->produced[i]);
    if (verdict->kind == TB__VERDICT_KIND__PASSED && !style.show_output) return;
    write_output(stream, style, "stdout", verdict->stdout);
    write_output(stream, style, "stderr", verdict->stderr);
}

void render_verdict_details(FILE *stream, RenderStyle style, const Tb__Verdict *verdict) {
    for (size_t i = 0; i < verdict->n_failures; i++) write_failure(stream, verdict->failures[i]);
    write_facts(stream, style, verdict);
}

/* The cause stands on the first line: a reader who greps for it sees it whole. */
static void write_infrastructure(FILE *stream, RenderStyle style, const Tb__Verdict *verdict) {
    render_colored(stream, style, verdict->kind, "INFRASTRUCTURE FAILURE");
    fputs(": ", stream);
    if (verdict->n_failures == 0) {
        fputs("the daemon names no cause\n", stream);
        return;
    }
    const Tb__Failure *failure = verdict->failures[0];
    if (strcmp(failure->code, BATCH_NO_VERDICT) != 0) {
        printable_text(stream, failure->code);
        if (failure->message[0]) fputs(": ", stream);
    }
    write_message(stream, failure->message);
    for (size_t i = 1; i < verdict->n_failures; i++) write_failure(stream, verdict->failures[i]);
}

void render_verdict(FILE *stream, RenderStyle style, const char *name, const Tb__Verdict *verdict) {
    printable_text(stream, name);
    fputs(": ", stream);
    if (verdict->kind != TB__VERDICT_KIND__PASSED && verdict->kind != TB__VERDICT_KIND__FAILED) {
        write_infrastructure(stream, style, verdict);
        write_facts(stream, style, verdict);
        return;
    }
    const bool has_passed = verdict->kind == TB__VERDICT_KIND__PASSED;
    render_colored(stream, style, verdict->kind, has_passed ? "PASSED" : "FAILED");
    fputc('\n', stream);
    render_verdict_details(stream, style, verdict);
}
