#include "warden/warden.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "verdict/verdict.h"
#include "warden/checks/canaries.h"
#include "warden/collect.h"
#include "warden/fill.h"
#include "warden/stage.h"

static int explain_idle_death(Cell *cell, InvalidReport *invalid) {
    const int r = cell_reap(cell);
    if (r < 0) return error_fold(r);
    if (r == CELL_E_LEFT)
        return invalid_set(invalid, CODE_NOT_REAPED, "the interpreter does not die");
    if (cell->exit.signal)
        return invalid_set(invalid, CODE_CHILD_NEVER_STARTED,
                           "killed by %s while it waited for a job",
                           verdict_signal_name(cell->exit.signal));
    return invalid_set(invalid, CODE_CHILD_NEVER_STARTED, "exited %d while it waited for a job",
                       cell->exit.code);
}

/* Waits for the job, however long; whatever the interpreter does meanwhile makes it unfit. */
static int wait_order(Cell *cell, InvalidReport *invalid, Order *ret_order) {
    for (;;) {
        ChildEvent event;
        int r = child_next(cell->child, UINT64_MAX, &event);
        if (r < 0) return error_fold(r);
        switch (event.kind) {
        case CHILD_STOP:
            return CELL_E_STOPPED;
        case CHILD_CHANNEL:
            r = warden_channel_read_order(cell->channel, ret_order);
            if (r == WARDEN_CHANNEL_E_MORE) break;
            if (r == WARDEN_CHANNEL_E_MALFORMED)
                return invalid_set(invalid, CODE_CHANNEL_BROKEN, "the job cannot be read");
            return r == WARDEN_CHANNEL_E_CLOSED ? CELL_E_STOPPED : r;
        case CHILD_EXITED:
            return explain_idle_death(cell, invalid);
        case CHILD_DEADLINE:
            break;
        case CHILD_BREACH: /* none is told before there are limits */
            return error_origin(-EINVAL);
        case CHILD_MARKER:
        case CHILD_STDOUT:
        case CHILD_STDERR:
            return invalid_set(invalid, CODE_ENVIRONMENT_INVALID,
                               "the interpreter writes while it waits for a job");
        }
    }
}

static void run_outputs_deinit(RunOutputs *outputs) {
    output_free(outputs->out);
    output_free(outputs->err);
}

/* Sends what was found; a broker that is gone is one that needs no report. */
static int report(const Cell *cell) {
    const int r = warden_channel_send_result(cell->channel, &cell->facts);
    return r == WARDEN_CHANNEL_E_CLOSED ? CELL_E_STOPPED : r;
}

static int run(Cell *cell, const Order *order, InvalidReport *invalid) {
    CLEANUP(scanner_freep) Scanner *scanner = NULL;
    CLEANUP(run_outputs_deinit) RunOutputs outputs = {0};
    const size_t keep_bytes = cell->setup.keep_bytes;
    int r = order->canaries.n_items > 0 ? scanner_new(&order->canaries, &scanner) : 0;
    if (r == 0) r = output_new(scanner, keep_bytes, &outputs.out);
    if (r == 0) r = output_new(scanner, keep_bytes, &outputs.err);
    if (r == 0) r = canaries_check_source(scanner, order, &cell->facts.findings);
    if (r < 0) return error_fold(r);
    r = stage_inputs(order, cell->workdir, invalid);
    if (r == 0) r = run_order(cell, order, scanner, &outputs, invalid);
    if (r != 0) return r;
    r = collect_facts(cell, order, scanner, &outputs);
    if (r < 0) return error_fold(r);
    return report(cell);
}

static int survey(Cell *cell, InvalidReport *invalid) {
    CLEANUP(survey_report_deinit) SurveyReport report = {0};
    int r = fill_survey(cell, &report, invalid);
    if (r != 0) return r;
    r = warden_channel_send_survey(cell->channel, &report);
    return r == WARDEN_CHANNEL_E_CLOSED ? CELL_E_STOPPED : r;
}

static int serve(Cell *cell, InvalidReport *invalid) {
    CLEANUP(ready_report_deinit) ReadyReport ready = {0};
    CLEANUP(order_deinit) Order order = {0};
    int r = fill_cell(cell, &ready, invalid);
    if (r != 0) return r;
    r = warden_channel_send_ready(cell->channel, &ready);
    if (r == WARDEN_CHANNEL_E_CLOSED) return CELL_E_STOPPED;
    if (r < 0) return error_fold(r);
    r = wait_order(cell, invalid, &order);
    if (r != 0) return r;
    log_write(LOG_LEVEL_DEBUG, (LogContext){order.job_id, cell->setup.environment_id}, 0,
              "the job is here");
    return run(cell, &order, invalid);
}

/* What went wrong on our side is no word on the code either. */
static int report_error(const Cell *cell, InvalidReport *invalid, int error) {
    log_write(LOG_LEVEL_ERROR, (LogContext){NULL, cell->setup.environment_id}, error,
              "the environment failed");
    const Code code = error == -ENOMEM ? CODE_OUT_OF_MEMORY : CODE_HARNESS_FAILED;
    return invalid_set(invalid, code, "the warden failed: %s", strerror(-error));
}

int warden_serve(WardenChannel *channel) {
    CLEANUP(setup_deinit) Setup setup = {0};
    CLEANUP(invalid_report_deinit) InvalidReport invalid = {0};
    Cell cell;
    int r = warden_channel_wait_setup(channel, &setup);
    if (r == WARDEN_CHANNEL_E_CLOSED) return 0;
    if (r != 0) return r < 0 ? error_fold(r) : error_origin(-EPROTO);
    r = cell_init(&cell, channel, &setup);
    if (r == 0) r = cell.setup.survey ? survey(&cell, &invalid) : serve(&cell, &invalid);
    const int error = r < 0 ? r : 0;
    if (error < 0) r = report_error(&cell, &invalid, error);
    if (r == CELL_E_INVALID) (void)warden_channel_send_invalid(channel, &invalid);
    const int left = cell_deinit(&cell);
    return error < 0 ? error : left;
}
