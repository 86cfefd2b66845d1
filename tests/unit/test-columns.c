#include "warden/checks/columns.h"

#include "base/cleanup.h"
#include "suite.h"
#include "workdir_maker.h"

static char *names[] = {(char *)"id", (char *)"mail", (char *)"absent"};
static const TextList columns = {names, 3};

/* `expected`: "subject: end of message" of each finding, joined by "; ". */
static void expect(const char *before, const char *after, const char *expected) {
    const Bytes old = {(uint8_t *)before, strlen(before)};
    const Bytes new = {(uint8_t *)after, strlen(after)};
    CLEANUP(failure_list_deinit) FailureList findings = {0};
    char found[512] = "";
    size_t n = 0;
    ck_assert_int_eq(columns_compare(&columns, "t.csv", &old, &new, &findings), 0);
    for (size_t i = 0; i < findings.n_items; i++) {
        const Failure *finding = &findings.items[i];
        ck_assert_int_eq(finding->code, CODE_PROTECTED_COLUMN);
        n += (size_t)snprintf(found + n, sizeof found - n, "%s%s:%s", i ? "; " : "",
                              finding->subject, strstr(finding->message, "t.csv") + 5);
    }
    ck_assert_str_eq(found, expected);
}

#define TABLE "id,mail,note\n1,a@x,hi\n2,\"b,c\",ho\n"

START_TEST(the_same_values_are_no_finding) {
    expect(TABLE, TABLE, "");
    expect(TABLE, "\xef\xbb\xbfid,mail,note\r\n\"1\",a@x,other\r\n2,\"b,c\",\"\"\r\n", "");
    expect(TABLE, "note,mail,new,id\nhi,a@x,0,1\nho,\"b,c\",0,2", "");
    expect("other\n1\n", "", "");
    expect("", "anything", "");
}
END_TEST

START_TEST(changed_values_are_found) {
    expect(TABLE, "id,mail,note\n1,a@x,hi\n3,\"b,c\",ho\n", "id: was changed, first in row 3");
    expect(TABLE, "id,mail,note\n9,A@x,hi\n9,\"b,c\",ho\n",
           "id: was changed, first in row 2; mail: was changed, first in row 2");
    expect(TABLE, "id,mail,note\n1,a@x,hi\n2\n", "mail: was changed, first in row 3");
}
END_TEST

START_TEST(lost_columns_and_rows_are_found) {
    expect(TABLE, "mail,note\na@x,hi\n\"b,c\",ho\n", "id: is gone");
    expect(TABLE, "", "id: is gone; mail: is gone");
    expect(TABLE, "id,mail,note\n1,a@x,hi\n",
           "id: has lost rows, from row 3; mail: has lost rows, from row 3");
    expect(TABLE, TABLE "3,d,e\n",
           "id: has more rows, from row 4; mail: has more rows, from row 4");
}
END_TEST

START_TEST(files_are_compared) {
    WorkdirMaker maker;
    OrderInput inputs[] = {
        {(char *)"same.csv", {(uint8_t *)TABLE, sizeof TABLE - 1}},
        {(char *)"changed.csv", {(uint8_t *)TABLE, sizeof TABLE - 1}},
        {(char *)"gone.csv", {(uint8_t *)TABLE, sizeof TABLE - 1}},
    };
    Order order = {.inputs = inputs, .n_inputs = 3, .protected_columns = columns};
    const bool unchanged[] = {true, false, false};
    CLEANUP(failure_list_deinit) FailureList findings = {0};
    workdir_maker_init(&maker);
    put("same.csv", "not looked at");
    put("changed.csv", "id,mail,note\n1,a@x,hi\n2,bc,ho\n");
    ck_assert_int_eq(columns_check(&order, maker.workdir, unchanged, &findings), 0);
    ck_assert_uint_eq(findings.n_items, 3);
    ck_assert_str_eq(findings.items[0].subject, "mail");
    ck_assert_str_eq(findings.items[0].message,
                     "protected column mail of changed.csv was changed, first in row 3");
    ck_assert_str_eq(findings.items[1].message, "protected column id of gone.csv is gone");
    workdir_maker_deinit(&maker);
}
END_TEST

SUITE_MAIN("columns", the_same_values_are_no_finding, changed_values_are_found,
           lost_columns_and_rows_are_found, files_are_compared)
