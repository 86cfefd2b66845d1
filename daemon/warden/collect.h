/* Collect: what is found once every process of a job is dead: outputs, excerpt, the state of its
 * files. Each check is a file of its own in checks/. */
#pragma once

#include "warden/cell.h"
#include "warden/run.h"

/* Finishes the outputs and runs the checks; adds to the cell's facts. What fails for reasons of our
 * own becomes a fault. 0 or -ENOMEM. */
int collect_facts(Cell *cell, const Order *order, const Scanner *scanner,
                  const RunOutputs *outputs);
