#include "expect_read.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "parts.h"

/* ---- single values ---- */

static int read_text(const SuiteReader *reader, const Node *node, const char *path, void *target) {
    return suite_reader_text(reader, node, path, target);
}

static int read_flag(const SuiteReader *reader, const Node *node, const char *path, void *target) {
    node_read_bool(node, path, reader->problems, target);
    return 0;
}

static int read_started(const SuiteReader *reader, const Node *node, const char *path,
                        void *target) {
    bool value;
    if (node_read_bool(node, path, reader->problems, &value))
        *(ExpectCount *)target = (ExpectCount){.is_set = true, .value = value};
    return 0;
}

static int read_count(const SuiteReader *reader, const Node *node, const char *path, void *target) {
    uint64_t value;
    if (node_read_count(node, path, reader->problems, 0, INT32_MAX, &value))
        *(ExpectCount *)target = (ExpectCount){.is_set = true, .value = value};
    return 0;
}

static int read_texts(const SuiteReader *reader, const Node *node, const char *path, void *target) {
    ExpectTexts *texts = target;
    return suite_reader_texts(reader, node, path, &texts->items, &texts->n_items);
}

/* ---- verdict and stages ---- */

static int read_kind(const SuiteReader *reader, const Node *node, const char *path, void *target) {
    static const Tb__VerdictKind kinds[] = {TB__VERDICT_KIND__PASSED, TB__VERDICT_KIND__FAILED,
                                            TB__VERDICT_KIND__INFRASTRUCTURE_FAILURE};
    const char *text;
    if (!node_read_text(node, path, reader->problems, &text)) return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(text, expect_kind_name(kinds[i])) != 0) continue;
        *(Tb__VerdictKind *)target = kinds[i];
        return 0;
    }
    problem_add(reader->problems, node->line, node->column, path,
                "expected passed, failed or infrastructure_failure, found '%s'", text);
    return 0;
}

static int read_stages(const SuiteReader *reader, const Node *node, const char *path,
                       void *target) {
    static const char *const known[] = {"parse", "allowlist", "compile", "execute"};
    Expect *expect = target;
    if (!suite_reader_expect_kind(reader, node, path, NODE_SEQUENCE, "a list of stages")) return 0;
    const int r = read_texts(reader, node, path, &expect->stages);
    if (r < 0) return error_fold(r);
    expect->has_stages = true;
    for (size_t i = 0; i < expect->stages.n_items; i++) {
        bool is_known = false;
        for (size_t j = 0; j < sizeof known / sizeof *known; j++)
            is_known = is_known || strcmp(expect->stages.items[i], known[j]) == 0;
        if (!is_known)
            problem_add(reader->problems, node->line, node->column, path,
                        "there is no stage '%s'; there are parse, allowlist, compile, execute",
                        expect->stages.items[i]);
    }
    return 0;
}

/* ---- lists of mappings ---- */

static int read_line(const SuiteReader *reader, const Node *node, const char *path, void *target) {
    ExpectFailure *failure = target;
    uint64_t value;
    if (!node_read_count(node, path, reader->problems, 0, UINT32_MAX, &value)) return 0;
    failure->has_line = true;
    failure->line = (uint32_t)value;
    return 0;
}

static const SuiteKey failure_keys[] = {
    {"code", read_text, offsetof(ExpectFailure, code)},
    {"subject", read_text, offsetof(ExpectFailure, subject)},
    {"sink", read_text, offsetof(ExpectFailure, sink)},
    {"transform", read_text, offsetof(ExpectFailure, transform)},
    {"message_contains", read_text, offsetof(ExpectFailure, message_contains)},
    {"line", read_line, 0},
    {NULL, NULL, 0},
};

static int read_failure(const SuiteReader *reader, const Node *node, const char *path,
                        Expect *expect) {
    ExpectFailure **failures = parts_grow(reader->arena, expect->failures, expect->n_failures);
    ExpectFailure *failure = arena_take(reader->arena, 1, sizeof *failure);
    if (!failures || !failure) return error_origin(-ENOMEM);
    expect->failures = failures;
    expect->failures[expect->n_failures++] = failure;
    const int r = suite_reader_mapping(reader, failure_keys, node, path, failure);
    if (r < 0) return error_fold(r);
    if (node->kind == NODE_MAPPING && node->n_items == 0)
        problem_add(reader->problems, node->line, node->column, path,
                    "an empty mapping would match any failure");
    return 0;
}

