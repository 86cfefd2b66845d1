/* Command run: runs suites and holds every verdict against what its case expects. */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "batch.h"
#include "complain.h"
#include "printable.h"
#include "render_json.h"
#include "render_text.h"
#include "submission.h"
#include "suite_file.h"

static const Option options[] = {
    {NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

typedef struct Run {
    SuiteFile **suites;
    size_t n_suites;
    BatchJob *jobs; /* of all suites, in order */
    size_t n_jobs;

    RenderStyle style;
    bool json;
    size_t n_reported;
    size_t n_passed;
    size_t n_failed;
    size_t n_without_verdict; /* of the failed */
    ExitStatus status;
    int error; /* the first -errno of a report */
} Run;

/* ---- results ---- */

/* A verdict that we made ourselves is never the infrastructure failure that a case expects. */
static ExitStatus status_of(const BatchJob *job, size_t n_differences) {
    if (!job->is_from_daemon) return EXIT_STATUS_INFRASTRUCTURE;
    if (n_differences == 0) return EXIT_STATUS_PASSED;
    return job->verdict->kind == TB__VERDICT_KIND__INFRASTRUCTURE_FAILURE
               ? EXIT_STATUS_INFRASTRUCTURE
               : EXIT_STATUS_FAILED;
}

static void write_text(const Run *run, const char *suite, const BatchJob *job, bool ok,
                       const char *differences) {
    render_colored(stdout, run->style, ok ? TB__VERDICT_KIND__PASSED : TB__VERDICT_KIND__FAILED,
                   ok ? "ok" : "NOT OK");
    fputc(' ', stdout);
    printable_text(stdout, suite);
    fputs(": ", stdout);
    printable_text(stdout, job->name);
    fputc('\n', stdout);
    if (ok) return;
    printable_block(stdout, "  ", differences, strlen(differences), SIZE_MAX);
    render_verdict_details(stdout, run->style, job->verdict);
}

static json_t *json_lines(const char *lines) {
    json_t *array = json_array();
    while (array && *lines) {
        const size_t n_bytes = strcspn(lines, "\n");
        if (json_array_append_new(array, render_json_bytes(lines, n_bytes)) != 0) {
            json_decref(array);
            return NULL;
        }
        lines += n_bytes + (lines[n_bytes] == '\n');
    }
    return array;
}

static int write_json(const char *suite, const BatchJob *job, bool ok, const char *differences) {
    return render_json_write(stdout,
                             json_pack("{s:o, s:o, s:b, s:o, s:o}", "suite",
                                       render_json_bytes(suite, strlen(suite)), "case",
                                       render_json_bytes(job->name, strlen(job->name)), "ok",
                                       (int)ok, "differences", json_lines(differences), "verdict",
                                       render_json_message(&job->verdict->base)));
}

/* The case that the job with this number is made of. */
static const SuiteCase *find_case(const Run *run, size_t number, const char **ret_suite) {
    size_t i = 0;
    while (number >= run->suites[i]->n_cases) number -= run->suites[i++]->n_cases;
    *ret_suite = run->suites[i]->name;
    return &run->suites[i]->cases[number];
}

static int compare(const Expect *expect, const BatchJob *job, size_t *ret_n_differences,
                   char **ret_lines) {
    char *lines = NULL;
    size_t n_bytes = 0;
    FILE *stream = open_memstream(&lines, &n_bytes);
    if (!stream) return error_origin(-errno);
    const size_t n_differences = expect_compare(expect, job->verdict, stream);
    if (fclose(stream) != 0) {
        free(lines);
        return error_origin(-ENOMEM);
    }
    *ret_n_differences = n_differences;
    *ret_lines = lines;
    return 0;
}

static int report_case(Run *run, const BatchJob *job) {
    const char *suite;
    const SuiteCase *suite_case = find_case(run, run->n_reported++, &suite);
    CLEANUP(freep) char *differences = NULL;
    size_t n_differences = 0;
    const int r = compare(&suite_case->expect, job, &n_differences, &differences);
    if (r < 0) return error_fold(r);
    const ExitStatus status = status_of(job, n_differences);
    const bool ok = status == EXIT_STATUS_PASSED;
    run->status = exit_status_worse(run->status, status);
    *(ok ? &run->n_passed : &run->n_failed) += 1;
    if (status == EXIT_STATUS_INFRASTRUCTURE) run->n_without_verdict++;
    if (run->json) return write_json(suite, job, ok, differences);
    write_text(run, suite, job, ok, differences);
    return 0;
}

static void report(const BatchJob *job, void *context) {
    Run *run = context;
    const int r = report_case(run, job);
    if (r < 0 && run->error == 0) run->error = r;
    fflush(stdout);
}

/* ---- suites ---- */

static int load_suite(const char *path, SuiteFile **ret_suite) {
    CLEANUP(problem_list_deinit) ProblemList problems = {0};
    int r = problem_list_init(&problems, path);
    if (r == 0) r = suite_file_load(path, &problems, ret_suite);
    if (r < 0) return error_fold(r);
    problem_list_print(&problems, stderr);
    return r ? (int)EXIT_STATUS_USAGE : 0;
}

/* All of them, so that the problems of all are seen. 0, EXIT_STATUS_USAGE, or -errno. */
static int load_suites(Run *run, const TextList *paths) {
    int result = 0;
    run->suites = calloc(paths->n_items, sizeof *run->suites);
    if (!run->suites) return error_origin(-ENOMEM);
    run->n_suites = paths->n_items;
    for (size_t i = 0; i < paths->n_items; i++) {
        const int r = load_suite(paths->items[i], &run->suites[i]);
        if (r < 0) return error_fold(r);
        if (r) result = r;
    }
    return result;
}

static int build_jobs(Run *run) {
    for (size_t i = 0; i < run->n_suites; i++) run->n_jobs += run->suites[i]->n_cases;
    run->jobs = calloc(run->n_jobs, sizeof *run->jobs);
    if (!run->jobs) return error_origin(-ENOMEM);
    BatchJob *job = run->jobs;
    for (size_t i = 0; i < run->n_suites; i++)
        for (size_t j = 0; j < run->suites[i]->n_cases; j++, job++) {
            SuiteCase *suite_case = &run->suites[i]->cases[j];
            const int r = submission_set_key(&suite_case->submit, &run->suites[i]->arena);
            if (r < 0) return error_fold(r);
            job->name = suite_case->name;
            job->submit = &suite_case->submit;
        }
    return 0;
}

static void run_deinit(Run *run) {
    batch_jobs_deinit(run->jobs, run->jobs ? run->n_jobs : 0);
    free(run->jobs);
    for (size_t i = 0; i < run->n_suites; i++) suite_file_free(run->suites[i]);
    free(run->suites);
}

static int execute(Run *run, const Common *common) {
    const BatchOptions batch_options = {
        .deadline_ms = ask_deadline_ms(common),
        .wait_ms = common->wait_ms,
        .report = report,
        .context = run,
    };
    CLEANUP(link_closep) Link *link = NULL;
    int r = ask_open(common, batch_options.deadline_ms, &link);
    if (r) return r;
    r = batch_run(link, &batch_options, run->jobs, run->n_jobs);
    if (r == TROUBLE_E_INTERRUPTED) {
        batch_tell_unfinished(run->jobs, run->n_jobs);
        return complain_step(r, NULL, common->wait_ms);
    }
    if (r < 0 || run->error < 0) return r < 0 ? r : run->error;
    if (run->json) return run->status;
    printf("%zu passed, %zu failed\n", run->n_passed, run->n_failed);
    if (run->n_without_verdict)
        printf("%zu of the failed: INFRASTRUCTURE FAILURE, no verdict on the code\n",
               run->n_without_verdict);
    return run->status;
}

static int run_command(const Invocation *invocation) {
    CLEANUP(run_deinit)
    Run run = {
        .style = render_style_for(stdout, false),
        .json = invocation->common.json,
    };
    int r = load_suites(&run, invocation->operands);
    if (r) return r;
    r = build_jobs(&run);
    return r < 0 ? error_fold(r) : execute(&run, &invocation->common);
}

const Command command_run = {
    .name = "run",
    .operands = "SUITE.yaml...",
    .summary = "run suites and compare every verdict with what its case expects",
    .notes = "The exit status is 0 when every case is as expected, 1 when a verdict is not, and 2\n"
             "when a case ends in an infrastructure failure that it does not expect.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .wait_ms = 300000,
    .run = run_command,
};
