/* Any bytes as a suite file: what is accepted is complete enough to be run and compared, and what
 * is refused has a reason. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/submission.h"
#include "client/suite_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void require(int condition) {
    if (!condition) abort();
}

/* Against a verdict that says nothing: a passed one must be noticed to be missing. */
static void check_case(const SuiteCase *suite_case) {
    const Tb__Verdict nothing = TB__VERDICT__INIT;
    Trouble trouble;
    char *text = NULL;
    size_t text_bytes = 0;
    require(suite_case->name && suite_case->submit.file_name);
    require(submission_check(&suite_case->submit, &trouble) == 0);
    FILE *stream = open_memstream(&text, &text_bytes);
    require(stream != NULL);
    require(expect_compare(&suite_case->expect, &nothing, stream) > 0);
    require(fclose(stream) == 0);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    ProblemList problems;
    SuiteFile *suite = NULL;
    require(problem_list_init(&problems, "fuzz") == 0);
    const int r = suite_file_parse(data, n_bytes, "/no-such-dir", &problems, &suite);
    require(r == 0 || r == 1);
    require((r == 0) == (problem_list_empty(&problems) != 0));
    require((r == 0) == (suite != NULL));
    for (size_t i = 0; suite && i < suite->n_cases; i++) check_case(&suite->cases[i]);
    suite_file_free(suite);
    problem_list_deinit(&problems);
    return 0;
}
