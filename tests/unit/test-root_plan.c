#include "platform/root_plan.h"

#include <string.h>

#include "suite.h"

START_TEST(links_are_copied_in_order) {
    RootPlan plan = {0};
    char path[] = "/lib", target[] = "usr/lib";
    ck_assert_int_eq(root_plan_add_link(&plan, path, target), 0);
    strcpy(path, "/x");
    strcpy(target, "y");
    ck_assert_int_eq(root_plan_add_link(&plan, path, target), 0);
    ck_assert_int_eq(root_plan_add_link(&plan, "/x", "again"), 0); /* it is no set */
    ck_assert_uint_eq(plan.n_links, 3);
    ck_assert_str_eq(plan.links[0].path, "/lib");
    ck_assert_str_eq(plan.links[0].target, "usr/lib");
    ck_assert_str_eq(plan.links[1].path, "/x");
    ck_assert_str_eq(plan.links[1].target, "y");
    ck_assert_str_eq(plan.links[2].target, "again");
    ck_assert_uint_eq(plan.paths.n_items, 0);
    root_plan_deinit(&plan);
}
END_TEST

START_TEST(an_empty_one_is_left_behind) {
    RootPlan plan = {0};
    root_plan_deinit(&plan);
    ck_assert_int_eq(text_list_append(&plan.paths, "/usr/bin/python3"), 0);
    ck_assert_int_eq(root_plan_add_link(&plan, "/lib", "usr/lib"), 0);
    root_plan_deinit(&plan);
    ck_assert_ptr_null(plan.links);
    ck_assert_uint_eq(plan.n_links, 0);
    ck_assert_ptr_null(plan.paths.items);
    ck_assert_uint_eq(plan.paths.n_items, 0);
    root_plan_deinit(&plan);
}
END_TEST

SUITE_MAIN("root_plan", links_are_copied_in_order, an_empty_one_is_left_behind)
