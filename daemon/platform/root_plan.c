#include "platform/root_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int root_plan_add_link(RootPlan *plan, const char *path, const char *target) {
    RootLink *grown = realloc(plan->links, (plan->n_links + 1) * sizeof *grown);
    if (!grown) return error_origin(-ENOMEM);
    plan->links = grown;
    RootLink link = {strdup(path), strdup(target)};
    if (!link.path || !link.target) {
        free(link.path);
        free(link.target);
        return error_origin(-ENOMEM);
    }
    plan->links[plan->n_links++] = link;
    return 0;
}

void root_plan_deinit(RootPlan *plan) {
    for (size_t i = 0; i < plan->n_links; i++) {
        free(plan->links[i].path);
        free(plan->links[i].target);
    }
    free(plan->links);
    text_list_deinit(&plan->paths);
    *plan = (RootPlan){0};
}
