/* Difference: what two runs of the same code did differently where the code decides it: exit,
 * stdout, files. Never quotes what a run wrote. Standard error is left out: warnings in it name
 * addresses and times. */
#pragma once

#include "verdict/facts.h"

/* Appends one `nondeterministic` failure per subject that differs: exit, stdout, produced.
 * 0 or -ENOMEM. */
int difference_append(const Facts *first, const Facts *other, FailureList *failures);
