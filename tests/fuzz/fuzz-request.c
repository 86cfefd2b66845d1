/* Fuzz: what a client sends, from the frame's payload to the checked request. */
#include <stdlib.h>

#include "broker/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    Request request;
    Refusal refusal;
    const int r = request_decode(data, n_bytes, &request, &refusal);
    if (r == 0 && request.kind == REQUEST_SUBMIT) {
        /* What was let through keeps the bounds that the rest of the daemon relies on. */
        if (request.spec.repeats < 1 || request.spec.repeats > REQUEST_MAX_REPEATS) abort();
        if (request.spec.code.n_bytes > REQUEST_MAX_CODE_BYTES) abort();
        for (size_t i = 0; i < request.spec.n_inputs; i++)
            if (!text_is_file_name(request.spec.inputs[i].name)) abort();
    }
    request_deinit(&request);
    return 0;
}
