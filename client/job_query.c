#include "job_query.h"

#include <stdio.h>

#include "ask.h"
#include "base/cleanup.h"
#include "render_json.h"
#include "render_text.h"

static int query_one(Link *link, const Common *common, uint64_t deadline_ms, JobQuery query,
                     char *job_id) {
    Tb__Get get = TB__GET__INIT;
    Tb__Cancel cancel = TB__CANCEL__INIT;
    Tb__Envelope request = TB__ENVELOPE__INIT;
    if (query == JOB_QUERY_GET) {
        get.job_id = job_id;
        request.body_case = TB__ENVELOPE__BODY_GET;
        request.get = &get;
    } else {
        cancel.job_id = job_id;
        request.body_case = TB__ENVELOPE__BODY_CANCEL;
        request.cancel = &cancel;
    }
    CLEANUP(link_message_freep) Tb__Envelope *reply = NULL;
    const int r = ask(link, common, deadline_ms, &request, TB__ENVELOPE__BODY_JOB, &reply);
    if (r) return r;
    if (common->json) return render_json_line(stdout, NULL, &reply->job->base);
    render_job(stdout, render_style_for(stdout, query == JOB_QUERY_GET), reply->job);
    return 0;
}

/* A job that cannot be shown does not keep the others from being shown. */
int job_query_run(const Invocation *invocation, JobQuery query) {
    const Common *common = &invocation->common;
    const uint64_t deadline_ms = ask_deadline_ms(common);
    CLEANUP(link_closep) Link *link = NULL;
    int r = ask_open(common, deadline_ms, &link);
    if (r) return r;
    ExitStatus status = EXIT_STATUS_PASSED;
    for (size_t i = 0; i < invocation->operands->n_items; i++) {
        r = query_one(link, common, deadline_ms, query, invocation->operands->items[i]);
        if (r < 0) return r;
        status = exit_status_worse(status, (ExitStatus)r);
        if (status == EXIT_STATUS_INTERRUPTED) break;
    }
    return status;
}
