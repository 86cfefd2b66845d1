#include "canaries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "submission.h"

enum { CANARIES_E_NO_PAIR = 1 };

/* Splits `pair` in place. 0, CANARIES_E_NO_PAIR, or -ENOMEM. */
static int add_pair(char *pair, Arena *arena, Tb__Submit *submit) {
    char *equals = strchr(pair, '=');
    if (!equals || equals == pair || !equals[1]) return CANARIES_E_NO_PAIR;
    *equals = '\0';
    return submission_add_canary(submit, arena, pair, equals + 1);
}

int canaries_add_word(const char *word, Arena *arena, Tb__Submit *submit, Trouble *trouble) {
    CLEANUP(freep) char *pair = strdup(word);
    if (!pair) return error_origin(-ENOMEM);
    const int r = add_pair(pair, arena, submit);
    if (r == CANARIES_E_NO_PAIR) return trouble_set(trouble, "--canary takes ID=VALUE");
    return r < 0 ? error_fold(r) : 0;
}

/* One line without its end, copied. */
static int add_line(const char *line, size_t n_bytes, size_t number, Arena *arena,
                    Tb__Submit *submit, ProblemList *problems) {
    if (memchr(line, '\0', n_bytes)) {
        problem_add(problems, number, 1, "", "holds a NUL");
        return 0;
    }
    CLEANUP(freep) char *copy = strndup(line, n_bytes);
    if (!copy) return error_origin(-ENOMEM);
    char *pair = copy + strspn(copy, " \t");
    if (!pair[0] || pair[0] == '#') return 0;
    const int r = add_pair(pair, arena, submit);
    if (r < 0) return error_fold(r);
    if (r == CANARIES_E_NO_PAIR) problem_add(problems, number, 1, "", "expected ID=VALUE");
    return 0;
}

int canaries_add_lines(ProtobufCBinaryData text, Arena *arena, Tb__Submit *submit,
                       ProblemList *problems) {
    const char *p = (const char *)text.data, *end = p + text.len;
    for (size_t number = 1; p < end; number++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t n_bytes = (size_t)((newline ? newline : end) - p);
        if (n_bytes && p[n_bytes - 1] == '\r') n_bytes--;
        const int r = add_line(p, n_bytes, number, arena, submit, problems);
        if (r < 0) return error_fold(r);
        p = newline ? newline + 1 : end;
    }
    return 0;
}
