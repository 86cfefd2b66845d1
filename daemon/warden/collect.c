#include "warden/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "warden/checks/canaries.h"
#include "warden/checks/columns.h"
#include "warden/checks/inputs.h"
#include "warden/checks/produced.h"
#include "warden/excerpt.h"

/* Of what was kept. */
static int make_excerpt(const Scanner *scanner, Facts *facts) {
    CLEANUP(freep) char *text = NULL;
    size_t n_bytes;
    int r = output_join(&facts->err, &text, &n_bytes);
    if (r == 0) r = excerpt_make(scanner, text, n_bytes, &facts->excerpt);
    return r < 0 ? error_fold(r) : 0;
}

static int finish_outputs(Cell *cell, const Scanner *scanner, const RunOutputs *outputs) {
    Facts *facts = &cell->facts;
    const bool is_cut = facts->signal != 0 || facts->limit != CODE_NONE;
    output_finish(outputs->out, is_cut, &facts->out);
    output_finish(outputs->err, is_cut, &facts->err);
    int r = canaries_check_output(scanner, outputs->out, "stdout", &facts->findings);
    if (r == 0) r = canaries_check_output(scanner, outputs->err, "stderr", &facts->findings);
    const bool has_failed = facts->signal != 0 || facts->exit_code != 0;
    if (r == 0 && has_failed) r = make_excerpt(scanner, facts);
    return r < 0 ? error_fold(r) : 0;
}

static int check_files(Cell *cell, const Order *order, const Scanner *scanner) {
    Facts *facts = &cell->facts;
    CLEANUP(freep) bool *unchanged = calloc(order->n_inputs + 1, sizeof *unchanged);
    if (!unchanged) return error_origin(-ENOMEM);
    int r = workdir_reopen(cell->workdir);
    if (r == 0) r = inputs_check(order, cell->workdir, unchanged, &facts->findings);
    if (r == 0) r = columns_check(order, cell->workdir, unchanged, &facts->findings);
    if (r == 0) r = produced_check(order, cell->workdir, scanner, unchanged, facts);
    return r < 0 ? error_fold(r) : 0;
}

static int fail_checks(Facts *facts, int error) {
    const int r = text_format(&facts->fault_detail, "the files cannot be checked: %s",
                              strerror(-error));
    if (r < 0) return error_fold(r);
    facts->fault = CODE_CHECKS_FAILED;
    return 0;
}

int collect_facts(Cell *cell, const Order *order, const Scanner *scanner,
                  const RunOutputs *outputs) {
    Facts *facts = &cell->facts;
    int r = finish_outputs(cell, scanner, outputs);
    if (r < 0) return error_fold(r);
    /* Files hold still only when nobody is left, and matter only when the code ran. */
    if (!facts->seen[PHASE_REAPED] || !facts->seen[PHASE_STARTED] || facts->fault != CODE_NONE)
        return 0;
    r = check_files(cell, order, scanner);
    if (r < 0) return fail_checks(facts, r);
    ledger_note(&cell->ledger, LEDGER_CHECKED, clock_mono_ns());
    return 0;
}
