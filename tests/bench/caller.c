#include "caller.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "client/host.h"
#include "client/link.h"
#include "client/submission.h"

enum { PATIENCE_MS = 120000, POLL_MS = 4 };

struct Caller {
    Link *link;
};

static uint64_t deadline_ms(void) {
    return clock_mono_ms() + PATIENCE_MS;
}

/* Every other result becomes words, too. */
static int tell(int r, Trouble *trouble) {
    if (r == 0 || r == TROUBLE_E_TOLD) return r;
    if (r == TROUBLE_E_TIMEOUT)
        trouble_set(trouble, "no answer within %d s", PATIENCE_MS / (int)MS_PER_S);
    else
        trouble_set(trouble, "%s", r == TROUBLE_E_INTERRUPTED ? "interrupted" : strerror(-r));
    return TROUBLE_E_TOLD;
}

int caller_open(const char *socket, Trouble *trouble, Caller **ret_caller) {
    CLEANUP(caller_closep) Caller *caller = calloc(1, sizeof *caller);
    if (!caller) return tell(-ENOMEM, trouble);
    const int r = link_open(socket, deadline_ms(), trouble, &caller->link);
    if (r == 0) *ret_caller = TAKE(caller);
    return tell(r, trouble);
}

Caller *caller_close(Caller *caller) {
    if (!caller) return NULL;
    link_close(caller->link);
    free(caller);
    return NULL;
}

/* The next message that is `wanted`; job events and acceptances on the way are passed over. */
static int await(Caller *caller, Tb__Envelope__BodyCase wanted, Trouble *trouble,
                 Tb__Envelope **ret_reply) {
    const uint64_t until_ms = deadline_ms();
    for (;;) {
        CLEANUP(link_message_freep) Tb__Envelope *reply = NULL;
        const int r = link_receive(caller->link, until_ms, trouble, &reply);
        if (r != 0) return tell(r, trouble);
        if (reply->body_case == TB__ENVELOPE__BODY_ERROR) {
            link_explain_error(reply->error, trouble);
            return TROUBLE_E_TOLD;
        }
        if (reply->body_case != wanted) continue;
        *ret_reply = TAKE(reply);
        return 0;
    }
}

static int send_submit(Caller *caller, Tb__Submit *submit, bool follow, Arena *arena,
                       Trouble *trouble, uint64_t *ret_sent_ns) {
    uint64_t request_id;
    int r = submission_set_key(submit, arena);
    if (r != 0) return tell(r, trouble);
    submit->follow = follow;
    Tb__Envelope request = TB__ENVELOPE__INIT;
    request.body_case = TB__ENVELOPE__BODY_SUBMIT;
    request.submit = submit;
    *ret_sent_ns = clock_mono_ns();
    r = link_send(caller->link, &request, trouble, &request_id);
    submit->idempotency_key = NULL; /* the arena's, which ends with this submission */
    return tell(r, trouble);
}

static int check(const Tb__Verdict *verdict, Tb__VerdictKind expected, Trouble *trouble) {
    if (verdict->kind == expected) return 0;
    return trouble_set(trouble, "a job of profile %s got another verdict than it must: %s",
                       verdict->profile,
                       verdict->n_failures > 0 ? verdict->failures[0]->message : "passed");
}

int caller_run(Caller *caller, Tb__Submit *submit, Tb__VerdictKind expected, Trouble *trouble,
               uint64_t *ret_latency_ns) {
    CLEANUP(arena_deinit) Arena arena = {0};
    CLEANUP(link_message_freep) Tb__Envelope *reply = NULL;
    uint64_t sent_ns = 0;
    int r = send_submit(caller, submit, true, &arena, trouble, &sent_ns);
    if (r == 0) r = await(caller, TB__ENVELOPE__BODY_VERDICT, trouble, &reply);
    if (r != 0) return r;
    const uint64_t latency_ns = clock_mono_ns() - sent_ns;
    r = check(reply->verdict, expected, trouble);
    if (r == 0) *ret_latency_ns = latency_ns;
    return r;
}

int caller_post(Caller *caller, Tb__Submit *submit, Trouble *trouble) {
    CLEANUP(arena_deinit) Arena arena = {0};
    CLEANUP(link_message_freep) Tb__Envelope *reply = NULL;
    uint64_t sent_ns = 0;
    const int r = send_submit(caller, submit, false, &arena, trouble, &sent_ns);
    return r == 0 ? await(caller, TB__ENVELOPE__BODY_ACCEPTED, trouble, &reply) : r;
}

static int sum_up(const Tb__Status *status, Trouble *trouble, CallerStatus *sum) {
    sum->min_ready = UINT32_MAX;
    sum->infrastructure_total = status->infrastructure_total;
    for (size_t i = 0; i < status->n_profiles; i++) {
        const Tb__ProfileStatus *profile = status->profiles[i];
        if (strcmp(profile->health, "unhealthy") == 0)
            return trouble_set(trouble, "profile %s does not serve: %s", profile->name,
                               profile->diagnosis);
        if (profile->ready < sum->min_ready) sum->min_ready = profile->ready;
        if (strcmp(profile->health, "serving") != 0) sum->min_ready = 0;
        sum->starting += profile->starting;
        sum->busy += profile->busy;
        sum->queued += profile->queued;
    }
    return 0;
}

int caller_status(Caller *caller, Trouble *trouble, CallerStatus *ret_status) {
    CLEANUP(link_message_freep) Tb__Envelope *reply = NULL;
    Tb__GetStatus body = TB__GET_STATUS__INIT;
    Tb__Envelope request = TB__ENVELOPE__INIT;
    uint64_t request_id;
    request.body_case = TB__ENVELOPE__BODY_GET_STATUS;
    request.get_status = &body;
    const uint64_t sent_ns = clock_mono_ns();
    int r = tell(link_send(caller->link, &request, trouble, &request_id), trouble);
    if (r == 0) r = await(caller, TB__ENVELOPE__BODY_STATUS, trouble, &reply);
    if (r != 0) return r;
    CallerStatus status = {.latency_ns = clock_mono_ns() - sent_ns};
    r = sum_up(reply->status, trouble, &status);
    if (r == 0) *ret_status = status;
    return r;
}

int caller_settle(Caller *caller, uint32_t n_ready, Trouble *trouble) {
    const uint64_t until_ms = deadline_ms();
    for (;;) {
        CallerStatus status;
        int r = caller_status(caller, trouble, &status);
        if (r != 0) return r;
        if (status.min_ready >= n_ready && status.starting + status.busy + status.queued == 0)
            return 0;
        if (clock_mono_ms() >= until_ms)
            return trouble_set(trouble, "there are %u ready environments, not %u, after %d s",
                               (unsigned)status.min_ready, (unsigned)n_ready,
                               PATIENCE_MS / (int)MS_PER_S);
        r = host_sleep_ms(POLL_MS);
        if (r != 0) return tell(r, trouble);
    }
}
