/* Stage: puts a job's inputs where the interpreter will find them, and nothing else. */
#pragma once

#include "platform/workdir.h"
#include "warden/invalid.h"
#include "warden/order.h"

/* Writes every input into work/, each a new file. 0, INVALID_E_REPORTED, or -ENOMEM. */
int stage_inputs(const Order *order, const Workdir *workdir, InvalidReport *ret_invalid);
