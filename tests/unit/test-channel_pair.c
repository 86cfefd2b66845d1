/* Both ends of the private protocol together: what one says is what the other understands. */
#include "broker/channel.h"
#include "warden/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "suite.h"
#include "wire.h"

static char *items[] = {(char *)"session", (char *)"/a", (char *)"/b b", (char *)"/\xff"};
static RootLink links[] = {{(char *)"/lib", (char *)"usr/lib"}, {(char *)"/\xff", (char *)"."}};

static void expect_list(const TextList *list, size_t from, size_t n) {
    ck_assert_uint_eq(list->n_items, n);
    for (size_t i = 0; i < n; i++) ck_assert_str_eq(list->items[i], items[from + i]);
}

static void expect_plan(const RootPlan *plan) {
    expect_list(&plan->paths, 1, 3);
    ck_assert_uint_eq(plan->n_links, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(plan->links[i].path, links[i].path);
        ck_assert_str_eq(plan->links[i].target, links[i].target);
    }
}

START_TEST(a_setup) {
    const bool survey = _i == 1;
    const ConfigPlaces places = {"/s", "/r", "/t", "/w"};
    CLEANUP(config_unrefp) Config *config = NULL;
    ck_assert_int_eq(config_new_default(&places, &config), 0);
    static const ChildEnv environment;
    static const RootPlan plan = {{items + 1, 3}, links, 2};
    static const TextList layers = {items, 1}, hidden = {items + 1, 2};
    const ChannelSetup from = {
        .environment_id = "e-7",
        .directory = "/r/e-7",
        .profile = &config->profiles[0],
        .environment = &environment,
        .keep_bytes = 5,
        .layers = &layers,
        .root = &plan,
        .hidden = &hidden,
        .uid = UINT32_MAX,
        .survey = survey,
    };
    ChannelFrame frame;
    ck_assert_int_eq(channel_encode_setup(&from, &frame), 0);
    CLEANUP(setup_deinit) Setup setup = {0};
    ck_assert_int_eq(warden_channel_decode_setup(frame.bytes + WIRE_HEADER_BYTES,
                                                 frame.n_bytes - WIRE_HEADER_BYTES, &setup),
                     0);
    free(frame.bytes);
    expect_list(&setup.layers, 0, 1);
    expect_list(&setup.hidden, 1, 2);
    expect_plan(&setup.root);
    ck_assert_uint_eq(setup.uid, UINT32_MAX);
    ck_assert_int_eq(setup.survey, survey);
    ck_assert_str_eq(setup.environment_id, "e-7");
    ck_assert_str_eq(setup.directory, "/r/e-7");
    ck_assert_uint_eq(setup.keep_bytes, 5);
}
END_TEST

/* Takes one frame from the warden's channel as the broker does. */
static void receive(int peer, ChannelMessage *ret_message) {
    uint8_t frame[4096];
    const ssize_t n = read(peer, frame, sizeof frame);
    ck_assert_int_gt(n, WIRE_HEADER_BYTES);
    ck_assert_int_eq(
        channel_decode(frame + WIRE_HEADER_BYTES, (size_t)n - WIRE_HEADER_BYTES, ret_message), 0);
}

START_TEST(a_survey_and_a_result) {
    WardenChannel *channel;
    ChannelMessage message;
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_int_eq(warden_channel_new(ends[0], &channel), 0);
    char *reasons[] = {(char *)"cannot make namespaces: Operation not permitted"};
    const SurveyReport report = {{{items + 1, 3}, links, 2}, {items, 1}, {reasons, 1}};
    ck_assert_int_eq(warden_channel_send_survey(channel, &report), 0);
    receive(ends[1], &message);
    ck_assert_int_eq(message.kind, CHANNEL_SURVEY);
    expect_plan(&message.survey.plan);
    expect_list(&message.survey.missing, 0, 1);
    ck_assert_uint_eq(message.survey.reasons.n_items, 1);
    ck_assert_str_eq(message.survey.reasons.items[0], reasons[0]);
    channel_message_deinit(&message);

    for (Code code = CODE_TIMEOUT; code <= CODE_FORBIDDEN_SYSCALL; code++) {
        const Facts facts = {.limit = code, .limit_subject = (char *)"bpf"};
        ck_assert_int_eq(warden_channel_send_result(channel, &facts), 0);
        receive(ends[1], &message);
        ck_assert_int_eq(message.kind, CHANNEL_RESULT);
        ck_assert_int_eq(message.facts->limit, code);
        ck_assert_str_eq(message.facts->limit_subject, "bpf");
        ck_assert_ptr_null(message.facts->limit_detail);
        channel_message_deinit(&message);
    }
    close(ends[1]);
    warden_channel_free(channel);
}
END_TEST

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    Suite *suite = suite_create("channel_pair");
    TCase *tests = tcase_create("channel_pair");
    tcase_add_loop_test(tests, a_setup, 0, 2);
    tcase_add_test(tests, a_survey_and_a_result);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
