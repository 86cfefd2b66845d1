#include "warden/checks/columns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "warden/checks/csv.h"

enum { SLACK_BYTES = 1 << 20, COLUMNS_MAX_FINDINGS = 100 };

/* One protected column that the table had. */
typedef struct Column {
    const char *name;
    size_t before;   /* index in the old table */
    size_t after;    /* in the new one */
    bool is_settled; /* its first difference was told */
} Column;

typedef struct Comparison {
    const char *input;
    FailureList *findings;
    Column *columns;
    size_t n_columns;
    CsvReader before;
    CsvReader after;
} Comparison;

static void comparison_deinit(Comparison *comparison) {
    free(comparison->columns);
    csv_deinit(&comparison->before);
    csv_deinit(&comparison->after);
}

static size_t count_reported(const FailureList *findings) {
    size_t n = 0;
    for (size_t i = 0; i < findings->n_items; i++)
        if (findings->items[i].code == CODE_PROTECTED_COLUMN) n++;
    return n;
}

/* Row 0: the whole column. What is over the bound was found too, and is not told. */
static int append(const Comparison *comparison, Column *column, const char *what, uint64_t row) {
    column->is_settled = true;
    if (count_reported(comparison->findings) >= COLUMNS_MAX_FINDINGS) return 0;
    CLEANUP(freep) char *message = NULL;
    int r = text_format(&message, "protected column %s of %s %s", column->name, comparison->input,
                        what);
    if (r == 0 && row > 0) {
        CLEANUP(freep) char *start = TAKE(message);
        r = text_format(&message, "%s row %" PRIu64, start, row);
    }
    if (r < 0) return error_fold(r);
    const Failure failure = {
        .code = CODE_PROTECTED_COLUMN, .subject = (char *)column->name, .message = message};
    r = failure_list_append(comparison->findings, &failure);
    return r < 0 ? error_fold(r) : 0;
}

static int find_columns(Comparison *comparison, const TextList *names) {
    comparison->columns = calloc(names->n_items + 1, sizeof *comparison->columns);
    if (!comparison->columns) return error_origin(-ENOMEM);
    for (size_t i = 0; i < names->n_items; i++) {
        Column *column = &comparison->columns[comparison->n_columns];
        if (!csv_find(&comparison->before, names->items[i], &column->before)) continue;
        column->name = names->items[i];
        comparison->n_columns++;
    }
    return 0;
}

static int match_columns(Comparison *comparison) {
    for (size_t i = 0; i < comparison->n_columns; i++) {
        Column *column = &comparison->columns[i];
        if (csv_find(&comparison->after, column->name, &column->after)) continue;
        const int r = append(comparison, column, "is gone", 0);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static bool is_same(const CsvField *a, const CsvField *b) {
    return a->n_bytes == b->n_bytes && memcmp(a->text, b->text, a->n_bytes) == 0;
}

static int compare_row(Comparison *comparison, uint64_t row) {
    for (size_t i = 0; i < comparison->n_columns; i++) {
        Column *column = &comparison->columns[i];
        const CsvField before = csv_field(&comparison->before, column->before);
        const CsvField after = csv_field(&comparison->after, column->after);
        if (column->is_settled || is_same(&before, &after)) continue;
        const int r = append(comparison, column, "was changed, first in", row);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int settle_rest(Comparison *comparison, const char *what, uint64_t row) {
    for (size_t i = 0; i < comparison->n_columns; i++) {
        if (comparison->columns[i].is_settled) continue;
        const int r = append(comparison, &comparison->columns[i], what, row);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

/* Both tables stand after their headers, which are row 1. */
static int compare_rows(Comparison *comparison) {
    for (uint64_t row = 2;; row++) {
        const int before = csv_next(&comparison->before);
        const int after = csv_next(&comparison->after);
        if (before < 0 || after < 0) return error_fold(before < 0 ? before : after);
        if (before == CSV_E_END && after == CSV_E_END) return 0;
        int r;
        if (before == CSV_E_END) return settle_rest(comparison, "has more rows, from", row);
        if (after == CSV_E_END) return settle_rest(comparison, "has lost rows, from", row);
        r = compare_row(comparison, row);
        if (r < 0) return error_fold(r);
    }
}

int columns_compare(const TextList *columns, const char *input, const Bytes *before,
                    const Bytes *after, FailureList *findings) {
    CLEANUP(comparison_deinit)
    Comparison comparison = {.input = input, .findings = findings};
    csv_init(&comparison.before, before->data, before->n_bytes);
    csv_init(&comparison.after, after->data, after->n_bytes);
    int r = csv_next(&comparison.before);
    if (r == CSV_E_END) return 0; /* there was no table */
    if (r == 0) r = find_columns(&comparison, columns);
    if (r < 0) return error_fold(r);
    r = csv_next(&comparison.after);
    if (r == 0 || r == CSV_E_END) r = match_columns(&comparison);
    if (r == 0) r = compare_rows(&comparison);
    return r < 0 ? error_fold(r) : 0;
}

/* Reads a whole file within the bound; one that is larger is cut, which is a difference as well. */
static int read_file(const WorkdirFile *file, size_t max_bytes, Bytes *ret_content) {
    const size_t wanted = file->size_bytes < max_bytes ? (size_t)file->size_bytes : max_bytes;
    CLEANUP(freep) uint8_t *data = malloc(wanted + 1);
    if (!data) return error_origin(-ENOMEM);
    size_t done = 0, n = 1;
    while (done < wanted && n > 0) {
        const int r = workdir_read(file, data + done, wanted - done, &n);
        if (r < 0) return error_fold(r);
        done += n;
    }
    *ret_content = (Bytes){TAKE(data), done};
    return 0;
}

/* Where no regular file is any more, no column is either. */
static int check_one(const Order *order, const Workdir *workdir, const OrderInput *input,
                     FailureList *findings) {
    CLEANUP(workdir_file_deinit) WorkdirFile file = {.fd = -1};
    Bytes after = {0};
    int r = workdir_open(workdir, input->name, &file);
    if (r == 0 && file.fd >= 0)
        r = read_file(&file, 2 * input->content.n_bytes + SLACK_BYTES, &after);
    if (r == 0)
        r = columns_compare(&order->protected_columns, input->name, &input->content, &after,
                            findings);
    free(after.data);
    return r < 0 ? error_fold(r) : 0;
}

int columns_check(const Order *order, const Workdir *workdir, const bool *unchanged,
                  FailureList *findings) {
    if (order->protected_columns.n_items == 0) return 0;
    for (size_t i = 0; i < order->n_inputs; i++) {
        if (unchanged[i]) continue;
        const int r = check_one(order, workdir, &order->inputs[i], findings);
        if (r < 0) return error_fold(r);
    }
    return 0;
}
