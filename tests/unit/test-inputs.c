#include "warden/checks/inputs.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "suite.h"
#include "warden/stage.h"
#include "workdir_maker.h"

static OrderInput inputs[] = {{(char *)"data.csv", {(uint8_t *)"a,b\n1,2\n", 8}}};
static const Order order = {.inputs = inputs, .n_inputs = 1};

static void stage(WorkdirMaker *maker) {
    InvalidReport invalid = {0};
    workdir_maker_init(maker);
    ck_assert_int_eq(stage_inputs(&order, maker->workdir, &invalid), 0);
}

/* NULL: unchanged. */
static void expect(WorkdirMaker *maker, const char *message) {
    CLEANUP(failure_list_deinit) FailureList findings = {0};
    bool unchanged = !message;
    ck_assert_int_eq(inputs_check(&order, maker->workdir, &unchanged, &findings), 0);
    ck_assert_int_eq(unchanged, !message);
    ck_assert_uint_eq(findings.n_items, message ? 1 : 0);
    if (message) {
        ck_assert_int_eq(findings.items[0].code, CODE_INPUT_MODIFIED);
        ck_assert_str_eq(findings.items[0].subject, "data.csv");
        ck_assert_str_eq(findings.items[0].message, message);
    }
    workdir_maker_deinit(maker);
}

START_TEST(untouched_inputs_are_unchanged) {
    WorkdirMaker maker;
    stage(&maker);
    expect(&maker, NULL);
    stage(&maker);
    put("data.csv", "a,b\n1,2\n"); /* the same bytes again */
    expect(&maker, NULL);
}
END_TEST

START_TEST(other_bytes_are_seen) {
    WorkdirMaker maker;
    stage(&maker);
    put("data.csv", "a,b\n1,3\n");
    expect(&maker, "input data.csv was changed at byte 6");
    stage(&maker);
    put("data.csv", "a,b\n");
    expect(&maker, "input data.csv has 4 bytes now, 8 before");
    stage(&maker);
    put("data.csv", "a,b\n1,2\n3,4\n");
    expect(&maker, "input data.csv has 12 bytes now, 8 before");
}
END_TEST

START_TEST(replacements_are_seen) {
    WorkdirMaker maker;
    stage(&maker);
    ck_assert_int_eq(unlink("data.csv"), 0);
    expect(&maker, "input data.csv was removed");
    stage(&maker);
    ck_assert_int_eq(rename("data.csv", "other"), 0);
    ck_assert_int_eq(symlink("other", "data.csv"), 0);
    expect(&maker, "input data.csv was replaced by a symbolic link");
    stage(&maker);
    ck_assert_int_eq(unlink("data.csv"), 0);
    ck_assert_int_eq(mkdir("data.csv", 0700), 0);
    expect(&maker, "input data.csv was replaced by a directory");
    stage(&maker);
    ck_assert_int_eq(unlink("data.csv"), 0);
    ck_assert_int_eq(mkfifo("data.csv", 0600), 0);
    expect(&maker, "input data.csv was replaced by a FIFO");
    stage(&maker);
    ck_assert_int_eq(link("data.csv", "other"), 0);
    expect(&maker, "input data.csv has 2 names now");
}
END_TEST

START_TEST(a_socket_is_seen) {
    WorkdirMaker maker;
    const struct sockaddr_un address = {AF_UNIX, "data.csv"};
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    stage(&maker);
    ck_assert_int_eq(unlink("data.csv"), 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    expect(&maker, "input data.csv was replaced by a socket");
    close(fd);
}
END_TEST

START_TEST(an_input_without_permissions_is_read) {
    WorkdirMaker maker;
    stage(&maker);
    ck_assert_int_eq(chmod("data.csv", 0), 0);
    expect(&maker, NULL);
}
END_TEST

START_TEST(a_name_that_is_taken_is_not_staged) {
    WorkdirMaker maker;
    CLEANUP(invalid_report_deinit) InvalidReport invalid = {0};
    workdir_maker_init(&maker);
    ck_assert_int_eq(symlink("/tmp/elsewhere", "data.csv"), 0);
    ck_assert_int_eq(stage_inputs(&order, maker.workdir, &invalid), INVALID_E_REPORTED);
    ck_assert_int_eq(invalid.code, CODE_STAGING_FAILED);
    ck_assert_str_eq(invalid.detail, "cannot write input data.csv: File exists");
    workdir_maker_deinit(&maker);
}
END_TEST

SUITE_MAIN("inputs", untouched_inputs_are_unchanged, other_bytes_are_seen, replacements_are_seen,
           a_socket_is_seen, an_input_without_permissions_is_read,
           a_name_that_is_taken_is_not_staged)
