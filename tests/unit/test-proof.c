/* Proofs: walls that are claimed and not there are found; those that are there hold. */
#include "platform/linux/proof.h"

#include <sys/wait.h>

#include "enclosed.h"
#include "scratch.h"

static const TextList nothing_hidden;

/* Looks for holes in a process without any wall, which claims one. */
static const char *find(ChildLayer claimed, const TextList *hidden) {
    bool layers[CHILD_LAYER_COUNT] = {false};
    layers[claimed] = true;
    const int hole = proof_find_hole(layers, hidden);
    return hole == 0 ? "none" : proof_hole_name(hole);
}

START_TEST(a_claim_without_a_wall_is_found_out) {
    Scratch scratch;
    scratch_init(&scratch);
    ck_assert_int_eq(chmod(scratch.path, 0777), 0);
    ck_assert_int_eq(chdir(scratch.path), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        if (_i == ENCLOSED_AS_USER) enclosed_become_user();
        ck_assert_str_eq(find(CHILD_LAYER_SECCOMP, &nothing_hidden),
                         "a network socket can be made");
        ck_assert_str_eq(find(CHILD_LAYER_PID_NAMESPACE, &nothing_hidden),
                         "a process of the host can be seen");
        ck_assert_str_eq(find(CHILD_LAYER_OWN_ROOT, &nothing_hidden),
                         "the host's files can be read");
        ck_assert_str_eq(find(CHILD_LAYER_LANDLOCK, &nothing_hidden),
                         "Landlock lets a socket be made in a directory");
        exit(EXIT_SUCCESS);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(chdir("/"), 0);
    scratch_deinit(&scratch);
}
END_TEST

START_TEST(capabilities_that_are_held_are_found) {
    if (geteuid() != 0) {
        puts("skipped: capabilities that are held are found: not root");
        return;
    }
    const char *hole = find(CHILD_LAYER_NO_CAPABILITIES, &nothing_hidden);
    ck_assert_msg(strcmp(hole, "a capability can be gained") == 0 ||
                      strcmp(hole, "another user can be become") == 0,
                  "%s", hole);
    enclosed_become_user();
    ck_assert_str_eq(find(CHILD_LAYER_NO_CAPABILITIES, &nothing_hidden), "none");
}
END_TEST

START_TEST(what_is_not_claimed_is_not_tried) {
    static const bool layers[CHILD_LAYER_COUNT];
    char *items[] = {(char *)"/"};
    const TextList hidden = {items, 1};
    ck_assert_int_eq(proof_find_hole(layers, &hidden), 0);
    ck_assert_str_eq(find(CHILD_LAYER_SESSION, &hidden), "none");
    ck_assert_str_eq(find(CHILD_LAYER_NOT_DUMPABLE, &hidden), "none");
}
END_TEST

START_TEST(every_hole_has_a_name_of_its_own) {
    static const char last[] = "a path of the daemon can be seen";
    int n = 1;
    for (; strcmp(proof_hole_name(n), last) != 0; n++)
        for (int other = 1; other < n; other++)
            ck_assert_str_ne(proof_hole_name(n), proof_hole_name(other));
    ck_assert_int_eq(n, 22);
    ck_assert_str_eq(proof_hole_name(0), last);
    ck_assert_str_eq(proof_hole_name(-1), last);
}
END_TEST

/* ---- as part of a start ---- */

static Enclosed self;

static void expect_hole(const char *hole) {
    StepFailure failure = {0};
    ck_assert_int_eq(enclosed_spawn(&self, &failure), CHILD_E_NOT_STARTED);
    ck_assert_str_eq(failure.step, hole);
    ck_assert_int_eq(failure.error, 0);
    ck_assert_ptr_null(self.child);
}

START_TEST(a_hidden_path_that_is_there_stops_the_start) {
    enclosed_prepare(&self, _i);
    ck_assert_int_eq(text_list_append(&self.hidden, "/run/tbsandboxd"), 0);
    ck_assert_int_eq(text_list_append(&self.hidden, "/usr/lib"), 0);
    enclosed_enter(&self);
    expect_hole("a path of the daemon can be seen");
    enclosed_deinit(&self);
}
END_TEST

START_TEST(hidden_paths_that_are_not_there_are_fine) {
    enclosed_prepare(&self, _i);
    ck_assert_int_eq(text_list_append(&self.hidden, "/run/tbsandboxd"), 0);
    ck_assert_int_eq(text_list_append(&self.hidden, "/tmp"), 0);
    enclosed_enter(&self);
    enclosed_start(&self, "");
    enclosed_deinit(&self);
}
END_TEST

/* A plan that shows too much. */
START_TEST(a_secret_in_the_root_stops_the_start) {
    enclosed_prepare(&self, _i);
    ck_assert_int_eq(text_list_append(&self.plan.paths, "/etc/passwd"), 0);
    enclosed_enter(&self);
    expect_hole("the host's files can be read");
    enclosed_deinit(&self);
}
END_TEST

/* ---- without an enclosure ---- */

static void claim(ChildLayer first, ChildLayer second, StepFailure *ret_failure) {
    Scratch scratch;
    bool layers[CHILD_LAYER_COUNT] = {false};
    layers[first] = layers[second] = true;
    scratch_init(&scratch);
    enclosed_prepare(&self, ENCLOSED_AS_WE_ARE);
    ck_assert_int_eq(workdir_make(in_scratch(&scratch, "e"), &self.workdir), 0);
    *ret_failure = (StepFailure){"none", 0};
    (void)enclosed_spawn_with(&self, layers, ret_failure);
    child_free(self.child);
    self.child = NULL;
    enclosed_deinit(&self);
    scratch_deinit(&scratch);
}

START_TEST(a_claimed_enclosure_stops_the_start) {
    static const struct {
        ChildLayer layer;
        const char *hole;
    } rows[] = {
        {CHILD_LAYER_PID_NAMESPACE, "a process of the host can be seen"},
        {CHILD_LAYER_OWN_ROOT, "the host's files can be read"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        StepFailure failure;
        claim(rows[i].layer, CHILD_LAYER_SESSION, &failure);
        ck_assert_str_eq(failure.step, rows[i].hole);
        ck_assert_int_eq(failure.error, 0);
    }
}
END_TEST

/* Layers that need no enclosure hold without one: a profile may want just these. */
START_TEST(other_layers_stand_alone) {
    StepFailure failure;
    if (landlock_is_there()) {
        claim(CHILD_LAYER_LANDLOCK, CHILD_LAYER_NOT_DUMPABLE, &failure);
        ck_assert_str_eq(failure.step, "none");
    }
    claim(CHILD_LAYER_SECCOMP, CHILD_LAYER_NOT_DUMPABLE, &failure);
    ck_assert_str_eq(failure.step, "none");
}
END_TEST

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    setenv("CK_DEFAULT_TIMEOUT", "60", 0);
    Suite *suite = suite_create("proof");
    TCase *tests = tcase_create("proof");
    tcase_add_loop_test(tests, a_claim_without_a_wall_is_found_out, 0, ENCLOSED_USERS);
    tcase_add_test(tests, capabilities_that_are_held_are_found);
    tcase_add_test(tests, what_is_not_claimed_is_not_tried);
    tcase_add_test(tests, every_hole_has_a_name_of_its_own);
    tcase_add_loop_test(tests, a_hidden_path_that_is_there_stops_the_start, 0, ENCLOSED_USERS);
    tcase_add_loop_test(tests, hidden_paths_that_are_not_there_are_fine, 0, ENCLOSED_USERS);
    tcase_add_loop_test(tests, a_secret_in_the_root_stops_the_start, 0, ENCLOSED_USERS);
    tcase_add_test(tests, a_claimed_enclosure_stops_the_start);
    tcase_add_test(tests, other_layers_stand_alone);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
