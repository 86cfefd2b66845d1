/* Command status: how the daemon is, once or again and again. */
#include "commands.h"

#include <stdio.h>

#include "ask.h"
#include "base/cleanup.h"
#include "complain.h"
#include "host.h"
#include "render_json.h"
#include "render_text.h"

typedef struct Settings {
    uint64_t watch_ms; /* 0: once */
} Settings;

static const Option options[] = {
    {"watch", OPTION_SECONDS, offsetof(Settings, watch_ms), "S",
     "again every S seconds (2) until Ctrl-C", 100, 86400000, "2"},
    {NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

static const char clear_screen[] = "\x1b[H\x1b[2J";

static int show(Link *link, const Common *common, bool redraw) {
    Tb__GetStatus body = TB__GET_STATUS__INIT;
    Tb__Envelope request = TB__ENVELOPE__INIT;
    request.body_case = TB__ENVELOPE__BODY_GET_STATUS;
    request.get_status = &body;
    CLEANUP(link_message_freep) Tb__Envelope *reply = NULL;
    int r = ask(link, common, ask_deadline_ms(common), &request, TB__ENVELOPE__BODY_STATUS, &reply);
    if (r) return r;
    if (redraw) fputs(clear_screen, stdout);
    if (common->json)
        r = render_json_line(stdout, NULL, &reply->status->base);
    else
        render_status(stdout, render_style_for(stdout, false), reply->status);
    fflush(stdout);
    return r;
}

/* Ends with the reader too: a watch that nobody can see is no use. */
static int watch(Link *link, const Common *common, uint64_t every_ms) {
    const bool redraw = host_is_terminal(stdout) && !common->json;
    while (!ferror(stdout)) {
        int r = show(link, common, redraw);
        if (r == 0) r = host_sleep_ms(every_ms);
        if (r == TROUBLE_E_INTERRUPTED) return complain_step(r, NULL, common->wait_ms);
        if (r) return r;
    }
    return EXIT_STATUS_PASSED;
}

static int run(const Invocation *invocation) {
    const Settings *settings = invocation->settings;
    const Common *common = &invocation->common;
    CLEANUP(link_closep) Link *link = NULL;
    const int r = ask_open(common, ask_deadline_ms(common), &link);
    if (r) return r;
    if (settings->watch_ms) return watch(link, common, settings->watch_ms);
    return show(link, common, false);
}

const Command command_status = {
    .name = "status",
    .operands = "",
    .summary = "tell how the daemon and its profiles are",
    .options = options,
    .settings_bytes = sizeof(Settings),
    .max_operands = 0,
    .wait_ms = 30000,
    .run = run,
};
