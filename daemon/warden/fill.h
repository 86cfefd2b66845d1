/* Fill: brings a fresh interpreter to the point where a job may come, and finds out whether it may.
 * What is not seen to be right is wrong. */
#pragma once

#include "warden/cell.h"

/* Makes the directory, starts the interpreter, waits for its word and checks all of it against what
 * the kernel says. The caller deinits whichever report is filled. 0, CELL_E_INVALID,
 * CELL_E_STOPPED, or -errno. */
int fill_cell(Cell *cell, ReadyReport *ret_ready, InvalidReport *ret_invalid);

/* Finds out what an interpreter needs in a root of its own, and which layers this system has. The
 * same results; a cell is fit for nothing else then. */
int fill_survey(Cell *cell, SurveyReport *ret_report, InvalidReport *ret_invalid);
