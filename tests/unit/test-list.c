#include <stdlib.h>

#include <check.h>

#include "base/list.h"

typedef struct Item {
    int before;
    List link;
    int value;
} Item;

static int value_of(List *link) {
    return list_entry(link, Item, link)->value;
}

/* The values in order as one decimal number, forwards and backwards. */
static int forwards(const List *list) {
    int digits = 0;
    for (List *link = list->next; link != list; link = link->next)
        digits = digits * 10 + value_of(link);
    return digits;
}

static int backwards(const List *list) {
    int digits = 0;
    for (List *link = list->prev; link != list; link = link->prev)
        digits = digits * 10 + value_of(link);
    return digits;
}

START_TEST(a_new_list_is_empty) {
    List fixed = LIST_INIT(fixed);
    List list;
    list_init(&list);
    ck_assert(list_empty(&fixed));
    ck_assert(list_empty(&list));
    ck_assert_ptr_null(list_first(&list));
}
END_TEST

START_TEST(append_and_prepend_keep_order) {
    List list = LIST_INIT(list);
    Item items[] = {{.value = 1}, {.value = 2}, {.value = 3}};
    list_append(&list, &items[1].link);
    list_append(&list, &items[2].link);
    list_prepend(&list, &items[0].link);
    ck_assert_int_eq(forwards(&list), 123);
    ck_assert_int_eq(backwards(&list), 321);
    ck_assert_ptr_eq(list_first(&list), &items[0].link);
    ck_assert(!list_empty(&list));
}
END_TEST

START_TEST(remove_unlinks_and_may_be_repeated) {
    List list = LIST_INIT(list);
    Item items[] = {{.value = 1}, {.value = 2}, {.value = 3}};
    for (int i = 0; i < 3; i++) list_append(&list, &items[i].link);
    list_remove(&items[1].link);
    list_remove(&items[1].link);
    ck_assert_int_eq(forwards(&list), 13);
    ck_assert_int_eq(backwards(&list), 31);
    ck_assert(list_empty(&items[1].link));
    list_remove(&items[0].link);
    list_remove(&items[2].link);
    ck_assert(list_empty(&list));
}
END_TEST

START_TEST(each_survives_removal_of_the_current) {
    List list = LIST_INIT(list);
    Item items[] = {{.value = 1}, {.value = 2}, {.value = 3}, {.value = 4}};
    for (int i = 0; i < 4; i++) list_append(&list, &items[i].link);
    int seen = 0;
    list_each(link, &list) {
        seen = seen * 10 + value_of(link);
        if (value_of(link) % 2) list_remove(link);
    }
    ck_assert_int_eq(seen, 1234);
    ck_assert_int_eq(forwards(&list), 24);
}
END_TEST

START_TEST(each_of_an_empty_list_does_nothing) {
    List list = LIST_INIT(list);
    list_each(link, &list) ck_abort_msg("saw a link at %p", (void *)link);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("list");
    TCase *tests = tcase_create("list");
    tcase_add_test(tests, a_new_list_is_empty);
    tcase_add_test(tests, append_and_prepend_keep_order);
    tcase_add_test(tests, remove_unlinks_and_may_be_repeated);
    tcase_add_test(tests, each_survives_removal_of_the_current);
    tcase_add_test(tests, each_of_an_empty_list_does_nothing);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
