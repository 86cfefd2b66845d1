#include "broker/consult.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct ConsultEntry {
    Consult *consult;
    Pool *pool; /* while its self-test runs */
    ProfileReport *report;
};

static void report_deinit(ProfileReport *report) {
    free(report->profile);
    free(report->diagnosis);
    free(report->interpreter);
    free(report->version);
    free(report->checks);
    text_list_deinit(&report->enforced);
    text_list_deinit(&report->missing);
    text_list_deinit(&report->reasons);
    *report = (ProfileReport){0};
}

Consult *consult_free(Consult *consult) {
    if (!consult) return NULL;
    for (size_t i = 0; i < consult->n_reports; i++) {
        if (consult->entries[i].pool) doctor_forget(consult->entries[i].pool, &consult->entries[i]);
        report_deinit(&consult->reports[i]);
    }
    list_remove(&consult->link);
    free(consult->entries);
    free(consult->reports);
    free(consult);
    return NULL;
}

void consult_forget_all(List *consults) {
    list_each(link, consults) consult_free(list_entry(link, Consult, link));
}

static int describe(const Pool *pool, ProfileReport *report) {
    const bool healthy = health_serves(&pool->health);
    report->healthy = healthy;
    report->profile = strdup(pool->profile->name);
    report->interpreter = strdup(pool->profile->interpreter);
    report->version = strdup(pool->version ? pool->version : "");
    report->diagnosis = strdup(healthy || !pool->diagnosis ? "" : pool->diagnosis);
    if (!report->profile || !report->interpreter || !report->version || !report->diagnosis)
        return error_origin(-ENOMEM);
    int r = text_list_copy(&pool->enforced, &report->enforced);
    if (r == 0) r = text_list_copy(&pool->survey.missing, &report->missing);
    if (r == 0) r = text_list_copy(&pool->survey.reasons, &report->reasons);
    return r < 0 ? error_fold(r) : 0;
}

static int take_checks(const DoctorCheck *checks, size_t n_checks, ProfileReport *report) {
    report->checks = calloc(n_checks + 1, sizeof *report->checks);
    if (!report->checks) return error_origin(-ENOMEM);
    memcpy(report->checks, checks, n_checks * sizeof *checks);
    report->n_checks = n_checks;
    for (size_t i = 0; i < n_checks; i++)
        if (!checks[i].ok) report->healthy = false;
    return 0;
}

/* A report that could not be filled says so by not being healthy. */
static void on_tested(Pool *pool, const DoctorCheck *checks, size_t n_checks, void *data) {
    struct ConsultEntry *entry = data;
    Consult *consult = entry->consult;
    entry->pool = NULL;
    int r = describe(pool, entry->report);
    if (r == 0) r = take_checks(checks, n_checks, entry->report);
    if (r < 0) {
        log_error(r, "a doctor's report is not complete");
        entry->report->healthy = false;
    }
    if (--consult->n_open == 0) consult->done(consult, consult->data);
}

static int add_entry(Consult *consult, Scheduler *scheduler, Pool *pool) {
    struct ConsultEntry *entry = &consult->entries[consult->n_reports];
    *entry = (struct ConsultEntry){consult, NULL, &consult->reports[consult->n_reports]};
    consult->n_reports++;
    if (health_refuses(&pool->health)) return describe(pool, entry->report);
    int r = doctor_start(scheduler, pool);
    if (r == 0 && pool->doctor) r = doctor_await(pool, on_tested, entry);
    if (r < 0) return error_fold(r);
    if (!pool->doctor) return describe(pool, entry->report);
    entry->pool = pool;
    consult->n_open++;
    return 0;
}

static size_t count_pools(const Scheduler *scheduler) {
    size_t n = 0;
    list_each(link, &scheduler->pools) n++;
    return n;
}

int consult_start(Scheduler *scheduler, const char *profile, uint64_t request_id, List *consults,
                  Consulted done, void *data) {
    Consult *consult = calloc(1, sizeof *consult);
    if (!consult) return error_origin(-ENOMEM);
    const size_t n_pools = count_pools(scheduler);
    *consult = (Consult){.request_id = request_id, .done = done, .data = data};
    list_append(consults, &consult->link);
    consult->entries = calloc(n_pools + 1, sizeof *consult->entries);
    consult->reports = calloc(n_pools + 1, sizeof *consult->reports);
    int r = consult->entries && consult->reports ? 0 : error_origin(-ENOMEM);
    if (r < 0) consult->n_reports = 0;
    list_each(link, &scheduler->pools) {
        Pool *pool = list_entry(link, Pool, link);
        if (r == 0 && (!profile || strcmp(pool->profile->name, profile) == 0))
            r = add_entry(consult, scheduler, pool);
    }
    if (r < 0) {
        consult_free(consult);
        return error_fold(r);
    }
    if (consult->n_open == 0) consult->done(consult, consult->data);
    return 0;
}
