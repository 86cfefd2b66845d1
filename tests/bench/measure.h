/* Measure: the parts of the bench. Each starts the daemon that it needs, measures, puts its figures
 * into the report and ends what it started. 0, or TROUBLE_E_TOLD when something could not be
 * measured; figures that were complete by then may be in the report already. */
#pragma once

#include "client/trouble.h"
#include "report.h"

typedef struct Bench {
    const char *build; /* absolute path of the build folder */
    unsigned rounds;   /* how often everything is measured that others are compared with */
    unsigned n_jobs;   /* over which growth is measured */
    Report *report;
} Bench;

/* One client, a ready environment, and the usual way beside it: cold runs, layers off and on, large
 * inputs and outputs, other kinds of code. */
int measure_latency(const Bench *bench, Trouble *trouble);
/* CPU time of making and ending one environment, with layers and without. */
int measure_making(const Bench *bench, Trouble *trouble);
/* Several clients at once: each with a ready environment, and as fast as it goes. */
int measure_crowd(const Bench *bench, Trouble *trouble);
/* Memory of the broker and of ready environments. */
int measure_footprint(const Bench *bench, Trouble *trouble);
/* How quickly Status is answered while every environment is busy. */
int measure_status(const Bench *bench, Trouble *trouble);
/* What is more of the broker after many jobs. */
int measure_growth(const Bench *bench, Trouble *trouble);
