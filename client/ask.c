#include "ask.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "complain.h"
#include "transport.h"

/* A daemon that is alive greets at once. */
enum { GREETING_MS = 10000 };

uint64_t ask_deadline_ms(const Common *common) {
    return clock_mono_ms() + common->wait_ms;
}

int ask_open(const Common *common, uint64_t deadline_ms, Link **ret_link) {
    CLEANUP(freep) char *fallback = NULL;
    if (!common->socket) {
        const int r = transport_default_address(&fallback);
        if (r < 0) return error_fold(r);
    }
    Trouble trouble;
    const int r = link_open(common->socket ? common->socket : fallback, deadline_ms, &trouble,
                            ret_link);
    return r ? (int)complain_step(r, &trouble, common->wait_ms) : 0;
}

/* Messages that answer something else are passed over. */
static int await_reply(Link *link, uint64_t request_id, uint64_t deadline_ms, Trouble *trouble,
                       Tb__Envelope **ret_reply) {
    while (clock_mono_ms() < deadline_ms) {
        CLEANUP(link_message_freep) Tb__Envelope *envelope = NULL;
        const int r = link_receive(link, deadline_ms, trouble, &envelope);
        if (r) return r;
        if (envelope->request_id != request_id) continue;
        if (envelope->body_case == TB__ENVELOPE__BODY_ERROR) {
            link_explain_error(envelope->error, trouble);
            return TROUBLE_E_TOLD;
        }
        *ret_reply = TAKE(envelope);
        return 0;
    }
    return TROUBLE_E_TIMEOUT;
}

static int exchange(Link *link, uint64_t deadline_ms, Tb__Envelope *request,
                    Tb__Envelope__BodyCase expected, Trouble *trouble, Tb__Envelope **ret_reply) {
    uint64_t request_id = 0;
    CLEANUP(link_message_freep) Tb__Envelope *reply = NULL;
    int r = link_send(link, request, trouble, &request_id);
    if (r == 0) r = await_reply(link, request_id, deadline_ms, trouble, &reply);
    if (r) return r;
    if (reply->body_case != expected)
        return trouble_set(trouble, "tbsandboxd answers with another message than was asked for");
    *ret_reply = TAKE(reply);
    return 0;
}

int ask(Link *link, const Common *common, uint64_t deadline_ms, Tb__Envelope *request,
        Tb__Envelope__BodyCase expected, Tb__Envelope **ret_reply) {
    Trouble trouble;
    const int r = exchange(link, deadline_ms, request, expected, &trouble, ret_reply);
    return r ? (int)complain_step(r, &trouble, common->wait_ms) : 0;
}

int ask_once(const Common *common, Tb__Envelope *request, Tb__Envelope__BodyCase expected,
             Tb__Envelope **ret_reply) {
    CLEANUP(link_closep) Link *link = NULL;
    const uint64_t deadline_ms = ask_deadline_ms(common);
    const int r = ask_open(common, deadline_ms, &link);
    return r ? r : ask(link, common, deadline_ms, request, expected, ret_reply);
}
