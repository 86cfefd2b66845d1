#include "warden/fill.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "platform/probe.h"
#include "warden/excerpt.h"
#include "warden/validate.h"

enum {
    KEEP_BYTES = 16384,        /* of the head, and of the tail, of its standard error */
    DRAIN_MAX_BYTES = 1 << 20, /* one fit for a job waits, and writes no more */
    NS_PER_US = 1000,
    STAGING_BYTES = 1 << 30, /* inputs lie beside what a job may write itself */
};

/* What is known of an interpreter that has not said it is ready. */
typedef struct Fill {
    Cell *cell;
    InvalidReport *invalid;
    Keeper errors;   /* its standard error */
    bool has_output; /* on its standard output */
    char *error_text;
    size_t error_bytes;
} Fill;

static void fill_deinit(Fill *fill) {
    keeper_deinit(&fill->errors);
    free(fill->error_text);
}

/* Head and tail in one piece. */
static int gather_errors(Fill *fill) {
    keeper_finish(&fill->errors);
    const Keeper *errors = &fill->errors;
    fill->error_text = malloc(errors->head_bytes + errors->tail_bytes + 1);
    if (!fill->error_text) return error_origin(-ENOMEM);
    memcpy(fill->error_text, errors->head, errors->head_bytes);
    memcpy(fill->error_text + errors->head_bytes, errors->tail, errors->tail_bytes);
    fill->error_bytes = errors->head_bytes + errors->tail_bytes;
    return 0;
}

/* True when one of the layers that only an enclosure brings was ordered. */
static bool wants_enclosure(const bool layers[CHILD_LAYER_COUNT]) {
    for (ChildLayer layer = 0; layer < CHILD_LAYER_COUNT; layer++)
        if (layers[layer] && child_layer_is_enclosing(layer)) return true;
    return false;
}

static int take_layers(Fill *fill, bool layers[CHILD_LAYER_COUNT]) {
    const TextList *ordered = &fill->cell->setup.layers;
    for (size_t i = 0; i < ordered->n_items; i++) {
        const ChildLayer layer = child_layer_from_name(ordered->items[i]);
        if (layer == CHILD_LAYER_COUNT)
            return invalid_set(fill->invalid, CODE_LAYER_MISSING, "there is no layer %s here",
                               ordered->items[i]);
        layers[layer] = true;
    }
    return 0;
}

static int enclose(Fill *fill) {
    Cell *cell = fill->cell;
    const EnclosureSpec spec = {
        .uid = cell->setup.uid,
        .root = &cell->setup.root,
        .disk_bytes = cell->setup.limits.disk_bytes + STAGING_BYTES,
    };
    StepFailure failure;
    int r = enclosure_enter(&spec, &failure, &cell->enclosure);
    if (r == ENCLOSURE_E_REFUSED)
        return invalid_set(fill->invalid, CODE_LAYER_MISSING, "cannot %s: %s", failure.step,
                           strerror(failure.error));
    if (r == 0)
        r = workdir_adopt(enclosure_work_fd(cell->enclosure), ENCLOSURE_WORK, &cell->workdir);
    return r < 0 ? error_fold(r) : 0;
}

/* While we still may: who encloses itself has no rights there any more. */
static int enter_cgroup(Fill *fill) {
    Cell *cell = fill->cell;
    const int r = cgroup_enter(cell->setup.cgroup, &cell->cgroup);
    if (r == -ENOMEM) return error_fold(r);
    if (r < 0)
        return invalid_set(fill->invalid, CODE_LAYER_MISSING,
                           "cannot enter the control group %s: %s", cell->setup.cgroup,
                           strerror(-r));
    return 0;
}

static int make_directory(Fill *fill) {
    Cell *cell = fill->cell;
    const int r = workdir_make(cell->setup.directory, &cell->workdir);
    if (r < 0)
        return invalid_set(fill->invalid, CODE_ENVIRONMENT_INVALID, "cannot make %s: %s",
                           cell->setup.directory, strerror(-r));
    cell->is_made = true;
    return 0;
}

static int spawn(Fill *fill, ChildSpec *spec) {
    Cell *cell = fill->cell;
    StepFailure failure;
    const int r = child_spawn(spec, &failure, &cell->child);
    if (r != CHILD_E_NOT_STARTED) return r < 0 ? error_fold(r) : 0;
    if (failure.error == 0)
        return invalid_set(fill->invalid, CODE_ENVIRONMENT_INVALID, "a wall does not hold: %s",
                           failure.step);
    return invalid_set(fill->invalid, CODE_CHILD_NEVER_STARTED, "cannot start %s: %s: %s",
                       cell->setup.interpreter, failure.step, strerror(failure.error));
}

