/* Root plan: what there is to be in a root that holds nothing but an interpreter. Plain data: the
 * interpreter's survey makes it, the broker keeps it, an enclosure follows it. */
#pragma once

#include <stddef.h>

#include "base/text.h"

/* What an interpreter must find: paths to be seen read-only at their own place, none below another,
 * and symbolic links to be made. All absolute and normalised. */
typedef struct RootLink {
    char *path;
    char *target;
} RootLink;

typedef struct RootPlan {
    TextList paths;
    RootLink *links;
    size_t n_links;
} RootPlan;

/* Appends copies. 0 or -ENOMEM. */
int root_plan_add_link(RootPlan *plan, const char *path, const char *target);
void root_plan_deinit(RootPlan *plan);
