/* Rule: the one ordered table from facts to a verdict's kind and reasons. Used by verdict.c only.
 * Never decides in favour of a run: a pass is what is left when every doubt is excluded. */
#pragma once

#include "verdict/verdict.h"

/* Judges one run. The caller empties the list with failure_list_deinit. 0 or -ENOMEM; outputs are
 * untouched then. */
int rule_judge(const Facts *facts, VerdictKind *ret_kind, FailureList *ret_failures);