static int read_failures(const SuiteReader *reader, const Node *node, const char *path,
                         void *target) {
    if (!suite_reader_expect_kind(reader, node, path, NODE_SEQUENCE, "a list of failures"))
        return 0;
    for (size_t i = 0; i < node->n_items; i++) {
        const int r = read_failure(reader, node->items[i], path, target);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int read_size(const SuiteReader *reader, const Node *node, const char *path, void *target) {
    ExpectFile *file = target;
    file->has_size = node_read_bytes(node, path, reader->problems, 0, UINT64_MAX,
                                     &file->size_bytes);
    return 0;
}

static const SuiteKey file_keys[] = {
    {"name", read_text, offsetof(ExpectFile, name)},
    {"size", read_size, 0},
    {NULL, NULL, 0},
};

static int read_file(const SuiteReader *reader, const Node *node, const char *path,
                     Expect *expect) {
    ExpectFile **produced = parts_grow(reader->arena, expect->produced, expect->n_produced);
    ExpectFile *file = arena_take(reader->arena, 1, sizeof *file);
    if (!produced || !file) return error_origin(-ENOMEM);
    const int r = suite_reader_mapping(reader, file_keys, node, path, file);
    if (r < 0) return error_fold(r);
    if (!file->name) {
        if (node->kind == NODE_MAPPING && !node_get(node, "name"))
            problem_add(reader->problems, node->line, node->column, path, "has no name");
        return 0;
    }
    expect->produced = produced;
    expect->produced[expect->n_produced++] = file;
    return 0;
}

static int read_produced(const SuiteReader *reader, const Node *node, const char *path,
                         void *target) {
    if (!suite_reader_expect_kind(reader, node, path, NODE_SEQUENCE, "a list of files")) return 0;
    for (size_t i = 0; i < node->n_items; i++) {
        const int r = read_file(reader, node->items[i], path, target);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

/* ---- the whole ---- */

#define AT(member) offsetof(Expect, member)

static const SuiteKey expect_keys[] = {
    {"verdict", read_kind, AT(kind)},
    {"failures", read_failures, 0},
    {"failures_exact", read_flag, AT(failures_exact)},
    {"stages", read_stages, 0},
    {"exit", read_count, AT(exit_code)},
    {"signal", read_text, AT(signal)},
    {"stdout", read_text, AT(out.equals)},
    {"stdout_contains", read_texts, AT(out.contains)},
    {"stdout_lacks", read_texts, AT(out.lacks)},
    {"stderr", read_text, AT(err.equals)},
    {"stderr_contains", read_texts, AT(err.contains)},
    {"stderr_lacks", read_texts, AT(err.lacks)},
    {"child_started", read_started, AT(child_started)},
    {"native_crashes", read_count, AT(native_crashes)},
    {"attempts", read_count, AT(attempts)},
    {"produced", read_produced, 0},
    {"produced_exact", read_flag, AT(produced_exact)},
    {NULL, NULL, 0},
};

Expect expect_default(void) {
    return (Expect){.kind = TB__VERDICT_KIND__PASSED};
}

int expect_read(const SuiteReader *reader, const Node *node, const char *path, Expect *ret_expect) {
    Expect expect = {.kind = TB__VERDICT_KIND__VERDICT_UNSPECIFIED};
    const int r = suite_reader_mapping(reader, expect_keys, node, path, &expect);
    if (r < 0) return error_fold(r);
    /* Whoever lists failures and says no more expects the code to fail. */
    if (expect.kind == TB__VERDICT_KIND__VERDICT_UNSPECIFIED)
        expect.kind = expect.n_failures ? TB__VERDICT_KIND__FAILED : TB__VERDICT_KIND__PASSED;
    if (expect.kind == TB__VERDICT_KIND__PASSED && expect.n_failures)
        problem_add(reader->problems, node->line, node->column, path,
                    "what is passed has no failures");
    if (expect.exit_code.is_set && expect.signal)
        problem_add(reader->problems, node->line, node->column, path,
                    "a process ends by exit or by signal, not by both");
    *ret_expect = expect;
    return 0;
}
