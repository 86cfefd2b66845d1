#include "workload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "client/parts.h"
#include "client/submission.h"

enum { N_CANARIES = 20, CANARY_BYTES = 64, ROW_BYTES = 64, SMALL_BYTES = 4000, MB = 1000000 };

typedef struct Workload {
    const char *code;
    size_t input_bytes; /* at least so many, in whole rows; 0: no input */
    unsigned n_canaries;
    Tb__VerdictKind expected;
} Workload;

#define CANARY "bench-canary-%u@example.invalid"

static const char sums_by_group[] = "import pandas as pd\n"
                                    "orders = pd.read_csv('your_data.csv')\n"
                                    "totals = orders.groupby('region')['amount'].sum()\n"
                                    "print(len(orders), totals.to_dict())\n";

static const Workload workloads[WORKLOAD_COUNT] = {
    [WORKLOAD_PANDAS] = {sums_by_group, SMALL_BYTES, 0, TB__VERDICT_KIND__PASSED},
    [WORKLOAD_NUMPY] = {"import numpy as np\n"
                        "a = np.arange(10000.0).reshape(100, 100)\n"
                        "print(float((a @ a.T).trace()))\n",
                        0, 0, TB__VERDICT_KIND__PASSED},
    [WORKLOAD_FAILS] = {"import pandas as pd\n"
                        "print(pd.read_csv('your_data.csv')['no such column'])\n",
                        SMALL_BYTES, 0, TB__VERDICT_KIND__FAILED},
    [WORKLOAD_CANARIES] = {sums_by_group, SMALL_BYTES, N_CANARIES, TB__VERDICT_KIND__PASSED},
    [WORKLOAD_STDLIB] = {"import json, statistics\n"
                         "values = [i * i % 97 for i in range(1000)]\n"
                         "print(json.dumps({'mean': statistics.fmean(values)}))\n",
                         0, 0, TB__VERDICT_KIND__PASSED},
    [WORKLOAD_INPUT_1MB] = {"print('ok')\n", MB, 0, TB__VERDICT_KIND__PASSED},
    [WORKLOAD_INPUT_10MB] = {"print('ok')\n", 10 * MB, 0, TB__VERDICT_KIND__PASSED},
    [WORKLOAD_OUTPUT_1MB] = {"print('x' * 999999)\n", 0, 0, TB__VERDICT_KIND__PASSED},
    [WORKLOAD_RAISES] = {"raise ValueError('bench')\n", 0, 0, TB__VERDICT_KIND__FAILED},
    [WORKLOAD_LEAKS] = {"print('bench-canary-' + str(3) + '@example.invalid')\n", SMALL_BYTES,
                        N_CANARIES, TB__VERDICT_KIND__FAILED},
    [WORKLOAD_SPINS] = {"import time\n"
                        "end = time.monotonic() + 2\n"
                        "while time.monotonic() < end: pass\n",
                        0, 0, TB__VERDICT_KIND__PASSED},
};

const char *workload_code(WorkloadKind kind) {
    return workloads[kind].code;
}

Tb__VerdictKind workload_expected(WorkloadKind kind) {
    return workloads[kind].expected;
}

int workload_input(WorkloadKind kind, char **ret_content, size_t *ret_n_bytes) {
    static const char *const regions[] = {"north", "east", "south", "west"};
    const size_t wanted = workloads[kind].input_bytes;
    char *content = malloc(wanted + 2 * (size_t)ROW_BYTES);
    if (!content) return error_origin(-ENOMEM);
    size_t n = (size_t)snprintf(content, ROW_BYTES, "order_id,region,amount\n");
    for (unsigned i = 1; n < wanted; i++)
        n += (size_t)snprintf(content + n, ROW_BYTES, "%u,%s,%u.%02u\n", i, regions[i % 4],
                              i * 7919 % 1000, i % 100);
    *ret_content = content;
    *ret_n_bytes = n;
    return 0;
}

static int add_input(WorkloadKind kind, Arena *arena, Tb__Submit *submit) {
    CLEANUP(freep) char *content = NULL;
    ProtobufCBinaryData data;
    int r = workload_input(kind, &content, &data.len);
    if (r < 0) return error_fold(r);
    data.data = arena_take(arena, data.len, 1);
    if (!data.data) return error_origin(-ENOMEM);
    memcpy(data.data, content, data.len);
    r = submission_add_input(submit, arena, SUBMISSION_INPUT_NAME, data);
    return r < 0 ? error_fold(r) : 0;
}

static int add_canaries(unsigned n_canaries, Arena *arena, Tb__Submit *submit) {
    int r = submission_add_protected(submit, arena, "order_id");
    for (unsigned i = 0; r == 0 && i < n_canaries; i++) {
        char id[CANARY_BYTES], value[CANARY_BYTES];
        snprintf(id, sizeof id, "canary-%u", i);
        snprintf(value, sizeof value, CANARY, i);
        r = submission_add_canary(submit, arena, id, value);
    }
    return r < 0 ? error_fold(r) : 0;
}

int workload_submission(WorkloadKind kind, const char *profile, Arena *arena,
                        Tb__Submit *ret_submit) {
    const Workload *workload = &workloads[kind];
    Tb__Submit submit = TB__SUBMIT__INIT;
    submit.profile = parts_text(arena, profile);
    submit.code.data = (uint8_t *)parts_text(arena, workload->code);
    submit.code.len = strlen(workload->code);
    if (!submit.profile || !submit.code.data) return error_origin(-ENOMEM);
    int r = submission_set_file_name(&submit, arena, "bench.py", "bench.py");
    if (r == 0 && workload->input_bytes > 0) r = add_input(kind, arena, &submit);
    if (r == 0 && workload->n_canaries > 0) r = add_canaries(workload->n_canaries, arena, &submit);
    if (r < 0) return error_fold(r);
    *ret_submit = submit;
    return 0;
}
