#include "render_text.h"

#include <inttypes.h>
#include <string.h>

#include "expect.h"
#include "printable.h"
#include "time_text.h"

static const char *state_name(Tb__JobState state) {
    switch (state) {
    case TB__JOB_STATE__QUEUED:
        return "queued";
    case TB__JOB_STATE__RUNNING:
        return "running";
    case TB__JOB_STATE__FINISHED:
        return "finished";
    default:
        return "unknown";
    }
}

/* ---- jobs ---- */

static void write_labels(FILE *stream, const char *separator, Tb__Label *const *labels,
                         size_t n_labels) {
    for (size_t i = 0; i < n_labels; i++) {
        fputs(separator, stream);
        printable_text(stream, labels[i]->key);
        fputc('=', stream);
        printable_text(stream, labels[i]->value);
    }
}

void render_job(FILE *stream, RenderStyle style, const Tb__Job *job) {
    char time[TIME_TEXT_BYTES];
    if (job->verdict) {
        render_verdict(stream, style, job->file_name, job->verdict);
    } else {
        printable_text(stream, job->file_name);
        fprintf(stream, ": %s\n", state_name(job->state));
        render_field(stream, "job", job->job_id);
    }
    render_field(stream, "profile", job->profile);
    if (job->n_labels) fputs("  labels:", stream);
    write_labels(stream, " ", job->labels, job->n_labels);
    if (job->n_labels) fputc('\n', stream);
    time_text_format(job->submitted_ms, time);
    fprintf(stream, "  submitted: %s by ", time);
    printable_text(stream, job->peer);
    fputc('\n', stream);
    if (!job->finished_ms) return;
    time_text_format(job->finished_ms, time);
    fprintf(stream, "  finished: %s\n", time);
}

static void write_job_row(FILE *stream, RenderStyle style, const Tb__Job *job) {
    char time[TIME_TEXT_BYTES];
    const char *kind = job->verdict ? expect_kind_name(job->verdict->kind) : "-";
    time_text_format(job->submitted_ms, time);
    printable_text(stream, job->job_id);
    fprintf(stream, "  %-8s  ", state_name(job->state));
    if (job->verdict)
        render_colored(stream, style, job->verdict->kind, kind);
    else
        fputs(kind, stream);
    fprintf(stream, "%*s  %s  ", (int)(sizeof "infrastructure_failure" - 1 - strlen(kind)), "",
            time);
    printable_text(stream, job->profile);
    fputs("  ", stream);
    printable_text(stream, job->file_name);
    write_labels(stream, "  ", job->labels, job->n_labels);
    fputc('\n', stream);
}

void render_jobs(FILE *stream, RenderStyle style, const Tb__JobList *jobs) {
    if (jobs->n_jobs == 0) return;
    fprintf(stream, "%-18s  %-8s  %-22s  %-20s  %s\n", "JOB", "STATE", "VERDICT", "SUBMITTED",
            "PROFILE  FILE  LABELS");
    for (size_t i = 0; i < jobs->n_jobs; i++) write_job_row(stream, style, jobs->jobs[i]);
}

/* ---- status ---- */

static Tb__VerdictKind color_of_health(const char *health) {
    if (strcmp(health, "serving") == 0) return TB__VERDICT_KIND__PASSED;
    if (strcmp(health, "unhealthy") == 0) return TB__VERDICT_KIND__FAILED;
    return TB__VERDICT_KIND__VERDICT_UNSPECIFIED;
}

/* A health this client does not know is shown all the same, made harmless. */
static void write_health(FILE *stream, RenderStyle style, const char *health) {
    static const char *const known[] = {"testing", "serving", "unhealthy"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], health) == 0) {
            render_colored(stream, style, color_of_health(health), known[i]);
            fprintf(stream, "%*s", 9 - (int)strlen(known[i]), "");
            return;
        }
    printable_text(stream, health);
}

