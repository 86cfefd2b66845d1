/* Reply: codec of what the daemon answers: plain data in, one frame out. Decides nothing. Every
 * function makes a frame that the caller frees: 0 or -errno. */
#pragma once

#include "broker/job.h"
#include "broker/refusal.h"
#include "broker/status.h"

typedef struct ReplyFrame {
    uint8_t *bytes;
    size_t n_bytes;
} ReplyFrame;

int reply_hello(uint64_t request_id, uint64_t max_frame_bytes, ReplyFrame *ret_frame);
int reply_refusal(uint64_t request_id, const Refusal *refusal, ReplyFrame *ret_frame);
int reply_accepted(uint64_t request_id, const Job *job, bool known, ReplyFrame *ret_frame);
int reply_event(uint64_t request_id, const Job *job, ReplyFrame *ret_frame);
/* Of a finished job. */
int reply_verdict(uint64_t request_id, const Job *job, ReplyFrame *ret_frame);
int reply_job(uint64_t request_id, const Job *job, ReplyFrame *ret_frame);
/* Without outputs. `more`: the filter's bound cut the list. */
int reply_jobs(uint64_t request_id, Job *const *jobs, size_t n_jobs, bool more,
               ReplyFrame *ret_frame);
int reply_status(uint64_t request_id, const StatusReport *status, ReplyFrame *ret_frame);
int reply_doctor(uint64_t request_id, const ProfileReport *reports, size_t n_reports,
                 ReplyFrame *ret_frame);
int reply_done(uint64_t request_id, const char *message, ReplyFrame *ret_frame);
