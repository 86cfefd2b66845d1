/* Validate: whether an interpreter is fit for a job: what it says of itself and what the kernel
 * says of it against what was ordered. Names the first thing that is wrong. */
#pragma once

#include "platform/child.h"
#include "platform/workdir.h"
#include "warden/harness.h"
#include "warden/invalid.h"
#include "warden/order.h"

/* Every layer that was ordered is in force. 0, INVALID_E_REPORTED, or -ENOMEM. */
int validate_layers(const Setup *setup, const ChildView *view, InvalidReport *ret_invalid);
/* All else. 0, INVALID_E_REPORTED, or -errno. */
int validate_ready(const Setup *setup, const Workdir *workdir, const ChildView *view,
                   const HarnessReady *ready, InvalidReport *ret_invalid);
