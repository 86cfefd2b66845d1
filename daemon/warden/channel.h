/* Warden channel: frames from and to the broker as plain data; the only user of the private
 * protocol's messages. The broker is trusted, yet what it sends is checked once, here, so that the
 * rest may rely on it. Never acts on a message. */
#pragma once

#include <stdbool.h>

#include "verdict/facts.h"
#include "warden/invalid.h"
#include "warden/order.h"

typedef struct WardenChannel WardenChannel;

/* Documented results. */
enum {
    WARDEN_CHANNEL_E_MORE = 1,      /* the frame is not complete yet */
    WARDEN_CHANNEL_E_CLOSED = 2,    /* the broker is gone, or takes nothing any more */
    WARDEN_CHANNEL_E_MALFORMED = 3, /* not what the protocol allows here */
};

/* Set when the environment is fit. */
typedef struct ReadyReport {
    char *version;
    bool hash_randomized;
    uint64_t hash_sample;
    TextList enforced;
    uint64_t spawned_us; /* since the warden's start */
} ReadyReport;

void ready_report_deinit(ReadyReport *report);

/* What a survey found: what an interpreter needs, and which layers cannot be had here. */
typedef struct SurveyReport {
    RootPlan plan;
    TextList missing; /* names of layers ... */
    TextList reasons; /* ... and as many reasons */
} SurveyReport;

void survey_report_deinit(SurveyReport *report);

/* Takes over fd, a connected stream socket, which becomes non-blocking. 0 or -errno; fd is closed
 * then. */
int warden_channel_new(int fd, WardenChannel **ret_channel);
/* Takes NULL, returns NULL. */
WardenChannel *warden_channel_free(WardenChannel *channel);
/* For waiting; stays the channel's. */
int warden_channel_fd(const WardenChannel *channel);

/* Waits for the first message, the set-up, however long that takes. The caller calls setup_deinit.
 * 0, E_CLOSED, E_MALFORMED, or -errno. */
int warden_channel_wait_setup(WardenChannel *channel, Setup *ret_setup);
/* Takes what has come of the job, without waiting. The caller calls order_deinit. 0, E_MORE,
 * E_CLOSED, E_MALFORMED, or -errno. */
int warden_channel_read_order(WardenChannel *channel, Order *ret_order);

/* Decodes one payload, as the two above do. 0, E_MALFORMED, or -errno. */
int warden_channel_decode_setup(const uint8_t *payload, size_t payload_bytes, Setup *ret_setup);
int warden_channel_decode_order(const uint8_t *payload, size_t payload_bytes, Order *ret_order);

/* Each sends one whole message, waiting for a busy broker within a bound. 0, E_CLOSED, or -errno.
 */
int warden_channel_send_ready(WardenChannel *channel, const ReadyReport *report);
int warden_channel_send_survey(WardenChannel *channel, const SurveyReport *report);
int warden_channel_send_invalid(WardenChannel *channel, const InvalidReport *report);
int warden_channel_send_received(WardenChannel *channel);
int warden_channel_send_result(WardenChannel *channel, const Facts *facts);

static inline void warden_channel_freep(WardenChannel **channel) {
    warden_channel_free(*channel);
}
