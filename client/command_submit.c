/* Command submit: sends files of generated code with what they may read, and tells their verdicts.
 */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "canaries.h"
#include "complain.h"
#include "local_file.h"
#include "parts.h"
#include "submission.h"
#include "verdicts.h"

typedef struct Settings {
    TextList inputs;
    const char *input_name;
    const char *profile;
    TextList protected_columns;
    TextList canaries;
    TextList canary_files;
    uint64_t timeout_ms; /* 0: the profile's */
    uint32_t repeats;
    TextList labels;
    bool detach;
    bool show_output;
} Settings;

#define AT(member) offsetof(Settings, member)

static const Option options[] = {
    {"input", OPTION_TEXTS, AT(inputs), "[NAME=]CSV", "a file the code may read; see below", 0, 0,
     NULL},
    {"input-name", OPTION_TEXT, AT(input_name), "NAME",
     "what a single input is called (" SUBMISSION_INPUT_NAME ")", 0, 0, NULL},
    {"profile", OPTION_TEXT, AT(profile), "P", "the profile that runs it (" SUBMISSION_PROFILE ")",
     0, 0, NULL},
    {"protected", OPTION_TEXTS, AT(protected_columns), "COL",
     "a column of the input that must not change", 0, 0, NULL},
    {"canary", OPTION_TEXTS, AT(canaries), "ID=VALUE",
     "a value that must not appear in what the code writes", 0, 0, NULL},
    {"canaries", OPTION_TEXTS, AT(canary_files), "FILE", "canaries, one ID=VALUE on each line", 0,
     0, NULL},
    {"timeout", OPTION_SECONDS, AT(timeout_ms), "S", "wall time limit (the profile's)", 1,
     SUBMISSION_MAX_WALL_MS, NULL},
    {"repeats", OPTION_COUNT, AT(repeats), "N", "run N times and compare", 1,
     SUBMISSION_MAX_REPEATS, NULL},
    {"label", OPTION_TEXTS, AT(labels), "K=V", "a label, to find the job by", 0, 0, NULL},
    {"detach", OPTION_FLAG, AT(detach), NULL, "do not wait for verdicts; print the jobs' ids", 0, 0,
     NULL},
    {"show-output", OPTION_FLAG, AT(show_output), NULL, "print outputs whole, of passed jobs too",
     0, 0, NULL},
    {NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

static const char notes[] =
    "FILE - is standard input. Each FILE is a job of its own; all have the same inputs.\n"
    "A single input is called " SUBMISSION_INPUT_NAME " unless --input-name or NAME= says\n"
    "otherwise; several keep the names of their files. A path with a = in it is written "
    "./a=b.csv.\n";

/* ---- inputs ---- */

/* `NAME=PATH`: what stands before the = holds no slash. Returns the path. */
static const char *split_input(const char *word, size_t *ret_name_bytes) {
    const size_t n_bytes = strcspn(word, "=/");
    if (word[n_bytes] != '=' || n_bytes == 0) {
        *ret_name_bytes = 0;
        return word;
    }
    *ret_name_bytes = n_bytes;
    return word + n_bytes + 1;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int add_input(const Settings *settings, const char *word, Arena *arena, Tb__Submit *submit,
                     Trouble *trouble) {
    size_t name_bytes;
    const char *path = split_input(word, &name_bytes);
    CLEANUP(freep) char *name = NULL;
    if (name_bytes)
        name = strndup(word, name_bytes);
    else if (settings->inputs.n_items > 1)
        name = strdup(base_name(path));
    else
        name = strdup(settings->input_name ? settings->input_name : SUBMISSION_INPUT_NAME);
    if (!name) return error_origin(-ENOMEM);
    ProtobufCBinaryData content;
    const int r = local_file_read(path, LOCAL_FILE_ANY, arena, trouble, &content);
    return r ? r : submission_add_input(submit, arena, name, content);
}

static int add_inputs(const Settings *settings, Arena *arena, Tb__Submit *submit,
                      Trouble *trouble) {
    if (settings->input_name && settings->inputs.n_items != 1)
        return trouble_set(trouble, "--input-name goes with exactly one --input");
    for (size_t i = 0; i < settings->inputs.n_items; i++) {
        const int r = add_input(settings, settings->inputs.items[i], arena, submit, trouble);
        if (r) return r;
    }
    return 0;
}

/* ---- canaries, labels, the rest ---- */

static int add_canary_file(const char *path, Arena *arena, Tb__Submit *submit, Trouble *trouble) {
    ProtobufCBinaryData text;
    int r = local_file_read(path, LOCAL_FILE_ANY, arena, trouble, &text);
    if (r) return r;
    CLEANUP(problem_list_deinit) ProblemList problems = {0};
    r = problem_list_init(&problems, path);
    if (r == 0) r = canaries_add_lines(text, arena, submit, &problems);
    if (r < 0) return error_fold(r);
    if (problem_list_empty(&problems)) return 0;
    problem_list_print(&problems, stderr);
    return trouble_set(trouble, "the file of canaries has errors");
}

static int add_canaries(const Settings *settings, Arena *arena, Tb__Submit *submit,
                        Trouble *trouble) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < settings->canaries.n_items; i++)
        r = canaries_add_word(settings->canaries.items[i], arena, submit, trouble);
    for (size_t i = 0; r == 0 && i < settings->canary_files.n_items; i++)
        r = add_canary_file(settings->canary_files.items[i], arena, submit, trouble);
    return r;
}

static int add_label(const char *word, Arena *arena, Tb__Submit *submit, Trouble *trouble) {
    const char *equals = strchr(word, '=');
    if (!equals) return trouble_set(trouble, "--label takes K=V, not '%s'", word);
    CLEANUP(freep) char *key = strndup(word, (size_t)(equals - word));
    if (!key) return error_origin(-ENOMEM);
    return submission_add_label(submit, arena, key, equals + 1);
}

/* What all files have in common. 0, TROUBLE_E_TOLD or -errno. */
static int build_common(const Settings *settings, Arena *arena, Tb__Submit *submit,
                        Trouble *trouble) {
    submit->profile = parts_text(arena, settings->profile ? settings->profile : SUBMISSION_PROFILE);
    if (!submit->profile) return error_origin(-ENOMEM);
    submit->repeats = settings->repeats;
    int r = settings->timeout_ms ? submission_set_wall_ms(submit, arena, settings->timeout_ms) : 0;
    if (r == 0) r = add_inputs(settings, arena, submit, trouble);
    if (r == 0) r = add_canaries(settings, arena, submit, trouble);
    for (size_t i = 0; r == 0 && i < settings->labels.n_items; i++)
        r = add_label(settings->labels.items[i], arena, submit, trouble);
    for (size_t i = 0; r == 0 && i < settings->protected_columns.n_items; i++)
        r = submission_add_protected(submit, arena, settings->protected_columns.items[i]);
    return r ? r : submission_check(submit, trouble);
}

/* ---- files ---- */

static int build_job(const char *path, const Tb__Submit *shared, Arena *arena, BatchJob *job,
                     Trouble *trouble) {
    Tb__Submit *submit = arena_take(arena, 1, sizeof *submit);
    if (!submit) return error_origin(-ENOMEM);
    *submit = *shared;
    job->name = path;
    job->submit = submit;
    int r = local_file_read(path, LOCAL_FILE_ANY, arena, trouble, &submit->code);
    if (r == 0) r = submission_set_key(submit, arena);
    if (r) return r;
    return submission_set_file_name(submit, arena, strcmp(path, "-") == 0 ? "stdin.py" : path,
                                    "code.py");
}

/* Standard input can be read once only. */
static int check_stdin(const Invocation *invocation, const Settings *settings, Trouble *trouble) {
    size_t n_uses = 0;
    for (size_t i = 0; i < invocation->operands->n_items; i++)
        n_uses += strcmp(invocation->operands->items[i], "-") == 0;
    for (size_t i = 0; i < settings->inputs.n_items; i++) {
        size_t name_bytes;
        n_uses += strcmp(split_input(settings->inputs.items[i], &name_bytes), "-") == 0;
    }
    n_uses += text_list_contains(&settings->canary_files, "-");
    return n_uses > 1 ? trouble_set(trouble, "- (standard input) is named more than once") : 0;
}

static int build_jobs(const Invocation *invocation, Arena *arena, BatchJob *jobs,
                      Trouble *trouble) {
    const Settings *settings = invocation->settings;
    Tb__Submit shared = TB__SUBMIT__INIT;
    int r = check_stdin(invocation, settings, trouble);
    if (r == 0) r = build_common(settings, arena, &shared, trouble);
    for (size_t i = 0; r == 0 && i < invocation->operands->n_items; i++)
        r = build_job(invocation->operands->items[i], &shared, arena, &jobs[i], trouble);
    return r;
}

static int run(const Invocation *invocation) {
    const Settings *settings = invocation->settings;
    const size_t n_jobs = invocation->operands->n_items;
    CLEANUP(arena_deinit) Arena arena = {0};
    CLEANUP(freep) BatchJob *jobs = calloc(n_jobs, sizeof *jobs);
    if (!jobs) return error_origin(-ENOMEM);
    Trouble trouble;
    int r = build_jobs(invocation, &arena, jobs, &trouble);
    if (r == TROUBLE_E_TOLD) return complain_usage(command_submit.name, "%s", trouble.text);
    if (r < 0) return error_fold(r);
    r = verdicts_run(&invocation->common, settings->show_output, settings->detach, jobs, n_jobs);
    batch_jobs_deinit(jobs, n_jobs);
    return r;
}

const Command command_submit = {
    .name = "submit",
    .operands = "FILE...",
    .summary = "run files of generated code and tell their verdicts",
    .notes = notes,
    .options = options,
    .settings_bytes = sizeof(Settings),
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .wait_ms = 300000,
    .run = run,
};
