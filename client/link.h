/* Link: the client's conversation with a daemon: frames over a transport, after the exchange of
 * Hello. Sends while it receives, so that neither side can block the other. Knows no command and
 * never tries again by itself. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tbsandbox.pb-c.h"
#include "trouble.h"

typedef struct Link Link;

/* Connects to `address` and exchanges Hello; deadlines are of the monotonic clock.
 * 0, TROUBLE_E_TOLD, TROUBLE_E_TIMEOUT, TROUBLE_E_INTERRUPTED, or -errno. */
int link_open(const char *address, uint64_t deadline_ms, Trouble *trouble, Link **ret_link);
/* Takes NULL, returns NULL. */
Link *link_close(Link *link);

/* Gives the request the next id and queues it; whatever the daemon takes at once is sent.
 * 0, TROUBLE_E_TOLD (larger than the daemon takes; nothing was sent), or -errno. */
int link_send(Link *link, Tb__Envelope *request, Trouble *trouble, uint64_t *ret_request_id);
/* True while something queued is not sent; link_receive sends on. */
bool link_is_sending(const Link *link);

/* The next message, whatever request it answers; the caller frees it with link_message_free. A
 * message about the connection itself is given as TROUBLE_E_TOLD, and so is its loss.
 * 0, TROUBLE_E_TOLD, TROUBLE_E_TIMEOUT, TROUBLE_E_INTERRUPTED, or -errno. */
int link_receive(Link *link, uint64_t deadline_ms, Trouble *trouble, Tb__Envelope **ret_envelope);
/* Takes NULL, returns NULL. */
Tb__Envelope *link_message_free(Tb__Envelope *envelope);

/* Says in `trouble` what the daemon refused. */
void link_explain_error(const Tb__Error *error, Trouble *trouble);

static inline void link_closep(Link **link) {
    link_close(*link);
}

static inline void link_message_freep(Tb__Envelope **envelope) {
    link_message_free(*envelope);
}
