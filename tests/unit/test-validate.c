#include "warden/validate.h"

#include "base/cleanup.h"
#include "suite.h"
#include "workdir_maker.h"

/* An interpreter that is fit in every way; each case spoils one. */
typedef struct Bench {
    WorkdirMaker maker;
    EnvVariable wanted[1], found[2];
    char *imports[1];
    char *layers[1];
    Setup setup;
    HarnessReady ready;
    ChildView view;
} Bench;

static void prepare(Bench *bench) {
    *bench = (Bench){
        .wanted = {{(char *)"A", (char *)"x"}},
        .found = {{(char *)"A", (char *)"x"}, {(char *)"B", (char *)"y"}},
        .imports = {(char *)"json"},
        .layers = {(char *)"session"},
    };
    workdir_maker_init(&bench->maker);
    bench->setup.environment = (ChildEnv){bench->wanted, 1};
    bench->setup.preload = (TextList){bench->imports, 1};
    bench->setup.layers = (TextList){bench->layers, 1};
    bench->ready = (HarnessReady){
        .version = (char *)"3.11.2",
        .directory = (char *)workdir_real_path(bench->maker.workdir),
        .hash_randomization = true,
        .has_hash_sample = true,
        .has_urandom = true,
        .is_isolated = true,
        .is_writable = true,
        .environment = {bench->found, 1},
        .imports = {bench->imports, 1},
    };
    bench->view.n_threads = 1;
    for (ChildLayer layer = 0; layer < CHILD_LAYER_COUNT; layer++) bench->view.layers[layer] = true;
}

/* NULL: fit. */
static void expect(Bench *bench, const char *detail) {
    CLEANUP(invalid_report_deinit) InvalidReport invalid = {0};
    const int r = validate_ready(&bench->setup, bench->maker.workdir, &bench->view, &bench->ready,
                                 &invalid);
    ck_assert_int_eq(r, detail ? INVALID_E_REPORTED : 0);
    if (detail) {
        ck_assert_int_eq(invalid.code, CODE_ENVIRONMENT_INVALID);
        ck_assert_str_eq(invalid.detail, detail);
    }
    workdir_maker_deinit(&bench->maker);
}

#define SPOILED(change, detail)                                                                    \
    do {                                                                                           \
        Bench bench;                                                                               \
        prepare(&bench);                                                                           \
        change;                                                                                    \
        expect(&bench, detail);                                                                    \
    } while (0)

START_TEST(a_fit_one_is_fit) {
    SPOILED((void)0, NULL);
}
END_TEST

START_TEST(each_fault_is_named) {
    SPOILED(bench.ready.version = (char *)"3.11", "its version is not three numbers");
    SPOILED(bench.ready.version = (char *)"3.11.2+", "its version is not three numbers");
    SPOILED(bench.ready.is_isolated = false, "it does not run in isolated mode");
    SPOILED(bench.ready.hash_randomization = false, "its hashes are not randomised");
    SPOILED(bench.ready.has_hash_sample = false, "it gave no sample of its hashes");
    SPOILED(bench.ready.has_urandom = false, "it gets no random bytes from the system");
    SPOILED(bench.ready.directory = (char *)"/", "it does not stand in its work directory");
    SPOILED(bench.ready.n_entries = 1, "its work directory was not empty");
    SPOILED(bench.ready.is_writable = false, "it cannot write to its work directory");
    SPOILED(bench.view.layers[CHILD_LAYER_DESCRIPTORS] = false,
            "its descriptors are not exactly 0 to 4");
    SPOILED(bench.view.n_threads = 2, "it has more than one thread");
    SPOILED(bench.ready.environment.n_items = 0, "its environment lacks A");
    SPOILED(bench.found[0].value = (char *)"z", "its environment has another value of A");
    SPOILED(bench.ready.environment.n_items = 2, "its environment has B, which nobody set");
    SPOILED(bench.ready.imports.n_items = 0, "json is not imported");
    SPOILED(put("left", ""), "its work directory is not empty after its set-up");
}
END_TEST

START_TEST(required_layers_must_be_in_force) {
    Bench bench;
    CLEANUP(invalid_report_deinit) InvalidReport invalid = {0};
    prepare(&bench);
    ck_assert_int_eq(validate_layers(&bench.setup, &bench.view, &invalid), 0);
    bench.view.layers[CHILD_LAYER_RLIMITS] = false; /* not required */
    ck_assert_int_eq(validate_layers(&bench.setup, &bench.view, &invalid), 0);
    bench.view.layers[CHILD_LAYER_SESSION] = false;
    ck_assert_int_eq(validate_layers(&bench.setup, &bench.view, &invalid), INVALID_E_REPORTED);
    ck_assert_int_eq(invalid.code, CODE_LAYER_MISSING);
    ck_assert_str_eq(invalid.detail, "the layer session is not in force");
    bench.layers[0] = (char *)"landlock"; /* the last that is known */
    ck_assert_int_eq(validate_layers(&bench.setup, &bench.view, &invalid), 0);
    bench.view.layers[CHILD_LAYER_LANDLOCK] = false;
    ck_assert_int_eq(validate_layers(&bench.setup, &bench.view, &invalid), INVALID_E_REPORTED);
    ck_assert_str_eq(invalid.detail, "the layer landlock is not in force");
    bench.layers[0] = (char *)"moat"; /* one that is not known is not in force */
    ck_assert_int_eq(validate_layers(&bench.setup, &bench.view, &invalid), INVALID_E_REPORTED);
    ck_assert_str_eq(invalid.detail, "the layer moat is not in force");
    workdir_maker_deinit(&bench.maker);
}
END_TEST

SUITE_MAIN("validate", a_fit_one_is_fit, each_fault_is_named, required_layers_must_be_in_force)
