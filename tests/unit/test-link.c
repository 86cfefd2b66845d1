#include "fake_daemon.h"

#include "client/link.h"
#include "base/clock.h"

static uint64_t in_ms(uint64_t ms) {
    return clock_mono_ms() + ms;
}

static int open_link(FakeDaemon *fake, FakeScript *script, uint64_t ms, Trouble *trouble,
                     Link **ret_link) {
    fake_start(fake, script);
    return link_open(fake->address, in_ms(ms), trouble, ret_link);
}

/* ---- opening ---- */

START_TEST(nobody_there_is_told) {
    Trouble trouble;
    Link *link = NULL;
    ck_assert_int_eq(link_open("/tmp/no-such-dir/socket", in_ms(1000), &trouble, &link),
                     TROUBLE_E_TOLD);
    ck_assert_ptr_null(link);
    ck_assert_str_eq(trouble.text, "cannot reach tbsandboxd at /tmp/no-such-dir/socket: No such "
                                   "file or directory; start it with: tbsandboxd");
}
END_TEST

START_TEST(dead_socket_is_told) {
    FakeDaemon fake;
    Trouble trouble;
    Link *link = NULL;
    close(fake_listen(&fake));
    ck_assert_int_eq(link_open(fake.address, in_ms(1000), &trouble, &link), TROUBLE_E_TOLD);
    ck_assert_ptr_nonnull(strstr(trouble.text, "Connection refused"));
    unlink(fake.address);
    rmdir(fake.directory);
}
END_TEST

START_TEST(long_path_is_told) {
    char path[300];
    Trouble trouble;
    Link *link = NULL;
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(link_open(path, in_ms(1000), &trouble, &link), TROUBLE_E_TOLD);
    ck_assert_ptr_nonnull(strstr(trouble.text, "longer than 107 bytes"));
}
END_TEST

static void greet_only(int fd) {
    fake_greet(fd);
    fake_receive(fd);
}

START_TEST(greeting_opens) {
    FakeDaemon fake;
    Trouble trouble;
    Link *link = NULL;
    ck_assert_int_eq(open_link(&fake, greet_only, 5000, &trouble, &link), 0);
    ck_assert_ptr_nonnull(link);
    link_close(link);
    ck_assert_int_eq(fake_stop(&fake), 0);
}
END_TEST

static void say_nothing(int fd) {
    fake_receive(fd);
    fake_receive(fd);
}

START_TEST(silence_times_out) {
    FakeDaemon fake;
    Trouble trouble;
    Link *link = NULL;
    const uint64_t start_ms = clock_mono_ms();
    ck_assert_int_eq(open_link(&fake, say_nothing, 100, &trouble, &link), TROUBLE_E_TIMEOUT);
    ck_assert_uint_ge(clock_mono_ms() - start_ms, 100);
    ck_assert_ptr_null(link);
    fake_stop(&fake);
}
END_TEST

