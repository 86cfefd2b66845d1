/* Channel: codec of the private protocol with one warden: turns what the broker knows into frames
 * and frames into plain data. Trusts a warden's bytes only within their bounds: texts are made
 * well-formed again here. Never reads or writes a descriptor. */
#pragma once

#include "broker/job.h"
#include "broker/marker.h"
#include "broker/survey.h"
#include "config/config.h"
#include "platform/child_env.h"
#include "verdict/facts.h"

enum { CHANNEL_NONCE_BYTES = 16 };

/* Documented result of channel_decode. */
enum { CHANNEL_E_MALFORMED = 1 };

typedef enum ChannelKind {
    CHANNEL_READY,
    CHANNEL_INVALID,
    CHANNEL_SURVEY,
    CHANNEL_RECEIVED,
    CHANNEL_RESULT,
} ChannelKind;

/* Owns its texts and facts. Which fields are set depends on the kind. */
typedef struct ChannelMessage {
    ChannelKind kind;
    char *version; /* READY */
    bool hash_randomized;
    uint64_t hash_sample;
    TextList enforced;
    Code code; /* INVALID */
    char *detail;
    char *stderr_excerpt;
    bool dispatched;
    Facts *facts;  /* RESULT */
    Survey survey; /* SURVEY */
} ChannelMessage;

typedef struct ChannelFrame {
    uint8_t *bytes;
    size_t n_bytes;
} ChannelFrame;

/* All that a warden is told of its environment. Borrowed. */
typedef struct ChannelSetup {
    const char *environment_id;
    const char *directory;
    const Profile *profile;
    const ChildEnv *environment;
    uint64_t keep_bytes;
    const TextList *layers; /* each must be in force */
    const RootPlan *root;
    const TextList *hidden; /* paths that must not be seen from inside */
    uint32_t uid;
    const char *cgroup; /* path of its control group, or NULL */
    bool survey;
} ChannelSetup;

/* Frames are the caller's to free. 0 or -errno. */
int channel_encode_setup(const ChannelSetup *from, ChannelFrame *ret_frame);
int channel_encode_job(const Job *job, const Limits *limits, const MarkerKey *key,
                       ChannelFrame *ret_frame);

/* Decodes one payload; the caller calls channel_message_deinit. 0, CHANNEL_E_MALFORMED or -ENOMEM.
 */
int channel_decode(const uint8_t *payload, size_t payload_bytes, ChannelMessage *ret_message);
void channel_message_deinit(ChannelMessage *message);
