#include "verdicts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ask.h"
#include "base/cleanup.h"
#include "complain.h"
#include "printable.h"
#include "render_json.h"
#include "render_text.h"

typedef struct Verdicts {
    RenderStyle style;
    bool json;
    bool detach;
    int error; /* the first -errno of a report */
    ExitStatus status;
} Verdicts;

static int write_accepted(const Verdicts *verdicts, const BatchJob *job) {
    if (verdicts->json)
        return render_json_write(stdout,
                                 json_pack("{s:o, s:s, s:b}", "file",
                                           render_json_bytes(job->name, strlen(job->name)),
                                           "job_id", job->job_id, "known", (int)job->known));
    printable_text(stdout, job->job_id); /* alone, for $(...) */
    fputc('\n', stdout);
    return 0;
}

/* Of detached jobs only ids go to standard output. */
static int write_verdict(const Verdicts *verdicts, const BatchJob *job) {
    if (verdicts->json) return render_json_line(stdout, job->name, &job->verdict->base);
    render_verdict(verdicts->detach ? stderr : stdout, verdicts->style, job->name, job->verdict);
    return 0;
}

static void report(const BatchJob *job, void *context) {
    Verdicts *verdicts = context;
    int r;
    if (job->verdict) {
        r = write_verdict(verdicts, job);
        verdicts->status = exit_status_worse(verdicts->status,
                                             exit_status_of_kind(job->verdict->kind));
    } else {
        r = write_accepted(verdicts, job);
    }
    if (r < 0 && verdicts->error == 0) verdicts->error = r;
    fflush(stdout);
}

int verdicts_run(const Common *common, bool show_output, bool detach, BatchJob *jobs,
                 size_t n_jobs) {
    Verdicts verdicts = {
        .style = render_style_for(stdout, show_output),
        .json = common->json,
        .detach = detach,
    };
    const BatchOptions options = {
        .deadline_ms = ask_deadline_ms(common),
        .wait_ms = common->wait_ms,
        .detach = detach,
        .report = report,
        .context = &verdicts,
    };
    CLEANUP(link_closep) Link *link = NULL;
    int r = ask_open(common, options.deadline_ms, &link);
    if (r) return r;
    r = batch_run(link, &options, jobs, n_jobs);
    if (r == TROUBLE_E_INTERRUPTED) {
        batch_tell_unfinished(jobs, n_jobs);
        return complain_step(r, NULL, common->wait_ms);
    }
    if (r < 0 || verdicts.error < 0) return r < 0 ? r : verdicts.error;
    return verdicts.status;
}
