#include "broker/survey.h"

#include "base/cleanup.h"
#include "suite.h"

enum { MAX_LAYERS = 4 };

/* A profile that wants `required` and `optional`; NULL ends each. */
static void make_profile(Profile *profile, const char *const required[MAX_LAYERS],
                         const char *const optional[MAX_LAYERS]) {
    *profile = (Profile){0};
    for (size_t i = 0; i < MAX_LAYERS && required[i]; i++)
        ck_assert_int_eq(text_list_append(&profile->required_layers, required[i]), 0);
    for (size_t i = 0; i < MAX_LAYERS && optional[i]; i++)
        ck_assert_int_eq(text_list_append(&profile->optional_layers, optional[i]), 0);
}

static void profile_clear(Profile *profile) {
    text_list_deinit(&profile->required_layers);
    text_list_deinit(&profile->optional_layers);
}

static void add_missing(Survey *survey, const char *layer, const char *reason) {
    ck_assert_int_eq(survey_add_missing(survey, layer, reason), 0);
}

static const struct {
    const char *required[MAX_LAYERS];
    const char *optional[MAX_LAYERS];
    bool is_needed;
} needs[] = {
    {{NULL}, {NULL}, false},
    {{"session"}, {NULL}, false},
    {{"session", "death_signal", "rlimits"}, {"no_new_privileges"}, false},
    {{"descriptors"}, {"work_directory"}, false},
    {{"session", "user_namespace"}, {NULL}, true},
    {{"no_capabilities"}, {NULL}, true},
    {{"not_dumpable"}, {NULL}, true},
    {{"seccomp"}, {NULL}, true},
    {{"session"}, {"landlock"}, true},
    {{NULL}, {"session", "own_root"}, true},
    {{NULL}, {"cgroup"}, true},
    {{"moat"}, {NULL}, true}, /* no such layer: nobody has it without a look */
};

START_TEST(layers_that_not_every_system_has_need_a_survey) {
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        Profile profile;
        make_profile(&profile, needs[i].required, needs[i].optional);
        ck_assert_msg(survey_is_needed(&profile) == needs[i].is_needed, "row %zu", i);
        profile_clear(&profile);
    }
}
END_TEST

#define WANTS(profile)                                                                             \
    make_profile(&(profile), (const char *const[MAX_LAYERS]){"session", "seccomp", "own_root"},    \
                 (const char *const[MAX_LAYERS]){"landlock", "not_dumpable"})

START_TEST(all_there_means_all_in_order) {
    static const char *const expected[] = {"session", "seccomp", "own_root", "landlock",
                                           "not_dumpable"};
    static const Survey survey;
    Profile profile;
    CLEANUP(text_list_deinit) TextList layers = {0};
    char *reason = NULL;
    WANTS(profile);
    ck_assert_int_eq(survey_choose(&survey, &profile, &layers, &reason), 0);
    ck_assert_ptr_null(reason);
    ck_assert_uint_eq(layers.n_items, 5);
    for (size_t i = 0; i < 5; i++) ck_assert_str_eq(layers.items[i], expected[i]);
    profile_clear(&profile);
}
END_TEST

START_TEST(a_missing_optional_one_is_left_out) {
    static const char *const expected[] = {"session", "seccomp", "own_root", "not_dumpable"};
    CLEANUP(survey_deinit) Survey survey = {0};
    CLEANUP(text_list_deinit) TextList layers = {0};
    Profile profile;
    char *reason = NULL;
    WANTS(profile);
    add_missing(&survey, "uts_namespace", "nobody asked for it");
    add_missing(&survey, "landlock", "cannot use Landlock: Function not implemented");
    ck_assert_int_eq(survey_choose(&survey, &profile, &layers, &reason), 0);
    ck_assert_ptr_null(reason);
    ck_assert_uint_eq(layers.n_items, 4);
    for (size_t i = 0; i < 4; i++) ck_assert_str_eq(layers.items[i], expected[i]);
    profile_clear(&profile);
}
END_TEST

START_TEST(a_missing_required_one_is_told_with_its_reason) {
    CLEANUP(survey_deinit) Survey survey = {0};
    CLEANUP(freep) char *reason = NULL;
    Profile profile;
    TextList untouched = {0};
    WANTS(profile);
    add_missing(&survey, "landlock", "no");
    add_missing(&survey, "own_root", "cannot mount its root: Operation not permitted");
    add_missing(&survey, "seccomp", "cannot filter system calls: Invalid argument");
    ck_assert_int_eq(survey_choose(&survey, &profile, &untouched, &reason), SURVEY_E_MISSING);
    ck_assert_str_eq(reason,
                     "the required layer seccomp cannot be had: cannot filter system calls: "
                     "Invalid argument");
    ck_assert_ptr_null(untouched.items);
    ck_assert_uint_eq(untouched.n_items, 0);
    profile_clear(&profile);
}
END_TEST

START_TEST(only_what_the_profile_asks_for_is_kept) {
    CLEANUP(survey_deinit) Survey survey = {0};
    Profile profile;
    WANTS(profile);
    add_missing(&survey, "uts_namespace", "a");
    add_missing(&survey, "seccomp", "b");
    add_missing(&survey, "ipc_namespace", "c");
    add_missing(&survey, "landlock", "d");
    ck_assert_int_eq(root_plan_add_link(&survey.plan, "/lib", "usr/lib"), 0);
    ck_assert_int_eq(survey_keep_wanted(&survey, &profile), 0);
    ck_assert_uint_eq(survey.missing.n_items, 2);
    ck_assert_uint_eq(survey.reasons.n_items, 2);
    ck_assert_str_eq(survey.missing.items[0], "seccomp");
    ck_assert_str_eq(survey.reasons.items[0], "b");
    ck_assert_str_eq(survey.missing.items[1], "landlock");
    ck_assert_str_eq(survey.reasons.items[1], "d");
    ck_assert_uint_eq(survey.plan.n_links, 1);
    profile_clear(&profile);
}
END_TEST

START_TEST(one_without_a_reason_has_one) {
    CLEANUP(survey_deinit) Survey survey = {0};
    add_missing(&survey, "cgroup", NULL);
    add_missing(&survey, "landlock", "why");
    ck_assert_uint_eq(survey.missing.n_items, 2);
    ck_assert_str_eq(survey.missing.items[0], "cgroup");
    ck_assert_str_eq(survey.reasons.items[0], "not looked for");
    ck_assert_str_eq(survey.reasons.items[1], "why");
}
END_TEST

START_TEST(nothing_wanted_is_nothing_kept) {
    CLEANUP(survey_deinit) Survey survey = {0};
    static const Profile profile;
    add_missing(&survey, "seccomp", "b");
    ck_assert_int_eq(survey_keep_wanted(&survey, &profile), 0);
    ck_assert_uint_eq(survey.missing.n_items + survey.reasons.n_items, 0);
}
END_TEST

SUITE_MAIN("survey", layers_that_not_every_system_has_need_a_survey, all_there_means_all_in_order,
           a_missing_optional_one_is_left_out, a_missing_required_one_is_told_with_its_reason,
           only_what_the_profile_asks_for_is_kept, one_without_a_reason_has_one,
           nothing_wanted_is_nothing_kept)
