/* Run: the time of the generated code: from handing the job over to the death of its last process.
 * Records what is seen, enforces time and output limits; never judges, and never waits for a pipe's
 * end. */
#pragma once

#include "warden/cell.h"
#include "warden/output.h"

typedef struct RunOutputs {
    Output *out;
    Output *err;
} RunOutputs;

/* Runs the order in a filled cell. Fills the cell's facts but for what is found after the run; the
 * outputs get everything that was written. 0, CELL_E_INVALID (the code was never received),
 * CELL_E_STOPPED, or -errno. */
int run_order(Cell *cell, const Order *order, const Scanner *scanner, const RunOutputs *outputs,
              InvalidReport *ret_invalid);
