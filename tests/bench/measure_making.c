/* The CPU time that layers cost where nobody waits for it: while an environment is made and ended.
 */
#include "measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/host.h"
#include "making.h"

enum { PER_ROUND = 4, PATH_BYTES = 4096, TITLE_BYTES = 96, US_PER_MS = 1000 };

typedef struct MakingCost {
    Sample cpu_ms[2]; /* without layers, with */
} MakingCost;

static int run_round(Making *making, MakingCost *cost, bool is_counted, Trouble *trouble) {
    for (unsigned i = 0; i < 2 * PER_ROUND; i++) {
        uint64_t cpu_us;
        const int r = making_run(making, i % 2, trouble, &cpu_us);
        if (r != 0) return r;
        if (is_counted) sample_add(&cost->cpu_ms[i % 2], (double)cpu_us / US_PER_MS);
    }
    return host_sleep_ms(0) == 0 ? 0 : trouble_set(trouble, "interrupted");
}

static void report_cost(const Bench *bench, MakingCost *cost) {
    Report *report = bench->report;
    report_samples(report, "making and ending, no layers", "ms CPU", &cost->cpu_ms[0], NO_BOUND);
    report_samples(report, "making and ending, all layers", "ms CPU", &cost->cpu_ms[1], NO_BOUND);
    report_value(report, "layers add", "ms CPU",
                 sample_median(&cost->cpu_ms[1]) - sample_median(&cost->cpu_ms[0]),
                 (Bound){BOUND_AT_MOST, 3, false});
}

int measure_making(const Bench *bench, Trouble *trouble) {
    CLEANUP(making_freep) Making *making = NULL;
    CLEANUP(freep) MakingCost *cost = calloc(1, sizeof *cost);
    if (!cost) return trouble_set(trouble, "%s", strerror(ENOMEM));
    char program[PATH_BYTES], title[TITLE_BYTES];
    snprintf(program, sizeof program, "%s/tests/bench/idle", bench->build);
    int r = making_new(program, trouble, &making);
    snprintf(title, sizeof title, "CPU of an environment with a trivial program%s%.40s",
             r == 0 && *making_left_out(making) ? "; without " : "",
             r == 0 ? making_left_out(making) : "");
    report_section(bench->report, title);
    for (unsigned round = 0; r == 0 && round <= bench->rounds; round++)
        r = run_round(making, cost, round > 0, trouble);
    if (r == 0) report_cost(bench, cost);
    return r;
}
