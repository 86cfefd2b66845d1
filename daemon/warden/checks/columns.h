/* Columns: whether the protected columns of a changed table still hold what they held. Names
 * columns and rows, never a value. */
#pragma once

#include "platform/workdir.h"
#include "verdict/facts.h"
#include "warden/order.h"

/* Compares the protected columns that `before` has with what `after` holds; appends a finding for
 * each that differs. 0 or -ENOMEM. */
int columns_compare(const TextList *columns, const char *input, const Bytes *before,
                    const Bytes *after, FailureList *findings);
/* The same with each changed input against what lies in its place. 0 or -errno. */
int columns_check(const Order *order, const Workdir *workdir, const bool *unchanged,
                  FailureList *findings);
