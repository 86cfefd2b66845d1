#include "expect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "printable.h"

enum { EXCERPT_BYTES = 200, EXCERPT_LEAD_BYTES = 40 };

typedef struct Comparison {
    const Tb__Verdict *verdict;
    FILE *stream;
    size_t n_differences;
} Comparison;

const char *expect_kind_name(Tb__VerdictKind kind) {
    switch (kind) {
    case TB__VERDICT_KIND__PASSED:
        return "passed";
    case TB__VERDICT_KIND__FAILED:
        return "failed";
    case TB__VERDICT_KIND__INFRASTRUCTURE_FAILURE:
        return "infrastructure_failure";
    default:
        return "unknown";
    }
}

static FILE *differ(Comparison *comparison, const char *what) {
    comparison->n_differences++;
    fprintf(comparison->stream, "%s: ", what);
    return comparison->stream;
}

/* ---- plain values ---- */

static void compare_kind(Comparison *comparison, const Expect *expect) {
    const Tb__VerdictKind kind = comparison->verdict->kind;
    if (kind == expect->kind) return;
    fprintf(differ(comparison, "verdict"), "expected %s, got %s\n", expect_kind_name(expect->kind),
            expect_kind_name(kind));
}

static void compare_count(Comparison *comparison, const char *what, ExpectCount expected,
                          uint64_t got) {
    if (!expected.is_set || expected.value == got) return;
    fprintf(differ(comparison, what), "expected %" PRIu64 ", got %" PRIu64 "\n", expected.value,
            got);
}

static void compare_child_started(Comparison *comparison, ExpectCount expected) {
    const bool got = comparison->verdict->child_started;
    if (!expected.is_set || (expected.value != 0) == got) return;
    fprintf(differ(comparison, "child_started"), "expected %s, got %s\n",
            expected.value ? "true" : "false", got ? "true" : "false");
}

static void write_end(FILE *stream, const Tb__Exit *end) {
    if (!end) {
        fputs("none", stream);
    } else if (end->signal) {
        fputs("signal ", stream);
        printable_text(stream, end->signal_name);
        fprintf(stream, " (%" PRIu32 ")", end->signal);
    } else {
        fprintf(stream, "exit %" PRId32, end->code);
    }
}

static void compare_exit(Comparison *comparison, ExpectCount expected) {
    const Tb__Exit *end = comparison->verdict->exit;
    if (!expected.is_set) return;
    if (end && end->signal == 0 && end->code == (int32_t)expected.value) return;
    fprintf(differ(comparison, "exit"), "expected %" PRIu64 ", got ", expected.value);
    write_end(comparison->stream, end);
    fputc('\n', comparison->stream);
}

static bool is_signal(const Tb__Exit *end, const char *expected) {
    char number[16];
    if (!end || end->signal == 0) return false;
    snprintf(number, sizeof number, "%" PRIu32, end->signal);
    return strcmp(expected, end->signal_name) == 0 || strcmp(expected, number) == 0;
}

static void compare_signal(Comparison *comparison, const char *expected) {
    if (!expected || is_signal(comparison->verdict->exit, expected)) return;
    FILE *stream = differ(comparison, "signal");
    fputs("expected ", stream);
    printable_text(stream, expected);
    fputs(", got ", stream);
    write_end(stream, comparison->verdict->exit);
    fputc('\n', stream);
}

/* ---- stages ---- */

static void write_texts(FILE *stream, char *const *items, size_t n_items) {
    fputc('[', stream);
    for (size_t i = 0; i < n_items; i++) {
        if (i) fputs(", ", stream);
        printable_text(stream, items[i]);
    }
    fputc(']', stream);
}

static void compare_stages(Comparison *comparison, const Expect *expect) {
    const Tb__Verdict *verdict = comparison->verdict;
    bool equal = expect->stages.n_items == verdict->n_stages;
    for (size_t i = 0; equal && i < verdict->n_stages; i++)
        equal = strcmp(expect->stages.items[i], verdict->stages[i]) == 0;
    if (!expect->has_stages || equal) return;
    FILE *stream = differ(comparison, "stages");
    fputs("expected ", stream);
    write_texts(stream, expect->stages.items, expect->stages.n_items);
    fputs(", got ", stream);
    write_texts(stream, verdict->stages, verdict->n_stages);
    fputc('\n', stream);
}

/* ---- failures ---- */

static bool is_text(const char *expected, const char *got) {
    return !expected || strcmp(expected, got) == 0;
}

static bool matches(const ExpectFailure *expected, const Tb__Failure *got) {
    return is_text(expected->code, got->code) && is_text(expected->subject, got->subject) &&
           is_text(expected->sink, got->sink) && is_text(expected->transform, got->transform) &&
           (!expected->message_contains || strstr(got->message, expected->message_contains)) &&
           (!expected->has_line || expected->line == got->line);
}

