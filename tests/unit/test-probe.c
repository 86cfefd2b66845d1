/* Probes: here, where all can be had, and where user namespaces are used up. */
#include "platform/probe.h"

#include <sched.h>
#include <sys/mount.h>

#include "enclosed.h"

static StepFailure missing[CHILD_LAYER_COUNT];

static void expect_only_enclosures_missing(const char *step, int error) {
    for (ChildLayer layer = 0; layer < CHILD_LAYER_COUNT; layer++) {
        if (child_layer_is_enclosing(layer)) {
            ck_assert_msg(missing[layer].step != NULL, "%s", child_layer_name(layer));
            ck_assert_str_eq(missing[layer].step, step);
            ck_assert_int_eq(missing[layer].error, error);
        } else if (layer != CHILD_LAYER_LANDLOCK) {
            ck_assert_msg(missing[layer].step == NULL, "%s: %s", child_layer_name(layer),
                          missing[layer].step);
        }
    }
}

START_TEST(nothing_is_missing_here) {
    if (_i == ENCLOSED_AS_USER) enclosed_become_user();
    memset(missing, 0xff, sizeof missing);
    ck_assert_int_eq(probe_layers(ENCLOSED_UID, missing), 0);
    for (ChildLayer layer = 0; layer < CHILD_LAYER_COUNT; layer++) {
        const bool expected = layer == CHILD_LAYER_LANDLOCK && !landlock_is_there();
        ck_assert_msg((missing[layer].step != NULL) == expected, "%s: cannot %s: %s",
                      child_layer_name(layer), missing[layer].step, strerror(missing[layer].error));
    }
    /* It leaves nothing, and who asked is who it was. */
    ck_assert_int_eq(access("/proc/self/status", R_OK), 0);
    ck_assert_int_eq(geteuid() == 0, _i == ENCLOSED_AS_WE_ARE && getuid() == 0);
}
END_TEST

static bool write_text(const char *path, const char *text) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return is_written;
}

/* In a user namespace of its own one may forbid oneself any more of them. */
static bool use_up_namespaces(void) {
    char map[64];
    snprintf(map, sizeof map, "1000 %u 1\n", (unsigned)geteuid());
    return unshare(CLONE_NEWUSER) == 0 && write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/uid_map", map) &&
           write_text("/proc/sys/user/max_user_namespaces", "0");
}

START_TEST(used_up_namespaces_are_told) {
    if (!use_up_namespaces()) {
        puts("skipped: used up namespaces are told: no such limit can be set here");
        return;
    }
    ck_assert_int_eq(probe_layers(ENCLOSED_UID, missing), 0);
    expect_only_enclosures_missing("make namespaces", ENOSPC);
    static Enclosed self;
    StepFailure failure;
    enclosed_prepare(&self, ENCLOSED_AS_WE_ARE);
    ck_assert_int_eq(enclosed_try(&self, &failure), ENCLOSURE_E_REFUSED);
    ck_assert_str_eq(failure.step, "make namespaces");
    ck_assert_int_eq(failure.error, ENOSPC);
    ck_assert_ptr_null(self.enclosure);
    enclosed_deinit(&self);
}
END_TEST

START_TEST(an_unknown_host_is_told) {
    if (geteuid() != 0 || chroot("/usr") != 0) {
        puts("skipped: an unknown host is told: not root");
        return;
    }
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(probe_layers(ENCLOSED_UID, missing), 0);
    expect_only_enclosures_missing("tell the namespaces of the host", ENOENT);
}
END_TEST

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    setenv("CK_DEFAULT_TIMEOUT", "60", 0);
    Suite *suite = suite_create("probe");
    TCase *tests = tcase_create("probe");
    tcase_add_loop_test(tests, nothing_is_missing_here, 0, ENCLOSED_USERS);
    tcase_add_test(tests, used_up_namespaces_are_told);
    tcase_add_test(tests, an_unknown_host_is_told);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
