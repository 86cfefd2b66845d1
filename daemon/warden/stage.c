#include "warden/stage.h"

#include <string.h>

#include "base/error.h"

int stage_inputs(const Order *order, const Workdir *workdir, InvalidReport *ret_invalid) {
    for (size_t i = 0; i < order->n_inputs; i++) {
        const OrderInput *input = &order->inputs[i];
        const int r = workdir_write(workdir, input->name, input->content.data,
                                    input->content.n_bytes);
        if (r < 0)
            return invalid_set(ret_invalid, CODE_STAGING_FAILED, "cannot write input %s: %s",
                               input->name, strerror(-r));
    }
    return 0;
}