static int start(Fill *fill) {
    Cell *cell = fill->cell;
    const Setup *setup = &cell->setup;
    ChildSpec spec = {
        .interpreter = setup->interpreter,
        .environment = &setup->environment,
        .limits = &setup->limits,
        .channel = warden_channel_fd(cell->channel),
        .hidden = &setup->hidden,
    };
    int r = take_layers(fill, spec.layers);
    if (r != 0) return r;
    cell->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cell->proc_fd < 0) return error_origin(-errno);
    r = setup->cgroup[0] ? enter_cgroup(fill) : 0;
    if (r != 0) return r;
    r = wants_enclosure(spec.layers) ? enclose(fill) : make_directory(fill);
    if (r != 0) return r;
    spec.proc_fd = cell->proc_fd;
    spec.enclosure = cell->enclosure;
    spec.cgroup = cell->cgroup;
    spec.workdir = cell->workdir;
    r = spawn(fill, &spec);
    if (r != 0) return r;
    ledger_note(&cell->ledger, LEDGER_SPAWNED, clock_mono_ns());
    r = harness_send_setup(cell->child, setup);
    return r < 0 ? error_fold(r) : 0;
}

static int explain_silence(Fill *fill) {
    CLEANUP(freep) char *line = NULL;
    int r = gather_errors(fill);
    if (r == 0) r = excerpt_useful_line(NULL, fill->error_text, fill->error_bytes, &line);
    if (r == 0) r = invalid_add_excerpt(fill->invalid, NULL, fill->error_text, fill->error_bytes);
    if (r < 0) return error_fold(r);
    return invalid_set(fill->invalid, CODE_CHILD_NEVER_STARTED,
                       "hung: no start marker within %" PRIu64 " ms%s%s",
                       fill->cell->setup.ready_timeout_ms, line ? ": " : "", line ? line : "");
}

/* Beside the results of a cell: the marker is not whole yet. */
enum { FILL_E_MORE = CELL_E_LEFT + 1 };

static int refuse_marker(Fill *fill, const HarnessMarker *marker) {
    if (marker->kind == HARNESS_UNFIT)
        return invalid_set(fill->invalid, CODE_ENVIRONMENT_INVALID, "%s: %s", marker->step,
                           marker->error);
    return invalid_set(fill->invalid, CODE_ENVIRONMENT_INVALID,
                       "the interpreter says something else before it is ready");
}

/* What the harness says while it is set up: that it is ready, or why it never will be. */
static int take_marker(Fill *fill, const ChildEvent *event, HarnessMarker *ret_marker) {
    CLEANUP(harness_marker_deinit) HarnessMarker marker = {0};
    HarnessReader *reader = &fill->cell->reader;
    harness_feed(reader, event->bytes, event->n_bytes);
    const int r = harness_next(reader, &marker);
    if (r == HARNESS_E_MORE) return FILL_E_MORE;
    if (r == HARNESS_E_MALFORMED)
        return invalid_set(fill->invalid, CODE_ENVIRONMENT_INVALID,
                           "the interpreter's first marker is not what the protocol allows");
    if (r < 0) return error_fold(r);
    const HarnessKind expected = fill->cell->setup.survey ? HARNESS_SURVEYED : HARNESS_READY;
    if (marker.kind != expected || reader->n_bytes > 0) return refuse_marker(fill, &marker);
    *ret_marker = marker;
    marker = (HarnessMarker){0};
    return 0;
}

/* What a dead interpreter left in the pipes; a word of its own goes before what its death says. */
static int take_rest(Fill *fill) {
    ChildEvent event;
    int r;
    while ((r = child_next_rest(fill->cell->child, &event)) == 0) {
        HarnessMarker marker;
        if (event.kind == CHILD_STDERR) keeper_add(&fill->errors, event.bytes, event.n_bytes);
        if (event.kind == CHILD_STDOUT) fill->has_output = true;
        if (event.kind != CHILD_MARKER) continue;
        r = take_marker(fill, &event, &marker);
        if (r == 0) harness_marker_deinit(&marker); /* ready, and dead since */
        if (r == CELL_E_INVALID || r < 0) return r;
    }
    return r < 0 ? error_fold(r) : 0;
}

static int explain_death(Fill *fill) {
    Cell *cell = fill->cell;
    int r = cell_reap(cell);
    if (r == CELL_E_LEFT)
        return invalid_set(fill->invalid, CODE_NOT_REAPED, "the interpreter does not die");
    if (r == 0) r = take_rest(fill);
    if (r == 0) r = gather_errors(fill);
    if (r == CELL_E_INVALID) return r;
    if (r < 0) return error_fold(r);
    return invalid_set_death(fill->invalid, NULL, &cell->exit, !fill->has_output, fill->error_text,
                             fill->error_bytes);
}

/* Runs the interpreter up to its first marker. */
static int wait_ready(Fill *fill, HarnessMarker *ret_marker) {
    Cell *cell = fill->cell;
    const uint64_t deadline_ns = cell->ledger.spawned_ns + cell->setup.ready_timeout_ms * NS_PER_MS;
    for (;;) {
        ChildEvent event;
        int r = child_next(cell->child, deadline_ns, &event);
        if (r < 0) return error_fold(r);
        switch (event.kind) {
        case CHILD_STOP:
        case CHILD_CHANNEL: /* nothing may come yet but its end */
            return CELL_E_STOPPED;
        case CHILD_DEADLINE:
            return explain_silence(fill);
        case CHILD_BREACH: /* none is told before there are limits */
            return error_origin(-EINVAL);
        case CHILD_EXITED:
            return explain_death(fill);
        case CHILD_STDERR:
            keeper_add(&fill->errors, event.bytes, event.n_bytes);
            break;
        case CHILD_STDOUT:
            fill->has_output = true;
            break;
        case CHILD_MARKER:
            r = take_marker(fill, &event, ret_marker);
            if (r != FILL_E_MORE) return r;
            break;
        }
    }
}

