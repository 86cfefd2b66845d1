#include "warden/order.h"

#include <stdlib.h>

#include <sodium.h>

void setup_deinit(Setup *setup) {
    free(setup->environment_id);
    free(setup->directory);
    free(setup->interpreter);
    child_env_deinit(&setup->environment);
    text_list_deinit(&setup->preload);
    text_list_deinit(&setup->allowed_imports);
    text_list_deinit(&setup->refused_calls);
    text_list_deinit(&setup->poisoned_modules);
    free(setup->warmup);
    text_list_deinit(&setup->layers);
    root_plan_deinit(&setup->root);
    free(setup->cgroup);
    text_list_deinit(&setup->hidden);
    text_list_deinit(&setup->readable);
    *setup = (Setup){0};
}

/* A canary's value lives no longer than it is needed. */
static void canary_list_deinit(CanaryList *canaries) {
    for (size_t i = 0; i < canaries->n_items; i++) {
        Canary *canary = &canaries->items[i];
        free(canary->id);
        if (canary->value.data) sodium_memzero(canary->value.data, canary->value.n_bytes);
        free(canary->value.data);
        free(canary->marker);
    }
    free(canaries->items);
}

void order_deinit(Order *order) {
    free(order->job_id);
    free(order->code.data);
    free(order->file_name);
    for (size_t i = 0; i < order->n_inputs; i++) {
        free(order->inputs[i].name);
        free(order->inputs[i].content.data);
    }
    free(order->inputs);
    text_list_deinit(&order->protected_columns);
    canary_list_deinit(&order->canaries);
    *order = (Order){0};
}
