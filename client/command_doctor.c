/* Command doctor: has the daemon examine its profiles and tells what is wrong with them. */
#include "commands.h"

#include <stdio.h>

#include "ask.h"
#include "base/cleanup.h"
#include "render_json.h"
#include "render_text.h"

static const Option options[] = {
    {NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

/* A report about nothing says nothing good. */
static bool is_healthy(const Tb__DoctorReport *report) {
    bool healthy = report->healthy && report->n_profiles > 0;
    for (size_t i = 0; i < report->n_profiles; i++)
        healthy = healthy && report->profiles[i]->healthy;
    return healthy;
}

static int run(const Invocation *invocation) {
    const Common *common = &invocation->common;
    Tb__Doctor doctor = TB__DOCTOR__INIT;
    if (invocation->operands->n_items) doctor.profile = invocation->operands->items[0];
    Tb__Envelope request = TB__ENVELOPE__INIT;
    request.body_case = TB__ENVELOPE__BODY_DOCTOR;
    request.doctor = &doctor;
    CLEANUP(link_message_freep) Tb__Envelope *reply = NULL;
    int r = ask_once(common, &request, TB__ENVELOPE__BODY_DOCTOR_REPORT, &reply);
    if (r) return r;
    const Tb__DoctorReport *report = reply->doctor_report;
    if (common->json)
        r = render_json_line(stdout, NULL, &report->base);
    else
        render_doctor(stdout, render_style_for(stdout, false), report);
    if (r < 0) return r;
    return is_healthy(report) ? EXIT_STATUS_PASSED : EXIT_STATUS_INFRASTRUCTURE;
}

const Command command_doctor = {
    .name = "doctor",
    .operands = "[PROFILE]",
    .summary = "examine the profiles, or one of them",
    .notes = "The exit status is 0 when every profile that was examined is healthy, otherwise 2.\n",
    .options = options,
    .max_operands = 1,
    .wait_ms = 120000,
    .run = run,
};