/* What set-up printed is no output of a job. */
static int drop_output(Fill *fill) {
    ChildEvent event;
    int r = 0;
    for (size_t n_bytes = 0; n_bytes < DRAIN_MAX_BYTES; n_bytes += event.n_bytes) {
        r = child_next_rest(fill->cell->child, &event);
        if (r != 0) break;
        if (event.kind == CHILD_MARKER)
            return invalid_set(fill->invalid, CODE_ENVIRONMENT_INVALID,
                               "the interpreter says more than that it is ready");
    }
    if (r == 0)
        return invalid_set(fill->invalid, CODE_ENVIRONMENT_INVALID,
                           "the interpreter writes on after it said it is ready");
    return r < 0 ? error_fold(r) : 0;
}

static int make_report(const Cell *cell, const HarnessReady *said, const ChildView *view,
                       uint64_t started_ns, ReadyReport *report) {
    report->hash_randomized = said->hash_randomization;
    report->hash_sample = said->hash_sample;
    report->spawned_us = (cell->ledger.spawned_ns - started_ns) / NS_PER_US;
    report->version = strdup(said->version);
    if (!report->version) return error_origin(-ENOMEM);
    for (ChildLayer layer = 0; layer < CHILD_LAYER_COUNT; layer++) {
        const int r = view->layers[layer]
                          ? text_list_append(&report->enforced, child_layer_name(layer))
                          : 0;
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int check(Fill *fill, const HarnessReady *said, ChildView *ret_view) {
    Cell *cell = fill->cell;
    int r = child_observe(cell->child, ret_view);
    if (r == CHILD_E_GONE) return explain_death(fill);
    if (r < 0) return error_fold(r);
    r = validate_layers(&cell->setup, ret_view, fill->invalid);
    if (r != 0) return r;
    ledger_note(&cell->ledger, LEDGER_CONFINED, clock_mono_ns());
    r = validate_ready(&cell->setup, cell->workdir, ret_view, said, fill->invalid);
    if (r != 0) return r;
    r = drop_output(fill);
    if (r != 0) return r;
    ledger_note(&cell->ledger, LEDGER_VALIDATED, clock_mono_ns());
    return 0;
}

int fill_cell(Cell *cell, ReadyReport *ret_ready, InvalidReport *ret_invalid) {
    const uint64_t started_ns = clock_mono_ns();
    CLEANUP(fill_deinit) Fill fill = {.cell = cell, .invalid = ret_invalid};
    CLEANUP(harness_marker_deinit) HarnessMarker marker = {0};
    CLEANUP(ready_report_deinit) ReadyReport ready = {0};
    ChildView view;
    int r = keeper_init(&fill.errors, KEEP_BYTES);
    if (r == 0) r = start(&fill);
    if (r == 0) r = wait_ready(&fill, &marker);
    if (r == 0) r = check(&fill, &marker.ready, &view);
    if (r == 0) r = make_report(cell, &marker.ready, &view, started_ns, &ready);
    if (r != 0) return r;
    *ret_ready = ready;
    ready = (ReadyReport){0};
    return 0;
}

static int list_missing(const StepFailure missing[CHILD_LAYER_COUNT], SurveyReport *report) {
    for (ChildLayer layer = 0; layer < CHILD_LAYER_COUNT; layer++) {
        CLEANUP(freep) char *reason = NULL;
        if (!missing[layer].step) continue;
        int r = text_format(&reason, "cannot %s: %s", missing[layer].step,
                            strerror(missing[layer].error));
        if (r == 0) r = text_list_append(&report->missing, child_layer_name(layer));
        if (r == 0) r = text_list_append(&report->reasons, reason);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

int fill_survey(Cell *cell, SurveyReport *ret_report, InvalidReport *ret_invalid) {
    CLEANUP(fill_deinit) Fill fill = {.cell = cell, .invalid = ret_invalid};
    CLEANUP(harness_marker_deinit) HarnessMarker marker = {0};
    CLEANUP(survey_report_deinit) SurveyReport report = {0};
    StepFailure missing[CHILD_LAYER_COUNT];
    int r = probe_layers(cell->setup.uid, missing);
    if (r == 0) r = keeper_init(&fill.errors, KEEP_BYTES);
    if (r == 0) r = start(&fill);
    if (r == 0) r = wait_ready(&fill, &marker);
    if (r == 0) r = list_missing(missing, &report);
    if (r != 0) return r;
    report.plan = marker.plan;
    marker.plan = (RootPlan){0};
    *ret_report = report;
    report = (SurveyReport){0};
    return 0;
}
