/* Command cancel: ends jobs that nobody wants any more; what is finished stays as it is. */
#include "commands.h"

#include <stdio.h>

#include "ask.h"
#include "base/cleanup.h"
#include "render_json.h"
#include "render_text.h"

static const Option options[] = {
    {NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

static int cancel(Link *link, const Common *common, uint64_t deadline_ms, char *job_id) {
    Tb__Cancel body = TB__CANCEL__INIT;
    body.job_id = job_id;
    Tb__Envelope request = TB__ENVELOPE__INIT;
    request.body_case = TB__ENVELOPE__BODY_CANCEL;
    request.cancel = &body;
    CLEANUP(link_message_freep) Tb__Envelope *reply = NULL;
    const int r = ask(link, common, deadline_ms, &request, TB__ENVELOPE__BODY_JOB, &reply);
    if (r) return r;
    if (common->json) return render_json_line(stdout, NULL, &reply->job->base);
    render_job(stdout, render_style_for(stdout, false), reply->job);
    return 0;
}

static int run(const Invocation *invocation) {
    const Common *common = &invocation->common;
    const uint64_t deadline_ms = ask_deadline_ms(common);
    CLEANUP(link_closep) Link *link = NULL;
    int r = ask_open(common, deadline_ms, &link);
    if (r) return r;
    ExitStatus status = EXIT_STATUS_PASSED;
    for (size_t i = 0; i < invocation->operands->n_items; i++) {
        r = cancel(link, common, deadline_ms, invocation->operands->items[i]);
        if (r < 0) return r;
        status = exit_status_worse(status, (ExitStatus)r);
        if (status == EXIT_STATUS_INTERRUPTED) break;
    }
    return status;
}

const Command command_cancel = {
    .name = "cancel",
    .operands = "JOB...",
    .summary = "end jobs without a verdict on their code",
    .notes = "Prints each job as it is afterwards; one that had finished keeps its verdict. The exit\n"
             "status does not depend on verdicts.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .wait_ms = 30000,
    .run = run,
};