static void write_profile_row(FILE *stream, RenderStyle style, const Tb__ProfileStatus *profile) {
    char wait[TIME_TEXT_BYTES];
    printable_text(stream, profile->name);
    const size_t name_bytes = strlen(profile->name);
    fprintf(stream, "%*s  ", name_bytes < 16 ? (int)(16 - name_bytes) : 0, "");
    write_health(stream, style, profile->health);
    fprintf(stream, "  %5" PRIu32 "  %4" PRIu32 "  %8" PRIu32 "  %6" PRIu32 "  %13" PRIu64 "  ",
            profile->ready, profile->busy, profile->starting, profile->queued,
            profile->fill_failures_total);
    printable_text(stream, profile->interpreter);
    fputc(' ', stream);
    printable_text(stream, profile->version);
    fputc('\n', stream);
    render_field(stream, "diagnosis", profile->diagnosis);
    for (size_t i = 0; i < profile->n_missing; i++) {
        fputs("  no layer ", stream);
        printable_text(stream, profile->missing[i]->name);
        fputs(": ", stream);
        printable_text(stream, profile->missing[i]->reason);
        fputc('\n', stream);
    }
    if (!profile->retry_in_ms) return;
    time_text_format_duration(profile->retry_in_ms, wait);
    fprintf(stream, "  next attempt in: %s\n", wait);
}

void render_status(FILE *stream, RenderStyle style, const Tb__Status *status) {
    char uptime[TIME_TEXT_BYTES];
    time_text_format_duration(status->uptime_ms, uptime);
    printable_text(stream, status->software);
    fprintf(stream, "  up %s  config %" PRIu64 "%s\n", uptime, status->config_generation,
            status->draining ? "  DRAINING" : "");
    fprintf(stream,
            "connections %" PRIu32 "  queued %" PRIu32 "/%" PRIu32 "  running %" PRIu32 "\n",
            status->connections, status->queued, status->queue_max, status->running);
    fprintf(stream,
            "accepted %" PRIu64 "  passed %" PRIu64 "  failed %" PRIu64 "  infrastructure %" PRIu64
            "  refused %" PRIu64 "\n",
            status->accepted_total, status->passed_total, status->failed_total,
            status->infrastructure_total, status->refused_total);
    fprintf(stream, "%-16s  %-9s  %5s  %4s  %8s  %6s  %13s  %s\n", "PROFILE", "HEALTH", "READY",
            "BUSY", "STARTING", "QUEUED", "FILL-FAILURES", "INTERPRETER");
    for (size_t i = 0; i < status->n_profiles; i++)
        write_profile_row(stream, style, status->profiles[i]);
}

/* ---- doctor ---- */

static void write_ok(FILE *stream, RenderStyle style, bool ok) {
    render_colored(stream, style, ok ? TB__VERDICT_KIND__PASSED : TB__VERDICT_KIND__FAILED,
                   ok ? "ok" : "NOT ok");
}

static void write_check(FILE *stream, RenderStyle style, const Tb__DoctorCheck *check) {
    fputs("  ", stream);
    write_ok(stream, style, check->ok);
    fputc(' ', stream);
    printable_text(stream, check->name);
    fputs(": ", stream);
    if (!check->ok) {
        fputs("expected ", stream);
        printable_text(stream, check->expected);
        fputs(", seen ", stream);
    }
    printable_text(stream, check->seen);
    fputc('\n', stream);
}

/* A layer that is missing keeps a profile from serving only when it is required. */
static void write_layer(FILE *stream, RenderStyle style, const char *name, const char *reason) {
    fputs("  ", stream);
    if (reason)
        fputs("--", stream);
    else
        write_ok(stream, style, true);
    fputs(" layer ", stream);
    printable_text(stream, name);
    fputs(reason ? ": missing: " : ": in force", stream);
    if (reason) printable_text(stream, reason);
    fputc('\n', stream);
}

void render_doctor(FILE *stream, RenderStyle style, const Tb__DoctorReport *report) {
    for (size_t i = 0; i < report->n_profiles; i++) {
        const Tb__ProfileReport *profile = report->profiles[i];
        printable_text(stream, profile->profile);
        fputs(": ", stream);
        write_ok(stream, style, profile->healthy);
        fputc('\n', stream);
        render_field(stream, "diagnosis", profile->diagnosis);
        render_field(stream, "interpreter", profile->interpreter);
        render_field(stream, "version", profile->version);
        for (size_t j = 0; j < profile->n_enforced; j++)
            write_layer(stream, style, profile->enforced[j], NULL);
        for (size_t j = 0; j < profile->n_missing; j++)
            write_layer(stream, style, profile->missing[j]->name, profile->missing[j]->reason);
        for (size_t j = 0; j < profile->n_checks; j++)
            write_check(stream, style, profile->checks[j]);
    }
}