static void speak_http(int fd) {
    static const char reply[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    fake_receive(fd);
    fake_write(fd, reply, sizeof reply - 1);
}

static void speak_garbage(int fd) {
    static const char reply[] = "\0\0\0\x04\xff\xff\xff\xff";
    fake_receive(fd);
    fake_write(fd, reply, 8);
}

static void close_at_once(int fd) {
    fake_receive(fd);
}

static void close_in_frame(int fd) {
    static const char reply[] = "\0\0\0\x40half";
    fake_receive(fd);
    fake_write(fd, reply, 8);
}

static void refuse_version(int fd) {
    fake_receive(fd);
    fake_send_error(fd, 0, TB__ERROR_CODE__VERSION_MISMATCH, "only version 7 is spoken here");
}

static void speak_version_2(int fd) {
    fake_receive(fd);
    Tb__Hello hello = TB__HELLO__INIT;
    hello.protocol = 2;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_HELLO;
    envelope.hello = &hello;
    fake_send(fd, &envelope);
}

static void speak_out_of_turn(int fd) {
    fake_receive(fd);
    fake_send_accepted(fd, 0, "j-1");
}

static const struct {
    FakeScript *script;
    const char *told;
} strangers[] = {
    {speak_http, "sent a frame of more than 256 MiB"},
    {speak_garbage, "cannot be read"},
    {close_at_once, "closed the connection"},
    {close_in_frame, "closed the connection"},
    {refuse_version, "refused: only version 7 is spoken here (VERSION_MISMATCH)"},
    {speak_version_2, "speaks protocol 2, tbclient speaks 1"},
    {speak_out_of_turn, "does not say hello"},
};

START_TEST(strangers_are_told) {
    FakeDaemon fake;
    Trouble trouble = {""};
    Link *link = NULL;
    ck_assert_int_eq(open_link(&fake, strangers[_i].script, 5000, &trouble, &link), TROUBLE_E_TOLD);
    ck_assert_msg(strstr(trouble.text, strangers[_i].told), "told: %s", trouble.text);
    ck_assert_ptr_null(link);
    fake_stop(&fake);
}
END_TEST

/* ---- talking ---- */

static Tb__Envelope status_request(Tb__GetStatus *body) {
    Tb__Envelope request = TB__ENVELOPE__INIT;
    *body = (Tb__GetStatus)TB__GET_STATUS__INIT;
    request.body_case = TB__ENVELOPE__BODY_GET_STATUS;
    request.get_status = body;
    return request;
}

static void answer_in_pieces(int fd) {
    fake_greet(fd);
    const Tb__Envelope *request = fake_receive(fd);
    Tb__Done done = TB__DONE__INIT;
    char message[] = "piece by piece";
    done.message = message;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.request_id = request->request_id;
    envelope.body_case = TB__ENVELOPE__BODY_DONE;
    envelope.done = &done;
    uint8_t *frame = NULL;
    size_t n_bytes = 0;
    if (wire_pack(&envelope.base, &frame, &n_bytes) != 0) _exit(3);
    for (size_t i = 0; i < n_bytes; i++) {
        fake_write(fd, frame + i, 1);
        usleep(1000);
    }
    fake_receive(fd);
}

START_TEST(reply_in_pieces_is_put_together) {
    FakeDaemon fake;
    Trouble trouble;
    Link *link = NULL;
    ck_assert_int_eq(open_link(&fake, answer_in_pieces, 5000, &trouble, &link), 0);
    Tb__GetStatus body;
    Tb__Envelope request = status_request(&body), *reply = NULL;
    uint64_t id = 0;
    ck_assert_int_eq(link_send(link, &request, &trouble, &id), 0);
    ck_assert_uint_eq(id, 1);
    ck_assert_int_eq(link_receive(link, in_ms(5000), &trouble, &reply), 0);
    ck_assert_uint_eq(reply->request_id, 1);
    ck_assert_int_eq(reply->body_case, TB__ENVELOPE__BODY_DONE);
    ck_assert_str_eq(reply->done->message, "piece by piece");
    link_message_free(reply);
    link_close(link);
    ck_assert_int_eq(fake_stop(&fake), 0);
}
END_TEST

START_TEST(request_over_the_daemons_bound_is_not_sent) {
    FakeDaemon fake;
    Trouble trouble;
    Link *link = NULL;
    ck_assert_int_eq(open_link(&fake, greet_only, 5000, &trouble, &link), 0);
    Tb__Submit submit = TB__SUBMIT__INIT;
    submit.code = (ProtobufCBinaryData){.len = 2 << 20, .data = calloc(1, 2 << 20)};
    Tb__Envelope request = TB__ENVELOPE__INIT;
    request.body_case = TB__ENVELOPE__BODY_SUBMIT;
    request.submit = &submit;
    uint64_t id = 77;
    ck_assert_int_eq(link_send(link, &request, &trouble, &id), TROUBLE_E_TOLD);
    ck_assert_ptr_nonnull(strstr(trouble.text, "the daemon takes 1048576"));
    ck_assert_uint_eq(id, 77);
    ck_assert(!link_is_sending(link));
    free(submit.code.data);
    link_close(link);
    fake_stop(&fake);
}
END_TEST

/* Says more than a socket's buffers hold before it reads a byte. */
static void talk_before_listening(int fd) {
    fake_greet(fd);
    char *message = malloc((size_t)1 << 20);
    if (!message) _exit(3);
    memset(message, 'm', (1 << 20) - 1);
    message[(1 << 20) - 1] = '\0';
    Tb__Done done = TB__DONE__INIT;
    done.message = message;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.request_id = 1;
    envelope.body_case = TB__ENVELOPE__BODY_DONE;
    envelope.done = &done;
    for (int i = 0; i < 4; i++) fake_send(fd, &envelope);
    const Tb__Envelope *request = fake_receive(fd);
    if (request->body_case != TB__ENVELOPE__BODY_SUBMIT) _exit(3);
    fake_send_accepted(fd, request->request_id, "j-1");
    fake_receive(fd);
}

START_TEST(both_sides_can_talk_at_once) {
    FakeDaemon fake;
    Trouble trouble;
    Link *link = NULL;
    ck_assert_int_eq(open_link(&fake, talk_before_listening, 5000, &trouble, &link), 0);
    Tb__Submit submit = TB__SUBMIT__INIT;
    submit.code = (ProtobufCBinaryData){.len = 1000000, .data = calloc(1, 1000000)};
    Tb__Envelope request = TB__ENVELOPE__INIT;
    request.body_case = TB__ENVELOPE__BODY_SUBMIT;
    request.submit = &submit;
    uint64_t id = 0;
    ck_assert_int_eq(link_send(link, &request, &trouble, &id), 0);
    ck_assert(link_is_sending(link));
    for (int i = 0; i < 5; i++) {
        Tb__Envelope *reply = NULL;
        ck_assert_int_eq(link_receive(link, in_ms(5000), &trouble, &reply), 0);
        ck_assert_int_eq(reply->body_case,
                         i < 4 ? TB__ENVELOPE__BODY_DONE : TB__ENVELOPE__BODY_ACCEPTED);
        link_message_free(reply);
    }
    ck_assert(!link_is_sending(link));
    free(submit.code.data);
    link_close(link);
    ck_assert_int_eq(fake_stop(&fake), 0);
}
END_TEST

static void refuse_and_close(int fd) {
    fake_greet(fd);
    fake_send_error(fd, 0, TB__ERROR_CODE__FRAME_TOO_LARGE, "too much");
}

START_TEST(last_words_of_a_closing_daemon_are_heard) {
    FakeDaemon fake;
    Trouble trouble;
    Link *link = NULL;
    ck_assert_int_eq(open_link(&fake, refuse_and_close, 5000, &trouble, &link), 0);
    ck_assert_int_eq(fake_stop(&fake), 0);
    Tb__GetStatus body;
    Tb__Envelope request = status_request(&body), *reply = NULL;
    uint64_t id = 0;
    ck_assert_int_eq(link_send(link, &request, &trouble, &id), 0);
    ck_assert_int_eq(link_receive(link, in_ms(5000), &trouble, &reply), TROUBLE_E_TOLD);
    ck_assert_str_eq(trouble.text, "refused: too much (FRAME_TOO_LARGE)");
    ck_assert_int_eq(link_receive(link, in_ms(5000), &trouble, &reply), TROUBLE_E_TOLD);
    ck_assert_str_eq(trouble.text, "tbsandboxd closed the connection");
    ck_assert_ptr_null(reply);
    link_close(link);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("link");
    TCase *tests = tcase_create("link");
    tcase_add_test(tests, nobody_there_is_told);
    tcase_add_test(tests, dead_socket_is_told);
    tcase_add_test(tests, long_path_is_told);
    tcase_add_test(tests, greeting_opens);
    tcase_add_test(tests, silence_times_out);
    tcase_add_loop_test(tests, strangers_are_told, 0, sizeof strangers / sizeof *strangers);
    tcase_add_test(tests, reply_in_pieces_is_put_together);
    tcase_add_test(tests, request_over_the_daemons_bound_is_not_sent);
    tcase_add_test(tests, both_sides_can_talk_at_once);
    tcase_add_test(tests, last_words_of_a_closing_daemon_are_heard);
    suite_add_tcase(suite, tests);
    return fake_run(suite);
}
