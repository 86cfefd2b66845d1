/* Verdicts: what `submit` and `wait` tell about the jobs of a batch, and the exit status that comes
 * of it. */
#pragma once

#include "batch.h"
#include "command.h"

/* Runs the jobs over a new link and prints each one. `show_output` as in RenderStyle; `detach` ends
 * a job when it is accepted. An ExitStatus (reported), or -errno. */
int verdicts_run(const Common *common, bool show_output, bool detach, BatchJob *jobs,
                 size_t n_jobs);
