/* Ask: one request and its one reply, for commands that want to know or to tell something. Says on
 * standard error what went wrong; never asks twice. */
#pragma once

#include "command.h"
#include "link.h"

/* When `common`'s patience ends, from now. */
uint64_t ask_deadline_ms(const Common *common);

/* Connects to the daemon that `common` names. 0, an ExitStatus (reported), or -errno. */
int ask_open(const Common *common, uint64_t deadline_ms, Link **ret_link);
/* Sends the request and gives its reply, whose body is `expected`. The caller frees it with
 * link_message_free. 0, an ExitStatus (reported), or -errno. */
int ask(Link *link, const Common *common, uint64_t deadline_ms, Tb__Envelope *request,
        Tb__Envelope__BodyCase expected, Tb__Envelope **ret_reply);
/* Both at once, for a command with one question. */
int ask_once(const Common *common, Tb__Envelope *request, Tb__Envelope__BodyCase expected,
             Tb__Envelope **ret_reply);
