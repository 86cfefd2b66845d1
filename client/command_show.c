/* Command show: tells all that the daemon knows of jobs, finished or not. */
#include "commands.h"

#include <stdio.h>

#include "ask.h"
#include "base/cleanup.h"
#include "render_json.h"
#include "render_text.h"

static const Option options[] = {
    {NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

static int show(Link *link, const Common *common, uint64_t deadline_ms, char *job_id) {
    Tb__Get get = TB__GET__INIT;
    get.job_id = job_id;
    Tb__Envelope request = TB__ENVELOPE__INIT;
    request.body_case = TB__ENVELOPE__BODY_GET;
    request.get = &get;
    CLEANUP(link_message_freep) Tb__Envelope *reply = NULL;
    const int r = ask(link, common, deadline_ms, &request, TB__ENVELOPE__BODY_JOB, &reply);
    if (r) return r;
    if (common->json) return render_json_line(stdout, NULL, &reply->job->base);
    render_job(stdout, render_style_for(stdout, true), reply->job);
    return 0;
}

/* A job that cannot be shown does not keep the others from being shown. */
static int run(const Invocation *invocation) {
    const Common *common = &invocation->common;
    const uint64_t deadline_ms = ask_deadline_ms(common);
    CLEANUP(link_closep) Link *link = NULL;
    int r = ask_open(common, deadline_ms, &link);
    if (r) return r;
    ExitStatus status = EXIT_STATUS_PASSED;
    for (size_t i = 0; i < invocation->operands->n_items; i++) {
        r = show(link, common, deadline_ms, invocation->operands->items[i]);
        if (r < 0) return r;
        status = exit_status_worse(status, (ExitStatus)r);
        if (status == EXIT_STATUS_INTERRUPTED) break;
    }
    return status;
}

const Command command_show = {
    .name = "show",
    .operands = "JOB...",
    .summary = "show all that is known of jobs",
    .notes = "The exit status does not depend on the jobs' verdicts.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .wait_ms = 30000,
    .run = run,
};
