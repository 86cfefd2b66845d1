/* bench BUILD: measures, in one run and by turns, so that a slow moment hits all alike: a job's
 * latency with all layers and with none, what a cold run of the same code takes, and what making an
 * environment costs. Prints a table, writes BUILD/bench/bench.json. Its exit status says only
 * whether it could measure. $BENCH_ROUNDS says how often. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "making.h"
#include "sample.h"
#include "service.h"

enum { DEFAULT_ROUNDS = 50, COLD_EVERY = 5, MAX_LATENCY_US = 1000, MAX_MAKING_US = 3000 };

static const char code[] = "import pandas as pd\n"
                           "print(pd.DataFrame({'a': [1, 2, 3]})['a'].sum())\n";

typedef struct Bench {
    Sample on, off, cold;
    Sample making_on, making_off;
} Bench;

static int measure_round(Service *service, unsigned round, Bench *bench) {
    uint64_t us;
    int r = service_run(service, "on", code, &us);
    if (r == 0) sample_add(&bench->on, us);
    if (r == 0) r = service_run(service, "off", code, &us);
    if (r == 0) sample_add(&bench->off, us);
    if (r == 0) r = making_measure(true, &us);
    if (r == 0) sample_add(&bench->making_on, us);
    if (r == 0) r = making_measure(false, &us);
    if (r == 0) sample_add(&bench->making_off, us);
    if (r == 0 && round % COLD_EVERY == 0) {
        r = service_run_cold(code, &us);
        if (r == 0) sample_add(&bench->cold, us);
    }
    return r;
}

static void print_row(json_t *rows, const char *name, Sample *sample) {
    const uint64_t p50 = sample_percentile(sample, 50), p95 = sample_percentile(sample, 95),
                   p99 = sample_percentile(sample, 99);
    printf("%-46s %7zu %10.2f %10.2f %10.2f\n", name, sample->n_values, (double)p50 / 1000,
           (double)p95 / 1000, (double)p99 / 1000);
    json_object_set_new(rows, name,
                        json_pack("{s:I, s:I, s:I, s:I}", "n", (json_int_t)sample->n_values,
                                  "p50_us", (json_int_t)p50, "p95_us", (json_int_t)p95, "p99_us",
                                  (json_int_t)p99));
}

static void print_bound(json_t *rows, const char *name, Sample *on, Sample *off,
                        uint64_t bound_us) {
    const int64_t more_us = (int64_t)sample_percentile(on, 50) -
                            (int64_t)sample_percentile(off, 50);
    printf("%-46s %10.2f ms, bound %.2f ms: %s\n", name, (double)more_us / 1000,
           (double)bound_us / 1000, more_us <= (int64_t)bound_us ? "met" : "NOT met");
    json_object_set_new(
        rows, name,
        json_pack("{s:I, s:I}", "us", (json_int_t)more_us, "bound_us", (json_int_t)bound_us));
}

static int report(const char *build, Bench *bench) {
    char path[512];
    CLEANUP(json_decrefp) json_t *rows = json_object();
    printf("%-46s %7s %10s %10s %10s\n", "milliseconds", "n", "p50", "p95", "p99");
    print_row(rows, "submit to verdict, ready, all layers", &bench->on);
    print_row(rows, "submit to verdict, ready, no layers", &bench->off);
    print_row(rows, "cold python -I of the same code", &bench->cold);
    print_row(rows, "CPU of making an environment, all layers", &bench->making_on);
    print_row(rows, "CPU of making an environment, no layers", &bench->making_off);
    print_bound(rows, "layers add to a job's latency, p50", &bench->on, &bench->off,
                MAX_LATENCY_US);
    print_bound(rows, "layers add to the CPU of making one, p50", &bench->making_on,
                &bench->making_off, MAX_MAKING_US);
    snprintf(path, sizeof path, "%s/bench", build);
    (void)mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/bench/bench.json", build);
    return json_dump_file(rows, path, JSON_INDENT(2));
}

int main(int argc, char **argv) {
    static Bench bench;
    const char *text = getenv("BENCH_ROUNDS");
    const unsigned rounds = text ? (unsigned)strtoul(text, NULL, 10) : DEFAULT_ROUNDS;
    Service *service = NULL;
    if (argc != 2) {
        fputs("usage: bench BUILD\n", stderr);
        return 64;
    }
    int r = service_start(argv[1], &service);
    for (unsigned round = 0; r == 0 && round < rounds; round++)
        r = measure_round(service, round, &bench);
    service_stop(service);
    if (r == 0) r = report(argv[1], &bench);
    return r == 0 ? EXIT_SUCCESS : 2;
}