static void write_member(FILE *stream, const char *name, const char *value) {
    if (!value || !value[0]) return;
    fprintf(stream, " %s=", name);
    printable_quoted(stream, value, strlen(value));
}

static void write_expected_failure(FILE *stream, const ExpectFailure *failure) {
    printable_text(stream, failure->code ? failure->code : "any failure");
    write_member(stream, "subject", failure->subject);
    write_member(stream, "sink", failure->sink);
    write_member(stream, "transform", failure->transform);
    write_member(stream, "message_contains", failure->message_contains);
    if (failure->has_line) fprintf(stream, " line=%" PRIu32, failure->line);
}

static void write_got_failure(FILE *stream, const Tb__Failure *failure) {
    printable_text(stream, failure->code);
    write_member(stream, "subject", failure->subject);
    write_member(stream, "sink", failure->sink);
    write_member(stream, "transform", failure->transform);
    write_member(stream, "message", failure->message);
    if (failure->line) fprintf(stream, " line=%" PRIu32, failure->line);
}

static void compare_one_failure(Comparison *comparison, const ExpectFailure *expected) {
    const Tb__Verdict *verdict = comparison->verdict;
    for (size_t i = 0; i < verdict->n_failures; i++)
        if (matches(expected, verdict->failures[i])) return;
    FILE *stream = differ(comparison, "failures");
    fputs("expected ", stream);
    write_expected_failure(stream, expected);
    fputs(verdict->n_failures ? ", got " : ", got none", stream);
    for (size_t i = 0; i < verdict->n_failures; i++) {
        if (i) fputs("; ", stream);
        write_got_failure(stream, verdict->failures[i]);
    }
    fputc('\n', stream);
}

static bool is_expected(const Expect *expect, const Tb__Failure *failure) {
    for (size_t i = 0; i < expect->n_failures; i++)
        if (matches(expect->failures[i], failure)) return true;
    return false;
}

static void compare_failures(Comparison *comparison, const Expect *expect) {
    const Tb__Verdict *verdict = comparison->verdict;
    for (size_t i = 0; i < expect->n_failures; i++)
        compare_one_failure(comparison, expect->failures[i]);
    if (!expect->failures_exact) return;
    for (size_t i = 0; i < verdict->n_failures; i++) {
        if (is_expected(expect, verdict->failures[i])) continue;
        FILE *stream = differ(comparison, "failures");
        fputs("not expected: ", stream);
        write_got_failure(stream, verdict->failures[i]);
        fputc('\n', stream);
    }
    if (verdict->n_failures != expect->n_failures)
        fprintf(differ(comparison, "failures"), "expected %zu, got %zu\n", expect->n_failures,
                verdict->n_failures);
}

/* ---- outputs ---- */

/* At most EXCERPT_BYTES, from a little before `around`. */
static void write_excerpt(FILE *stream, const void *bytes, size_t n_bytes, size_t around) {
    const char *p = bytes;
    if (n_bytes <= EXCERPT_BYTES) {
        printable_quoted(stream, p, n_bytes);
        return;
    }
    const size_t start = around > EXCERPT_LEAD_BYTES ? around - EXCERPT_LEAD_BYTES : 0;
    const size_t left = n_bytes - start;
    if (start) fputs("...", stream);
    printable_quoted(stream, p + start, left < EXCERPT_BYTES ? left : EXCERPT_BYTES);
    if (left > EXCERPT_BYTES) fputs("...", stream);
    fprintf(stream, " (%zu bytes)", n_bytes);
}

static size_t first_difference(const char *a, size_t a_bytes, const char *b, size_t b_bytes) {
    size_t i = 0;
    while (i < a_bytes && i < b_bytes && a[i] == b[i]) i++;
    return i;
}

static void compare_equal(Comparison *comparison, const char *what, const char *expected,
                          ProtobufCBinaryData got, uint64_t omitted_bytes) {
    const size_t n_bytes = strlen(expected);
    const char *text = (const char *)got.data;
    if (omitted_bytes == 0 && n_bytes == got.len && memcmp(expected, text, n_bytes) == 0) return;
    const size_t at = first_difference(expected, n_bytes, text, got.len);
    FILE *stream = differ(comparison, what);
    fputs("expected ", stream);
    write_excerpt(stream, expected, n_bytes, at);
    fputs(", got ", stream);
    write_excerpt(stream, text, got.len, at);
    if (omitted_bytes) fprintf(stream, " with %" PRIu64 " bytes left out", omitted_bytes);
    fprintf(stream, "; they differ at byte %zu\n", at);
}

static bool has_text(ProtobufCBinaryData bytes, const char *text) {
    return bytes.len && memmem(bytes.data, bytes.len, text, strlen(text)) != NULL;
}

