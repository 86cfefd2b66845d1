/* Proof: tries, as the interpreter would, what must not succeed. A wall that nobody ran against is
 * only believed in. Linux only, not a contract. */
#pragma once

#include "platform/child.h"

/* Runs in the child when all its layers are on. `hidden` are paths that must not be there. Returns
 * 0, or the number of what succeeded. Allocates nothing. */
int proof_find_hole(const bool layers[CHILD_LAYER_COUNT], const TextList *hidden);
/* What such a number stands for. Static text. */
const char *proof_hole_name(int hole);
