/* bench BUILD [PART...]: measures the programs in BUILD, prints a table and writes
 * BUILD/bench/bench.json. Exits 0 whatever the figures are, 2 when one could not be measured, 64
 * when called wrongly. BENCH_ROUNDS and BENCH_JOBS in the environment say how much. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/exit_status.h"
#include "client/host.h"
#include "measure.h"

enum { DEFAULT_ROUNDS = 16, MAX_ROUNDS = 1000, DEFAULT_JOBS = 500, MAX_JOBS = 1000000 };

typedef struct Part {
    const char *name;
    const char *what;
    int (*measure)(const Bench *bench, Trouble *trouble);
} Part;

static const Part parts[] = {
    {"latency", "one job at a time, warm and cold, layers off and on", measure_latency},
    {"making", "the CPU time of making an environment", measure_making},
    {"crowd", "several clients at once", measure_crowd},
    {"footprint", "memory", measure_footprint},
    {"status", "Status under load", measure_status},
    {"growth", "growth over many jobs", measure_growth},
};

enum { N_PARTS = sizeof parts / sizeof *parts };

static int usage(void) {
    fputs("usage: bench BUILD [PART...]; BENCH_ROUNDS is 1 to 1000, BENCH_JOBS 1 to 1000000; "
          "parts:\n",
          stderr);
    for (size_t i = 0; i < N_PARTS; i++)
        fprintf(stderr, "  %-10s %s\n", parts[i].name, parts[i].what);
    return EXIT_STATUS_USAGE;
}

/* What the environment says, or the default. */
static bool read_count(const char *name, unsigned fallback, unsigned max, unsigned *ret_count) {
    const char *text = getenv(name);
    char *end;
    *ret_count = fallback;
    if (!text || !*text) return true;
    const long count = strtol(text, &end, 10);
    *ret_count = (unsigned)count;
    return *end == '\0' && count >= 1 && count <= (long)max;
}

static bool is_part(const char *name) {
    for (size_t i = 0; i < N_PARTS; i++)
        if (strcmp(parts[i].name, name) == 0) return true;
    return false;
}

static bool is_wanted(const Part *part, int n_names, char *const *names) {
    for (int i = 0; i < n_names; i++)
        if (strcmp(part->name, names[i]) == 0) return true;
    return n_names == 0;
}

static void measure(const Bench *bench, int n_names, char *const *names) {
    for (size_t i = 0; i < N_PARTS; i++) {
        Trouble trouble = {{0}};
        if (!is_wanted(&parts[i], n_names, names)) continue;
        /* An interruption ends all that is left at once. */
        if (host_sleep_ms(0) != 0) {
            report_missing(bench->report, "interrupted");
            return;
        }
        fprintf(stderr, "bench: %s\n", parts[i].what);
        if (parts[i].measure(bench, &trouble) == 0) continue;
        char why[2 * TROUBLE_BYTES];
        snprintf(why, sizeof why, "%s: %s", parts[i].name, trouble.text);
        fprintf(stderr, "bench: %s\n", why);
        report_missing(bench->report, why);
    }
}

static int finish(const Bench *bench) {
    char *path = NULL;
    if (asprintf(&path, "%s/bench/bench.json", bench->build) < 0) return EXIT_STATUS_INFRASTRUCTURE;
    report_print(bench->report, stdout);
    const int r = report_save(bench->report, path);
    if (r < 0)
        fprintf(stderr, "bench: cannot write %s: %s\n", path, strerror(-r));
    else
        printf("\nAll figures: %s\n", path);
    free(path);
    if (!report_is_complete(bench->report))
        fputs("bench: not everything could be measured; see NOT MEASURED above\n", stderr);
    return r == 0 && report_is_complete(bench->report) ? 0 : EXIT_STATUS_INFRASTRUCTURE;
}

static void note_run(const Bench *bench) {
    report_note(bench->report, "at_ms", (long long)clock_wall_ms());
    report_note(bench->report, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
    report_note(bench->report, "rounds", bench->rounds);
    report_note(bench->report, "jobs", bench->n_jobs);
    report_note(bench->report, "is_root", geteuid() == 0);
}

int main(int argc, char **argv) {
    CLEANUP(report_freep) Report *report = NULL;
    CLEANUP(freep) char *build = argc > 1 ? realpath(argv[1], NULL) : NULL;
    Bench bench = {.build = build};
    if (!build || !read_count("BENCH_ROUNDS", DEFAULT_ROUNDS, MAX_ROUNDS, &bench.rounds) ||
        !read_count("BENCH_JOBS", DEFAULT_JOBS, MAX_JOBS, &bench.n_jobs))
        return usage();
    for (int i = 2; i < argc; i++)
        if (!is_part(argv[i])) return usage();
    signal(SIGPIPE, SIG_IGN);
    if (host_init() < 0 || host_catch_interrupts() < 0 || report_new(&report) < 0) {
        fputs("bench: cannot start\n", stderr);
        return EXIT_STATUS_INFRASTRUCTURE;
    }
    bench.report = report;
    note_run(&bench);
    measure(&bench, argc - 2, argv + 2);
    return finish(&bench);
}
