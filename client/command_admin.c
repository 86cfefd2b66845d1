/* Commands drain, resume, reload: what an administrator tells the daemon. */
#include "commands.h"

#include <stdio.h>

#include "ask.h"
#include "base/cleanup.h"
#include "printable.h"
#include "render_json.h"

static const Option options[] = {
    {NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

static int tell(const Common *common, Tb__Envelope *request) {
    CLEANUP(link_message_freep) Tb__Envelope *reply = NULL;
    const int r = ask_once(common, request, TB__ENVELOPE__BODY_DONE, &reply);
    if (r) return r;
    if (common->json) return render_json_line(stdout, NULL, &reply->done->base);
    printable_text(stdout, reply->done->message[0] ? reply->done->message : "done");
    fputc('\n', stdout);
    return EXIT_STATUS_PASSED;
}

static int run_drain(const Invocation *invocation) {
    Tb__Drain body = TB__DRAIN__INIT;
    Tb__Envelope request = TB__ENVELOPE__INIT;
    request.body_case = TB__ENVELOPE__BODY_DRAIN;
    request.drain = &body;
    return tell(&invocation->common, &request);
}

static int run_resume(const Invocation *invocation) {
    Tb__Resume body = TB__RESUME__INIT;
    Tb__Envelope request = TB__ENVELOPE__INIT;
    request.body_case = TB__ENVELOPE__BODY_RESUME;
    request.resume = &body;
    return tell(&invocation->common, &request);
}

static int run_reload(const Invocation *invocation) {
    Tb__Reload body = TB__RELOAD__INIT;
    Tb__Envelope request = TB__ENVELOPE__INIT;
    request.body_case = TB__ENVELOPE__BODY_RELOAD;
    request.reload = &body;
    return tell(&invocation->common, &request);
}

const Command command_drain = {
    .name = "drain",
    .operands = "",
    .summary = "finish what was accepted, accept nothing more (administrators)",
    .options = options,
    .wait_ms = 30000,
    .run = run_drain,
};

const Command command_resume = {
    .name = "resume",
    .operands = "",
    .summary = "accept jobs again (administrators)",
    .options = options,
    .wait_ms = 30000,
    .run = run_resume,
};

const Command command_reload = {
    .name = "reload",
    .operands = "",
    .summary = "read the config file again (administrators)",
    .options = options,
    .wait_ms = 30000,
    .run = run_reload,
};
