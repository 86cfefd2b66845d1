/* Inputs: whether each input file is still what was staged. */
#pragma once

#include <stdbool.h>

#include "platform/workdir.h"
#include "verdict/facts.h"
#include "warden/order.h"

/* Compares each input of the order with what lies in its place; appends a finding for each that is
 * not the same, and sets unchanged[i] for each that is. 0 or -errno. */
int inputs_check(const Order *order, const Workdir *workdir, bool *unchanged,
                 FailureList *findings);
