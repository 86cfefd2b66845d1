#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "platform/child_env.h"

static const char *const posix_parent[] = {
    "PATH=/usr/bin",
    "HOME=/root",
    "LD_PRELOAD=/evil.so",
    "PYTHONPATH=/evil",
    "SystemRoot=/somewhere",
    "SECRET_TOKEN=abc",
    "NOEQUALS",
    NULL,
};

#define FIXED                                                                                      \
    "PYTHONDONTWRITEBYTECODE=1", "PYTHONNOUSERSITE=1", "HOME=/w/1", "TMPDIR=/w/1",                 \
        "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1",                        \
        "POLARS_MAX_THREADS=1", "RAYON_NUM_THREADS=1", "LANG=C.UTF-8"

/* Exactly these, in this order. */
static void expect(const ChildEnv *env, const char *const *expected) {
    for (size_t i = 0; i < env->n_items; i++) {
        char variable[256];
        ck_assert_msg(expected[i] != NULL, "%s is too much", env->items[i].name);
        snprintf(variable, sizeof variable, "%s=%s", env->items[i].name, env->items[i].value);
        ck_assert_str_eq(variable, expected[i]);
    }
    ck_assert_msg(expected[env->n_items] == NULL, "%s is missing", expected[env->n_items]);
}

static void expect_made(OsFamily family, const char *const *parent, const Profile *profile,
                        int result, const char *const *expected) {
    ChildEnv env = {0};
    ck_assert_int_eq(child_env_make(family, parent, profile, "/w/1", &env), result);
    expect(&env, expected);
    child_env_deinit(&env);
    ck_assert_uint_eq(env.n_items, 0);
}

START_TEST(posix_has_exactly_the_fixed_variables) {
    static const char *const expected[] = {FIXED, NULL};
    const Profile profile = {0};
    expect_made(OS_FAMILY_POSIX, posix_parent, &profile, 0, expected);
}
END_TEST

START_TEST(profile_variables_come_last_in_order) {
    static const char *const expected[] = {FIXED, "TZ=UTC", "A=b=c", "EMPTY=", NULL};
    EnvVariable items[] = {{(char[]){"TZ"}, (char[]){"UTC"}},
                           {(char[]){"A"}, (char[]){"b=c"}},
                           {(char[]){"EMPTY"}, (char[]){""}}};
    const Profile profile = {.env = {items, 3}};
    expect_made(OS_FAMILY_POSIX, posix_parent, &profile, 0, expected);
}
END_TEST

START_TEST(windows_adds_system_root_before_the_profile) {
    static const char *const expected[] = {FIXED, "SystemRoot=/somewhere", "TZ=UTC", NULL};
    EnvVariable items[] = {{(char[]){"TZ"}, (char[]){"UTC"}}};
    const Profile profile = {.env = {items, 1}};
    expect_made(OS_FAMILY_WINDOWS, posix_parent, &profile, 0, expected);
}
END_TEST

static const char *const spellings[] = {
    "SystemRoot=C:\\Windows",
    "SYSTEMROOT=C:\\Windows",
    "systemroot=C:\\Windows",
    "sYsTeMrOoT=C:\\Windows",
};

START_TEST(windows_finds_system_root_under_any_spelling) {
    static const char *const expected[] = {FIXED, "SystemRoot=C:\\Windows", NULL};
    const char *const parent[] = {"=C:=C:\\x", "Path=C:\\bin", spellings[_i], "windir=D:\\W", NULL};
    const Profile profile = {0};
    expect_made(OS_FAMILY_WINDOWS, parent, &profile, 0, expected);
}
END_TEST

static const char *const lookalikes[] = {
    "SystemRoot=", "SystemRoot", "SystemRoots=C:\\W", "XSystemRoot=C:\\W", "SystemRoo=C:\\W", "",
};

START_TEST(windows_without_system_root_says_so) {
    static const char *const expected[] = {FIXED, "TZ=UTC", NULL};
    const char *const parent[] = {"Path=C:\\bin", lookalikes[_i], NULL};
    EnvVariable items[] = {{(char[]){"TZ"}, (char[]){"UTC"}}};
    const Profile profile = {.env = {items, 1}};
    expect_made(OS_FAMILY_WINDOWS, parent, &profile, CHILD_ENV_E_NO_SYSTEM_ROOT, expected);
}
END_TEST

START_TEST(an_empty_system_root_does_not_hide_another) {
    static const char *const expected[] = {FIXED, "SystemRoot=C:\\Windows", NULL};
    static const char *const parent[] = {"SystemRoot=", "SYSTEMROOT=C:\\Windows", NULL};
    const Profile profile = {0};
    expect_made(OS_FAMILY_WINDOWS, parent, &profile, 0, expected);
}
END_TEST

START_TEST(an_empty_parent_changes_nothing_on_posix) {
    static const char *const expected[] = {FIXED, NULL};
    static const char *const parent[] = {NULL};
    const Profile profile = {0};
    expect_made(OS_FAMILY_POSIX, parent, &profile, 0, expected);
}
END_TEST

START_TEST(no_profile_may_set_what_is_made_here) {
    const Profile profile = {0};
    ChildEnv env = {0};
    ck_assert_int_eq(child_env_make(OS_FAMILY_WINDOWS, posix_parent, &profile, "/w", &env), 0);
    ck_assert_uint_eq(env.n_items, 11);
    for (size_t i = 0; i < env.n_items; i++)
        ck_assert_msg(config_env_name_is_reserved(env.items[i].name), "%s", env.items[i].name);
    ck_assert(config_env_name_is_reserved("SYSTEMROOT"));
    ck_assert(!config_env_name_is_reserved("TZ"));
    child_env_deinit(&env);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("child_env");
    TCase *tests = tcase_create("child_env");
    tcase_add_test(tests, posix_has_exactly_the_fixed_variables);
    tcase_add_test(tests, profile_variables_come_last_in_order);
    tcase_add_test(tests, windows_adds_system_root_before_the_profile);
    tcase_add_loop_test(tests, windows_finds_system_root_under_any_spelling, 0,
                        sizeof spellings / sizeof *spellings);
    tcase_add_loop_test(tests, windows_without_system_root_says_so, 0,
                        sizeof lookalikes / sizeof *lookalikes);
    tcase_add_test(tests, an_empty_system_root_does_not_hide_another);
    tcase_add_test(tests, an_empty_parent_changes_nothing_on_posix);
    tcase_add_test(tests, no_profile_may_set_what_is_made_here);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
