/* Fuzz: what a warden sends, from the frame's payload to facts and texts that are well-formed. */
#include <stdlib.h>
#include <string.h>

#include "broker/channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void expect_utf8(const char *text) {
    if (text && !text_is_utf8(text, strlen(text))) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    ChannelMessage message;
    if (channel_decode(data, n_bytes, &message) != 0) return 0;
    expect_utf8(message.detail);
    expect_utf8(message.stderr_excerpt);
    expect_utf8(message.version);
    if (message.facts) {
        expect_utf8(message.facts->excerpt);
        expect_utf8(message.facts->limit_subject);
        for (size_t i = 0; i < message.facts->findings.n_items; i++)
            expect_utf8(message.facts->findings.items[i].message);
    }
    for (size_t i = 0; i < message.survey.reasons.n_items; i++)
        expect_utf8(message.survey.reasons.items[i]);
    channel_message_deinit(&message);
    return 0;
}
