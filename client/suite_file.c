#include "suite_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "expect_read.h"
#include "parts.h"
#include "submission.h"
#include "suite_reader.h"

static const size_t max_file_bytes = (size_t)64 << 20;

static void nodep(Node **node) {
    node_free(*node);
}

/* ---- inputs ---- */

typedef struct Input {
    const char *name;
    ProtobufCBinaryData content;
    unsigned n_contents; /* keys that say it */
} Input;

static int read_input_name(const SuiteReader *reader, const Node *node, const char *path,
                           void *target) {
    Input *input = target;
    return suite_reader_text(reader, node, path, &input->name);
}

static int read_input_text(const SuiteReader *reader, const Node *node, const char *path,
                           void *target) {
    Input *input = target;
    const char *text = NULL;
    input->n_contents++;
    const int r = suite_reader_text(reader, node, path, &text);
    if (r < 0) return error_fold(r);
    if (text) input->content = (ProtobufCBinaryData){.len = strlen(text), .data = (uint8_t *)text};
    return 0;
}

static int read_input_file(const SuiteReader *reader, const Node *node, const char *path,
                           void *target) {
    Input *input = target;
    input->n_contents++;
    return suite_reader_file(reader, node, path, &input->content);
}

static int read_input_base64(const SuiteReader *reader, const Node *node, const char *path,
                             void *target) {
    Input *input = target;
    const char *text;
    input->n_contents++;
    if (!node_read_text(node, path, reader->problems, &text)) return 0;
    uint8_t *bytes = arena_take(reader->arena, strlen(text), 1);
    if (!bytes) return error_origin(-ENOMEM);
    if (sodium_base642bin(bytes, strlen(text), text, strlen(text), " \t\r\n", &input->content.len,
                          NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
        problem_add(reader->problems, node->line, node->column, path, "is not base64");
    input->content.data = bytes;
    return 0;
}

static const SuiteKey input_keys[] = {
    {"name", read_input_name, 0},
    {"text", read_input_text, 0},
    {"file", read_input_file, 0},
    {"base64", read_input_base64, 0},
    {NULL, NULL, 0},
};

static int read_input(const SuiteReader *reader, const Node *node, const char *path,
                      Tb__Submit *submit) {
    Input input = {.name = SUBMISSION_INPUT_NAME};
    const int r = suite_reader_mapping(reader, input_keys, node, path, &input);
    if (r < 0) return error_fold(r);
    if (node->kind == NODE_MAPPING && input.n_contents != 1)
        problem_add(reader->problems, node->line, node->column, path,
                    "needs exactly one of text, file, base64");
    return submission_add_input(submit, reader->arena, input.name, input.content);
}

/* ---- what defaults and cases have in common; a case's value takes the place of the default ----
 */

static int read_inputs(const SuiteReader *reader, const Node *node, const char *path,
                       void *target) {
    Tb__Submit *submit = target;
    if (!suite_reader_expect_kind(reader, node, path, NODE_SEQUENCE, "a list of inputs")) return 0;
    submit->inputs = NULL;
    submit->n_inputs = 0;
    for (size_t i = 0; i < node->n_items; i++) {
        const int r = read_input(reader, node->items[i], path, submit);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int read_protected(const SuiteReader *reader, const Node *node, const char *path,
                          void *target) {
    Tb__Submit *submit = target;
    submit->protected_columns = NULL;
    submit->n_protected_columns = 0;
    return suite_reader_texts(reader, node, path, &submit->protected_columns,
                              &submit->n_protected_columns);
}

typedef int PairAdder(Tb__Submit *submit, Arena *arena, const char *name, const char *value);

static int read_pairs(const SuiteReader *reader, const Node *node, const char *path,
                      Tb__Submit *submit, PairAdder *add) {
    for (size_t i = 0; i < node->n_items; i++) {
        const char *value;
        if (!node_read_text(node->items[i], path, reader->problems, &value)) continue;
        const int r = add(submit, reader->arena, node->keys[i]->text, value);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int read_canaries(const SuiteReader *reader, const Node *node, const char *path,
                         void *target) {
    Tb__Submit *submit = target;
    if (!suite_reader_expect_kind(reader, node, path, NODE_MAPPING, "a mapping of ids to values"))
        return 0;
    submit->canaries = NULL;
    submit->n_canaries = 0;
    return read_pairs(reader, node, path, submit, submission_add_canary);
}

static int read_labels(const SuiteReader *reader, const Node *node, const char *path,
                       void *target) {
    Tb__Submit *submit = target;
    if (!suite_reader_expect_kind(reader, node, path, NODE_MAPPING, "a mapping of keys to values"))
        return 0;
    submit->labels = NULL;
    submit->n_labels = 0;
    return read_pairs(reader, node, path, submit, submission_add_label);
}

static int read_profile(const SuiteReader *reader, const Node *node, const char *path,
                        void *target) {
    Tb__Submit *submit = target;
    const char *name;
    if (!node_read_text(node, path, reader->problems, &name)) return 0;
    char *copy = parts_text(reader->arena, name);
    if (!copy) return error_origin(-ENOMEM);
    submit->profile = copy;
    return 0;
}

static int read_timeout(const SuiteReader *reader, const Node *node, const char *path,
                        void *target) {
    uint64_t wall_ms;
    if (!node_read_seconds(node, path, reader->problems, 1, SUBMISSION_MAX_WALL_MS, &wall_ms))
        return 0;
    return submission_set_wall_ms(target, reader->arena, wall_ms);
}

static int read_repeats(const SuiteReader *reader, const Node *node, const char *path,
                        void *target) {
    Tb__Submit *submit = target;
    uint64_t repeats;
    if (node_read_count(node, path, reader->problems, 1, SUBMISSION_MAX_REPEATS, &repeats))
        submit->repeats = (uint32_t)repeats;
    return 0;
}

/* ---- cases ---- */

/* A case while it is read. */
typedef struct CaseReading {
    Tb__Submit submit;
    const char *name;
    const Node *expect;
    const char *file; /* as the suite names it */
    unsigned n_codes; /* keys that say the code */
} CaseReading;

static int read_name(const SuiteReader *reader, const Node *node, const char *path, void *target) {
    return suite_reader_text(reader, node, path, target);
}

static int read_code(const SuiteReader *reader, const Node *node, const char *path, void *target) {
    CaseReading *reading = target;
    const char *code = NULL;
    reading->n_codes++;
    const int r = suite_reader_text(reader, node, path, &code);
    if (r < 0) return error_fold(r);
    if (code)
        reading->submit.code = (ProtobufCBinaryData){.len = strlen(code), .data = (uint8_t *)code};
    return 0;
}

static int read_code_file(const SuiteReader *reader, const Node *node, const char *path,
                          void *target) {
    CaseReading *reading = target;
    reading->n_codes++;
    const int r = suite_reader_file(reader, node, path, &reading->submit.code);
    if (r < 0) return error_fold(r);
    return node->kind == NODE_SCALAR ? suite_reader_text(reader, node, path, &reading->file) : 0;
}

static int note_expect(const SuiteReader *reader, const Node *node, const char *path,
                       void *target) {
    (void)reader, (void)path;
    *(const Node **)target = node;
    return 0;
}

/* Job keys lie in the Tb__Submit at `offset` of their target. */
#define JOB_KEYS(offset)                                                                           \
    {"profile", read_profile, offset}, {"timeout_s", read_timeout, offset},                        \
        {"repeats", read_repeats, offset}, {"inputs", read_inputs, offset},                        \
        {"protected", read_protected, offset}, {"canaries", read_canaries, offset}, {              \
        "labels", read_labels, offset                                                              \
    }

static const SuiteKey default_keys[] = {JOB_KEYS(0), {NULL, NULL, 0}};

static const SuiteKey case_keys[] = {
    {"name", read_name, offsetof(CaseReading, name)},
    {"code", read_code, 0},
    {"file", read_code_file, 0},
    {"expect", note_expect, offsetof(CaseReading, expect)},
    JOB_KEYS(offsetof(CaseReading, submit)),
    {NULL, NULL, 0},
};

/* Tracebacks and lists of jobs show it: the file's own name, or the case's. */
static int set_file_name(const SuiteReader *reader, CaseReading *reading) {
    if (reading->file)
        return submission_set_file_name(&reading->submit, reader->arena, reading->file, "code.py");
    CLEANUP(freep) char *name = NULL;
    const int r = text_format(&name, "%s.py", strchr(reading->name, '/') ? "code" : reading->name);
    if (r < 0) return error_fold(r);
    return submission_set_file_name(&reading->submit, reader->arena, name, "code.py");
}

static void check_case(const SuiteReader *reader, const Node *node, CaseReading *reading) {
    Trouble trouble;
    if (!reading->name && !node_get(node, "name"))
        problem_add(reader->problems, node->line, node->column, "cases", "the case has no name");
    if (!reading->name || !reading->name[0]) reading->name = "unnamed";
    if (reading->n_codes != 1)
        problem_add(reader->problems, node->line, node->column, "cases",
                    "the case needs either code or file");
    if (submission_check(&reading->submit, &trouble) == TROUBLE_E_TOLD)
        problem_add(reader->problems, node->line, node->column, "cases", "%s", trouble.text);
}

static int read_case(const SuiteReader *reader, const Node *node, const Tb__Submit *defaults,
                     SuiteCase *ret_case) {
    CaseReading reading = {.submit = *defaults};
    int r = suite_reader_mapping(reader, case_keys, node, "cases", &reading);
    if (r < 0) return error_fold(r);
    if (node->kind != NODE_MAPPING) return 0;
    check_case(reader, node, &reading);
    r = set_file_name(reader, &reading);
    if (r < 0) return error_fold(r);
    ret_case->name = reading.name;
    ret_case->submit = reading.submit;
    ret_case->expect = expect_default();
    ret_case->line = node->line;
    ret_case->column = node->column;
    if (!reading.expect) return 0;
    return expect_read(reader, reading.expect, "cases.expect", &ret_case->expect);
}

/* ---- the whole ---- */

typedef struct SuiteReading {
    const char *name;
    const Node *defaults;
    const Node *cases;
} SuiteReading;

static const SuiteKey suite_keys[] = {
    {"suite", read_name, offsetof(SuiteReading, name)},
    {"defaults", note_expect, offsetof(SuiteReading, defaults)},
    {"cases", note_expect, offsetof(SuiteReading, cases)},
    {NULL, NULL, 0},
};

static int compare_cases(const void *a, const void *b) {
    const SuiteCase *left = *(const SuiteCase *const *)a, *right = *(const SuiteCase *const *)b;
    const int order = strcmp(left->name, right->name);
    if (order) return order;
    return left->line < right->line ? -1 : left->line > right->line;
}

/* Results are known by their names. */
static int refuse_twins(const SuiteReader *reader, const SuiteFile *suite) {
    CLEANUP(freep) const SuiteCase **sorted = calloc(suite->n_cases + 1, sizeof *sorted);
    if (!sorted) return error_origin(-ENOMEM);
    size_t n_sorted = 0;
    for (size_t i = 0; i < suite->n_cases; i++)
        if (suite->cases[i].name) sorted[n_sorted++] = &suite->cases[i];
    if (n_sorted > 1) qsort(sorted, n_sorted, sizeof *sorted, compare_cases);
    for (size_t i = 1; i < n_sorted; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            problem_add(reader->problems, sorted[i]->line, sorted[i]->column, "cases",
                        "a case named '%s' is on line %zu already", sorted[i]->name,
                        sorted[i - 1]->line);
    return 0;
}

static int read_cases(const SuiteReader *reader, const Node *node, const Tb__Submit *defaults,
                      SuiteFile *suite) {
    if (!suite_reader_expect_kind(reader, node, "cases", NODE_SEQUENCE, "a list of cases"))
        return 0;
    if (node->n_items == 0 || node->n_items > SUITE_FILE_MAX_CASES) {
        problem_add(reader->problems, node->line, node->column, "cases",
                    "expected 1 to %d cases, found %zu", SUITE_FILE_MAX_CASES, node->n_items);
        return 0;
    }
    suite->cases = arena_take(reader->arena, node->n_items, sizeof *suite->cases);
    if (!suite->cases) return error_origin(-ENOMEM);
    suite->n_cases = node->n_items;
    for (size_t i = 0; i < node->n_items; i++) {
        const int r = read_case(reader, node->items[i], defaults, &suite->cases[i]);
        if (r < 0) return error_fold(r);
    }
    return refuse_twins(reader, suite);
}

static int read_suite(const SuiteReader *reader, const Node *root, SuiteFile *suite) {
    SuiteReading reading = {0};
    int r = suite_reader_mapping(reader, suite_keys, root, "", &reading);
    if (r < 0) return error_fold(r);
    suite->name = reading.name;
    if (!node_get(root, "suite"))
        problem_add(reader->problems, root->line, root->column, "suite", "the suite has no name");
    Tb__Submit defaults = TB__SUBMIT__INIT;
    defaults.profile = parts_text(reader->arena, SUBMISSION_PROFILE);
    if (!defaults.profile) return error_origin(-ENOMEM);
    if (reading.defaults)
        r = suite_reader_mapping(reader, default_keys, reading.defaults, "defaults", &defaults);
    if (r < 0) return error_fold(r);
    if (reading.cases) return read_cases(reader, reading.cases, &defaults, suite);
    problem_add(reader->problems, root->line, root->column, "cases", "the suite has no cases");
    return 0;
}

static int build(const Node *root, const char *directory, ProblemList *problems,
                 SuiteFile **ret_suite) {
    CLEANUP(suite_file_freep) SuiteFile *suite = calloc(1, sizeof *suite);
    if (!suite) return error_origin(-ENOMEM);
    const SuiteReader reader = {&suite->arena, problems, directory};
    const int r = read_suite(&reader, root, suite);
    if (r < 0) return error_fold(r);
    if (!problem_list_empty(problems)) return 1;
    *ret_suite = TAKE(suite);
    return 0;
}

int suite_file_parse(const void *bytes, size_t n_bytes, const char *directory,
                     ProblemList *problems, SuiteFile **ret_suite) {
    CLEANUP(nodep) Node *root = NULL;
    const int r = document_parse(bytes, n_bytes, problems, &root);
    return r ? r : build(root, directory, problems, ret_suite);
}

int suite_file_load(const char *path, ProblemList *problems, SuiteFile **ret_suite) {
    CLEANUP(nodep) Node *root = NULL;
    int r = document_load(path, max_file_bytes, problems, &root);
    if (r) return r;
    const char *slash = strrchr(path, '/');
    CLEANUP(freep) char *directory = NULL;
    r = slash ? text_format(&directory, "%.*s", (int)(slash - path) + (slash == path), path)
              : text_format(&directory, ".");
    return r < 0 ? error_fold(r) : build(root, directory, problems, ret_suite);
}

SuiteFile *suite_file_free(SuiteFile *suite) {
    if (!suite) return NULL;
    arena_deinit(&suite->arena);
    free(suite);
    return NULL;
}
