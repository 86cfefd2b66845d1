/* Suite file: cases of generated code with the verdict that each must get, as people write them in
 * YAML. Reads and checks; runs nothing. */
#pragma once

#include "base/arena.h"
#include "config/problem.h"
#include "expect.h"
#include "tbsandbox.pb-c.h"

enum { SUITE_FILE_MAX_CASES = 10000 };

typedef struct SuiteCase {
    const char *name;
    Tb__Submit submit; /* without an idempotency key */
    Expect expect;
    size_t line;
    size_t column;
} SuiteCase;

/* Owns what its cases point to. */
typedef struct SuiteFile {
    Arena arena;
    const char *name;
    SuiteCase *cases;
    size_t n_cases;
} SuiteFile;

/* Parses bytes; paths in them start from `directory`. The caller frees the suite.
 * 0, 1 when `problems` says what is wrong, or -ENOMEM. */
int suite_file_parse(const void *bytes, size_t n_bytes, const char *directory,
                     ProblemList *problems, SuiteFile **ret_suite);
/* The same for a file, from whose directory paths start. */
int suite_file_load(const char *path, ProblemList *problems, SuiteFile **ret_suite);
/* Takes NULL, returns NULL. */
SuiteFile *suite_file_free(SuiteFile *suite);

static inline void suite_file_freep(SuiteFile **suite) {
    suite_file_free(*suite);
}
