#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "base/error.h"

enum { MAX_FIGURES = 128, MAX_NOTES = 16, NAME_BYTES = 384, CELL_BYTES = 48, PATH_BYTES = 4096 };

typedef enum FigureKind { FIGURE_SECTION, FIGURE_SAMPLES, FIGURE_VALUE, FIGURE_MISSING } FigureKind;

typedef struct Figure {
    FigureKind kind;
    char name[NAME_BYTES]; /* of a section: its title; of what is missing: why */
    const char *unit;
    size_t n_samples;
    double median; /* or the only value */
    double p95;
    double p99;
    Bound bound;
} Figure;

typedef struct Note {
    const char *key;
    long long value;
} Note;

struct Report {
    Figure figures[MAX_FIGURES];
    size_t n_figures;
    Note notes[MAX_NOTES];
    size_t n_notes;
    bool is_incomplete;
};

int report_new(Report **ret_report) {
    Report *report = calloc(1, sizeof *report);
    if (!report) return error_origin(-ENOMEM);
    *ret_report = report;
    return 0;
}

Report *report_free(Report *report) {
    free(report);
    return NULL;
}

static Figure *add(Report *report, FigureKind kind, const char *name) {
    static Figure beyond;
    if (report->n_figures == MAX_FIGURES) {
        report->is_incomplete = true;
        return &beyond;
    }
    Figure *figure = &report->figures[report->n_figures++];
    figure->kind = kind;
    snprintf(figure->name, sizeof figure->name, "%s", name);
    return figure;
}

void report_section(Report *report, const char *title) {
    add(report, FIGURE_SECTION, title);
}

void report_samples(Report *report, const char *name, const char *unit, Sample *samples,
                    Bound bound) {
    if (samples->n_items == 0) {
        char why[NAME_BYTES];
        snprintf(why, sizeof why, "%s: not one sample", name);
        report_missing(report, why);
        return;
    }
    Figure *figure = add(report, FIGURE_SAMPLES, name);
    figure->unit = unit;
    figure->n_samples = samples->n_items;
    figure->median = sample_median(samples);
    figure->p95 = sample_quantile(samples, 0.95);
    figure->p99 = sample_quantile(samples, 0.99);
    figure->bound = bound;
}

void report_value(Report *report, const char *name, const char *unit, double value, Bound bound) {
    Figure *figure = add(report, FIGURE_VALUE, name);
    figure->unit = unit;
    figure->median = value;
    figure->bound = bound;
}

void report_missing(Report *report, const char *why) {
    add(report, FIGURE_MISSING, why);
    report->is_incomplete = true;
}

bool report_is_complete(const Report *report) {
    return !report->is_incomplete;
}

void report_note(Report *report, const char *key, long long value) {
    if (report->n_notes < MAX_NOTES) report->notes[report->n_notes++] = (Note){key, value};
}

static bool is_met(const Figure *figure) {
    const double value = figure->bound.of_p99 ? figure->p99 : figure->median;
    return figure->bound.kind == BOUND_AT_MOST ? value <= figure->bound.value
                                               : value >= figure->bound.value;
}

/* ---- For people ---- */

static void print_bound(const Figure *figure, FILE *stream) {
    char text[CELL_BYTES] = "";
    if (figure->bound.kind != BOUND_NONE)
        snprintf(text, sizeof text, "%s%s %g %s", figure->bound.of_p99 ? "p99 " : "",
                 figure->bound.kind == BOUND_AT_MOST ? "at most" : "at least", figure->bound.value,
                 figure->unit);
    if (text[0])
        fprintf(stream, "  %-20s %s\n", text, is_met(figure) ? "met" : "NOT MET");
    else
        fputc('\n', stream);
}

static void print_figure(const Figure *figure, FILE *stream) {
    switch (figure->kind) {
    case FIGURE_SECTION:
        fprintf(stream, "\n%s\n", figure->name);
        break;
    case FIGURE_MISSING:
        fprintf(stream, "  NOT MEASURED: %s\n", figure->name);
        break;
    case FIGURE_SAMPLES:
        fprintf(stream, "  %-48s %10.2f %9.2f %9.2f %6zu  %-6s", figure->name, figure->median,
                figure->p95, figure->p99, figure->n_samples, figure->unit);
        print_bound(figure, stream);
        break;
    case FIGURE_VALUE:
        fprintf(stream, "  %-48s %10.2f %9s %9s %6s  %-6s", figure->name, figure->median, "", "",
                "", figure->unit);
        print_bound(figure, stream);
        break;
    }
}

void report_print(const Report *report, FILE *stream) {
    fprintf(stream, "\n  %-48s %10s %9s %9s %6s  %-6s  %-20s\n", "figure", "median", "p95", "p99",
            "n", "unit", "bound");
    for (size_t i = 0; i < report->n_figures; i++) print_figure(&report->figures[i], stream);
}

/* ---- For programs ---- */

static json_t *describe_bound(const Figure *figure) {
    return json_pack("{s:s, s:f, s:s, s:b}", "kind",
                     figure->bound.kind == BOUND_AT_MOST ? "at_most" : "at_least", "value",
                     figure->bound.value, "of", figure->bound.of_p99 ? "p99" : "median", "met",
                     (int)is_met(figure));
}

static json_t *describe_figure(const Figure *figure, const char *section) {
    if (figure->kind == FIGURE_MISSING)
        return json_pack("{s:s, s:s}", "section", section, "missing", figure->name);
    json_t *object = json_pack("{s:s, s:s, s:s, s:f}", "section", section, "name", figure->name,
                               "unit", figure->unit, "median", figure->median);
    if (!object) return NULL;
    if (figure->kind == FIGURE_SAMPLES) {
        json_object_set_new(object, "p95", json_real(figure->p95));
        json_object_set_new(object, "p99", json_real(figure->p99));
        json_object_set_new(object, "n", json_integer((json_int_t)figure->n_samples));
    }
    if (figure->bound.kind != BOUND_NONE)
        json_object_set_new(object, "bound", describe_bound(figure));
    return object;
}

static json_t *describe(const Report *report) {
    json_t *object = json_pack("{s:b, s:{}, s:[]}", "complete", (int)!report->is_incomplete, "run",
                               "figures");
    if (!object) return NULL;
    for (size_t i = 0; i < report->n_notes; i++)
        json_object_set_new(json_object_get(object, "run"), report->notes[i].key,
                            json_integer(report->notes[i].value));
    const char *section = "";
    for (size_t i = 0; i < report->n_figures; i++) {
        const Figure *figure = &report->figures[i];
        if (figure->kind == FIGURE_SECTION)
            section = figure->name;
        else
            json_array_append_new(json_object_get(object, "figures"),
                                  describe_figure(figure, section));
    }
    return object;
}

static int make_parent(const char *path) {
    char parent[PATH_BYTES];
    snprintf(parent, sizeof parent, "%s", path);
    char *slash = strrchr(parent, '/');
    if (!slash || slash == parent) return 0;
    *slash = '\0';
    return mkdir(parent, 0755) == 0 || errno == EEXIST ? 0 : error_origin(-errno);
}

int report_save(const Report *report, const char *path) {
    int r = make_parent(path);
    if (r < 0) return error_fold(r);
    json_t *object = describe(report);
    if (!object) return error_origin(-ENOMEM);
    r = json_dump_file(object, path, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    json_decref(object);
    return r == 0 ? 0 : error_origin(-EIO);
}