/* Head and tail are searched one by one when something is left out between them. */
static bool holds(const Tb__Output *output, ProtobufCBinaryData joined, const char *text) {
    if (output_omitted_bytes(output) == 0) return has_text(joined, text);
    return has_text(output->head, text) || has_text(output->tail, text);
}

static void write_sought(Comparison *comparison, const char *what, const char *verb,
                         const char *text, ProtobufCBinaryData got) {
    FILE *stream = differ(comparison, what);
    fprintf(stream, "expected %s ", verb);
    printable_quoted(stream, text, strlen(text));
    fputs(", got ", stream);
    write_excerpt(stream, got.data, got.len, 0);
    fputc('\n', stream);
}

static void compare_lacks(Comparison *comparison, const char *what, const char *text,
                          const Tb__Output *output, ProtobufCBinaryData joined) {
    const uint64_t omitted_bytes = output_omitted_bytes(output);
    if (holds(output, joined, text)) {
        write_sought(comparison, what, "no", text, joined);
    } else if (omitted_bytes) {
        FILE *stream = differ(comparison, what);
        fputs("expected no ", stream);
        printable_quoted(stream, text, strlen(text));
        fprintf(stream, ", which cannot be known: %" PRIu64 " bytes are left out\n", omitted_bytes);
    }
}

static void compare_output(Comparison *comparison, const char *what, const ExpectOutput *expected,
                           const Tb__Output *output) {
    ProtobufCBinaryData joined;
    if (output_join(output, &joined) < 0) {
        fputs("no memory to compare\n", differ(comparison, what));
        return;
    }
    if (expected->equals)
        compare_equal(comparison, what, expected->equals, joined, output_omitted_bytes(output));
    for (size_t i = 0; i < expected->contains.n_items; i++)
        if (!holds(output, joined, expected->contains.items[i]))
            write_sought(comparison, what, "to contain", expected->contains.items[i], joined);
    for (size_t i = 0; i < expected->lacks.n_items; i++)
        compare_lacks(comparison, what, expected->lacks.items[i], output, joined);
    free(joined.data);
}

/* ---- produced files ---- */

static bool is_file(const ExpectFile *expected, const Tb__ProducedFile *got) {
    return strlen(expected->name) == got->name.len &&
           (got->name.len == 0 || memcmp(expected->name, got->name.data, got->name.len) == 0) &&
           (!expected->has_size || expected->size_bytes == got->size_bytes);
}

static void write_produced(FILE *stream, const Tb__Verdict *verdict) {
    if (verdict->n_produced == 0) fputs("none", stream);
    for (size_t i = 0; i < verdict->n_produced; i++) {
        const Tb__ProducedFile *file = verdict->produced[i];
        if (i) fputs(", ", stream);
        printable_quoted(stream, file->name.data, file->name.len);
        fprintf(stream, " (%" PRIu64 " bytes)", file->size_bytes);
    }
    fputc('\n', stream);
}

static bool is_produced(const Tb__Verdict *verdict, const ExpectFile *expected) {
    for (size_t i = 0; i < verdict->n_produced; i++)
        if (is_file(expected, verdict->produced[i])) return true;
    return false;
}

static void compare_produced(Comparison *comparison, const Expect *expect) {
    const Tb__Verdict *verdict = comparison->verdict;
    for (size_t i = 0; i < expect->n_produced; i++) {
        const ExpectFile *expected = expect->produced[i];
        if (is_produced(verdict, expected)) continue;
        FILE *stream = differ(comparison, "produced");
        fputs("expected ", stream);
        printable_quoted(stream, expected->name, strlen(expected->name));
        if (expected->has_size) fprintf(stream, " (%" PRIu64 " bytes)", expected->size_bytes);
        fputs(", got ", stream);
        write_produced(stream, verdict);
    }
    if (!expect->produced_exact || verdict->n_produced == expect->n_produced) return;
    FILE *stream = differ(comparison, "produced");
    fprintf(stream, "expected %zu files, got ", expect->n_produced);
    write_produced(stream, verdict);
}

size_t expect_compare(const Expect *expect, const Tb__Verdict *verdict, FILE *stream) {
    Comparison comparison = {.verdict = verdict, .stream = stream};
    compare_kind(&comparison, expect);
    compare_failures(&comparison, expect);
    compare_stages(&comparison, expect);
    compare_exit(&comparison, expect->exit_code);
    compare_signal(&comparison, expect->signal);
    compare_child_started(&comparison, expect->child_started);
    compare_count(&comparison, "native_crashes", expect->native_crashes, verdict->n_native_crashes);
    compare_count(&comparison, "attempts", expect->attempts, verdict->attempts);
    compare_output(&comparison, "stdout", &expect->out, verdict->stdout);
    compare_output(&comparison, "stderr", &expect->err, verdict->stderr);
    compare_produced(&comparison, expect);
    return comparison.n_differences;
}
