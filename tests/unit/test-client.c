/* Whole commands against a fake daemon: what they print and how they exit. */
#include "fake_daemon.h"

#include <fcntl.h>
#include <stdarg.h>

#include "client/commands.h"
#include "client/host.h"
#include "base/clock.h"

enum { MAX_ARGS = 32, OUTPUT_BYTES = 16384, KILLED = -1 };

static FakeDaemon fake;
static char out[OUTPUT_BYTES];
static char err[OUTPUT_BYTES];
static char file_a[128], file_b[128];

/* ---- running the client ---- */

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void read_back(const char *path, char text[OUTPUT_BYTES]) {
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    const size_t n = fread(text, 1, OUTPUT_BYTES - 1, file);
    text[n] = '\0';
    fclose(file);
    unlink(path);
}

static void redirect(const char *path, int fd) {
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, fd) < 0) _exit(99);
}

static void run_client_child(int argc, char **argv, const char *out_path, const char *err_path) {
    static const Command *const commands[] = {
        &command_submit, &command_run,    &command_wait,   &command_show,
        &command_jobs,   &command_cancel, &command_status, &command_doctor,
        &command_drain,  &command_resume, &command_reload, NULL,
    };
    redirect(out_path, STDOUT_FILENO);
    redirect(err_path, STDERR_FILENO);
    if (host_init() < 0) _exit(99);
    exit(command_main(commands, argc, argv)); /* not _exit: leaks are looked for at exit */
}

/* Runs `tbclient words…` with the fake's socket; after signal_ms > 0 it gets a SIGINT. */
static int run_client_signalled(const char *words, unsigned signal_ms) {
    char out_path[] = "/tmp/tbclient-out-XXXXXX", err_path[] = "/tmp/tbclient-err-XXXXXX";
    close(mkstemp(out_path));
    close(mkstemp(err_path));
    char line[1024], *argv[MAX_ARGS + 1] = {(char *)"tbclient"};
    int argc = 1;
    snprintf(line, sizeof line, "%s", words);
    for (char *word = strtok(line, " "); word && argc < MAX_ARGS; word = strtok(NULL, " "))
        argv[argc++] = word;
    setenv("TBSANDBOX_SOCKET", fake.address, 1);
    const pid_t pid = fork();
    if (pid == 0) run_client_child(argc, argv, out_path, err_path);
    if (signal_ms) {
        usleep(signal_ms * 1000);
        kill(pid, SIGINT);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    read_back(out_path, out);
    read_back(err_path, err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
}

static int run_client(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int run_client(const char *format, ...) {
    char words[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    return run_client_signalled(words, 0);
}

static void assert_has(const char *text, const char *part) {
    ck_assert_msg(strstr(text, part) != NULL, "no '%s' in:\n%s", part, text);
}

static void make_files(void) {
    snprintf(file_a, sizeof file_a, "/tmp/tbclient-a-%d.py", (int)getpid());
    snprintf(file_b, sizeof file_b, "/tmp/tbclient-b-%d.py", (int)getpid());
    write_file(file_a, "print('a')\n");
    write_file(file_b, "print('b')\n");
    strcpy(fake.address, "/tmp/no-such-dir/socket");
}

static void remove_files(void) {
    unlink(file_a);
    unlink(file_b);
}

/* ---- scripts ---- */

static const Tb__Envelope *accept_submit(int fd, const char *job_id) {
    const Tb__Envelope *request = fake_receive(fd);
    if (request->body_case != TB__ENVELOPE__BODY_SUBMIT) _exit(3);
    fake_send_accepted(fd, request->request_id, job_id);
    return request;
}

static void pass_one(int fd) {
    fake_greet(fd);
    const Tb__Envelope *request = accept_submit(fd, "j-1");
    const Tb__Submit *submit = request->submit;
    if (strlen(submit->idempotency_key) != 32 || !submit->follow || submit->n_inputs != 0 ||
        strcmp(submit->profile, "pandas") != 0 || submit->code.len != strlen("print('a')\n"))
        _exit(4);
    fake_send_verdict(fd, request->request_id, "j-1", TB__VERDICT_KIND__PASSED, "a\n");
    fake_receive(fd);
}

START_TEST(passed_is_0) {
    fake_start(&fake, pass_one);
    ck_assert_int_eq(run_client("submit %s", file_a), 0);
    char expected[512];
    snprintf(expected, sizeof expected,
             "%s: PASSED\n  job: j-1\n  stages: parse allowlist compile execute\n", file_a);
    ck_assert_str_eq(out, expected);
    ck_assert_str_eq(err, "");
    ck_assert_int_eq(fake_stop(&fake), 0);
}
END_TEST

START_TEST(output_of_a_passed_job_is_shown_when_asked_for) {
    fake_start(&fake, pass_one);
    ck_assert_int_eq(run_client("submit --show-output %s", file_a), 0);
    assert_has(out, "  stdout (2 bytes):\n    | a\n");
    fake_stop(&fake);
}
END_TEST

/* Verdicts come in the order opposite to that of the files. */
static void answer_two(int fd, Tb__VerdictKind first, Tb__VerdictKind second) {
    fake_greet(fd);
    const Tb__Envelope *a = accept_submit(fd, "j-a"), *b = accept_submit(fd, "j-b");
    if (strcmp(a->submit->idempotency_key, b->submit->idempotency_key) == 0) _exit(4);
    fake_send_verdict(fd, b->request_id, "j-b", second, "");
    fake_send_verdict(fd, a->request_id, "j-a", first, "");
    fake_receive(fd);
}

static void pass_and_fail(int fd) {
    answer_two(fd, TB__VERDICT_KIND__PASSED, TB__VERDICT_KIND__FAILED);
}

static void fail_and_break(int fd) {
    answer_two(fd, TB__VERDICT_KIND__FAILED, TB__VERDICT_KIND__INFRASTRUCTURE_FAILURE);
}

START_TEST(one_failed_is_1_in_the_order_of_the_files) {
    fake_start(&fake, pass_and_fail);
    ck_assert_int_eq(run_client("submit %s %s", file_a, file_b), 1);
    const char *passed = strstr(out, ": PASSED\n"), *failed = strstr(out, ": FAILED\n");
    ck_assert(passed && failed && passed < failed);
    assert_has(out, "\n  exited: generated code exited 3: oh\n");
    ck_assert_int_eq(fake_stop(&fake), 0);
}
END_TEST

START_TEST(infrastructure_wins_over_failed) {
    fake_start(&fake, fail_and_break);
    ck_assert_int_eq(run_client("submit %s %s", file_a, file_b), 2);
    assert_has(out, ": FAILED\n");
    assert_has(out, ": INFRASTRUCTURE FAILURE: child_never_started: no luck\n");
    fake_stop(&fake);
}
END_TEST

START_TEST(json_is_one_object_on_a_line) {
    fake_start(&fake, pass_and_fail);
    ck_assert_int_eq(run_client("submit --json %s %s", file_a, file_b), 1);
    assert_has(out, "\"job_id\":\"j-a\",\"kind\":\"passed\",\"failures\":[]");
    assert_has(out, "\"kind\":\"failed\",\"failures\":[{\"code\":\"exited\"");
    ck_assert_int_eq(strncmp(out, "{\"file\":\"", 9), 0);
    ck_assert_ptr_eq(strchr(strchr(out, '\n') + 1, '\n')[1] ? out : NULL, NULL);
    fake_stop(&fake);
}
END_TEST

/* ---- nothing to talk to ---- */

START_TEST(unreachable_is_2) {
    ck_assert_int_eq(run_client("submit %s", file_a), 2);
    ck_assert_str_eq(out, "");
    ck_assert_str_eq(err, "INFRASTRUCTURE FAILURE: cannot reach tbsandboxd at "
                          "/tmp/no-such-dir/socket: No such file or directory; start it with: "
                          "tbsandboxd\n");
}
END_TEST

START_TEST(unreachable_is_2_for_every_command) {
    static const char *const commands[] = {"wait j-1", "show j-1", "jobs",   "cancel j-1", "status",
                                           "doctor",   "drain",    "resume", "reload"};
    ck_assert_int_eq(run_client("%s", commands[_i]), 2);
    assert_has(err, "INFRASTRUCTURE FAILURE: cannot reach tbsandboxd");
}
END_TEST

static const char *const misuses[] = {
    "",
    "submitt x.py",
    "submit",
    "submit --no-such-option x.py",
    "submit -x x.py",
    "submit --profile",
    "submit --detach=yes x.py",
    "submit --repeats 0 x.py",
    "submit --repeats 17 x.py",
    "submit --timeout soon x.py",
    "submit --wait-s 0 x.py",
    "submit /tmp/no-such-dir/x.py",
    "submit /tmp",
    "submit --input /tmp/no-such-dir/x.csv /dev/null",
    "submit --input-name a.csv /dev/null",
    "submit --input ../x=/dev/null /dev/null",
    "submit --input a=/dev/null --input a=/dev/null /dev/null",
    "submit --canary mail-1 /dev/null",
    "submit --canary m=1 --canary m=2 /dev/null",
    "submit --canary a/b=1 /dev/null",
    "submit --label x /dev/null",
    "submit --label a/b=x /dev/null",
    "submit --profile a/b /dev/null",
    "submit - -",
    "run",
    "run /tmp/no-such-dir/suite.yaml",
    "wait",
    "show",
    "jobs x",
    "jobs --state lost",
    "jobs --verdict maybe",
    "jobs --since yesterday",
    "jobs --label x",
    "cancel",
    "status x",
    "status --watch=soon",
    "doctor a b",
    "drain x",
};

START_TEST(misuse_is_64) {
    ck_assert_int_eq(run_client("%s", misuses[_i]), 64);
    ck_assert_str_eq(out, "");
    ck_assert_str_ne(err, "");
    ck_assert_ptr_null(strstr(err, "INFRASTRUCTURE"));
}
END_TEST

START_TEST(misuse_gets_one_line_with_a_hint) {
    run_client("submit --no-such-option x.py");
    ck_assert_str_eq(err, "tbclient submit: unknown option --no-such-option; see: tbclient submit "
                          "--help\n");
    run_client("submitt");
    ck_assert_str_eq(err, "tbclient: unknown command 'submitt'; see: tbclient --help\n");
}
END_TEST

START_TEST(help_and_version_are_0) {
    static const char *const words[] = {"--help", "--version", "submit --help", "run -h",
                                        "doctor --help"};
    ck_assert_int_eq(run_client("%s", words[_i]), 0);
    assert_has(out, "tbclient");
    ck_assert_str_eq(err, "");
}
END_TEST

/* ---- a daemon that misbehaves ---- */

static void vanish_in_mid_job(int fd) {
    fake_greet(fd);
    accept_submit(fd, "j-77");
}

static void vanish_before_accepting(int fd) {
    fake_greet(fd);
    fake_receive(fd);
}

static void garble(int fd) {
    fake_greet(fd);
    accept_submit(fd, "j-77");
    fake_write(fd, "\0\0\0\x02\xff\xff", 6);
    fake_receive(fd);
}

static void oversize(int fd) {
    fake_greet(fd);
    accept_submit(fd, "j-77");
    fake_write(fd, "\xff\xff\xff\xff", 4);
    fake_receive(fd);
}

static void pass_without_start(int fd) {
    fake_greet(fd);
    const Tb__Envelope *request = accept_submit(fd, "j-77");
    Tb__Verdict verdict = TB__VERDICT__INIT;
    verdict.kind = TB__VERDICT_KIND__PASSED;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.request_id = request->request_id;
    envelope.body_case = TB__ENVELOPE__BODY_VERDICT;
    envelope.verdict = &verdict;
    fake_send(fd, &envelope);
    fake_receive(fd);
}

static void answer_with_done(int fd) {
    fake_greet(fd);
    const Tb__Envelope *request = fake_receive(fd);
    Tb__Done done = TB__DONE__INIT;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.request_id = request->request_id;
    envelope.body_case = TB__ENVELOPE__BODY_DONE;
    envelope.done = &done;
    fake_send(fd, &envelope);
    fake_receive(fd);
}

static void refuse(int fd) {
    fake_greet(fd);
    const Tb__Envelope *request = fake_receive(fd);
    fake_send_error(fd, request->request_id, TB__ERROR_CODE__INVALID_ARGUMENT,
                    "no\nsuch \x1b[31mprofile");
    fake_receive(fd);
}

static const struct {
    FakeScript *script;
    const char *told;
} faults[] = {
    {vanish_in_mid_job,
     "INFRASTRUCTURE FAILURE: tbsandboxd closed the connection; the job goes on if "
     "tbsandboxd does, see: tbclient wait j-77\n"},
    {vanish_before_accepting, "INFRASTRUCTURE FAILURE: tbsandboxd closed the connection\n"},
    {garble, "INFRASTRUCTURE FAILURE: the reply cannot be read"},
    {oversize, "INFRASTRUCTURE FAILURE: what answers is not tbsandboxd: it sent a frame of more"},
    {pass_without_start, "INFRASTRUCTURE FAILURE: the daemon's verdict contradicts itself\n"},
    {answer_with_done, "INFRASTRUCTURE FAILURE: the daemon answers with something else"},
    {refuse, "INFRASTRUCTURE FAILURE: refused: no\n      such \\x1b[31mprofile "
             "(INVALID_ARGUMENT)\n"},
};

START_TEST(a_daemons_fault_is_2) {
    fake_start(&fake, faults[_i].script);
    ck_assert_int_eq(run_client("submit %s", file_a), 2);
    assert_has(out, faults[_i].told);
    fake_stop(&fake);
}
END_TEST

static void accept_and_wait(int fd) {
    fake_greet(fd);
    accept_submit(fd, "j-77");
    fake_receive(fd);
}

START_TEST(no_verdict_in_time_is_2) {
    fake_start(&fake, accept_and_wait);
    const uint64_t start_ms = clock_mono_ms();
    ck_assert_int_eq(run_client("submit --wait-s 0.2 %s", file_a), 2);
    ck_assert_uint_ge(clock_mono_ms() - start_ms, 200);
    assert_has(out,
               "INFRASTRUCTURE FAILURE: no verdict within 0.2 s (--wait-s); the job goes on if "
               "tbsandboxd does, see: tbclient wait j-77\n");
    fake_stop(&fake);
}
END_TEST

START_TEST(interrupt_is_130_and_names_the_jobs) {
    fake_start(&fake, accept_and_wait);
    char words[256];
    snprintf(words, sizeof words, "submit %s", file_a);
    ck_assert_int_eq(run_client_signalled(words, 300), 130);
    assert_has(err, "tbclient wait j-77\n");
    fake_stop(&fake);
}
END_TEST

/* ---- a full daemon ---- */

static void full_twice(int fd) {
    fake_greet(fd);
    char key[64] = "";
    for (int i = 0; i < 2; i++) {
        const Tb__Envelope *request = fake_receive(fd);
        if (i && strcmp(key, request->submit->idempotency_key) != 0) _exit(4);
        snprintf(key, sizeof key, "%s", request->submit->idempotency_key);
        fake_send_error(fd, request->request_id, TB__ERROR_CODE__RESOURCE_EXHAUSTED, "full");
    }
    const Tb__Envelope *request = accept_submit(fd, "j-1");
    if (strcmp(key, request->submit->idempotency_key) != 0) _exit(4);
    fake_send_verdict(fd, request->request_id, "j-1", TB__VERDICT_KIND__PASSED, "");
    fake_receive(fd);
}

static void always_full(int fd) {
    fake_greet(fd);
    for (;;)
        fake_send_error(fd, fake_receive(fd)->request_id, TB__ERROR_CODE__RESOURCE_EXHAUSTED,
                        "the queue is full");
}

START_TEST(a_full_daemon_is_asked_again) {
    fake_start(&fake, full_twice);
    const uint64_t start_ms = clock_mono_ms();
    ck_assert_int_eq(run_client("submit %s", file_a), 0);
    ck_assert_uint_ge(clock_mono_ms() - start_ms, 40);
    ck_assert_int_eq(fake_stop(&fake), 0);
}
END_TEST

START_TEST(a_full_daemon_is_2_in_the_end) {
    fake_start(&fake, always_full);
    ck_assert_int_eq(run_client("submit --wait-s 0.3 %s", file_a), 2);
    assert_has(out, "INFRASTRUCTURE FAILURE: refused: the queue is full (RESOURCE_EXHAUSTED); no "
                    "verdict within 0.3 s");
    fake_stop(&fake);
}
END_TEST

/* ---- what submit sends ---- */

static void check_submit(int fd) {
    fake_greet(fd);
    const Tb__Envelope *request = accept_submit(fd, "j-1");
    const Tb__Submit *submit = request->submit;
    if (submit->n_inputs != 1 || strcmp(submit->inputs[0]->name, "your_data.csv") != 0) _exit(11);
    if (submit->inputs[0]->content.len != strlen("print('b')\n")) _exit(12);
    if (submit->n_protected_columns != 2 || strcmp(submit->protected_columns[1], "c2") != 0)
        _exit(13);
    if (submit->n_canaries != 1 || strcmp(submit->canaries[0]->id, "mail-1") != 0) _exit(14);
    if (submit->canaries[0]->value.len != 3 ||
        memcmp(submit->canaries[0]->value.data, "x=y", 3) != 0)
        _exit(15);
    if (!submit->limits || submit->limits->wall_ms != 1500 || submit->repeats != 2) _exit(16);
    if (submit->n_labels != 1 || strcmp(submit->labels[0]->value, "v") != 0) _exit(17);
    if (strcmp(submit->profile, "stdlib") != 0 || submit->follow) _exit(18);
    fake_receive(fd);
}

START_TEST(submit_sends_what_was_said) {
    fake_start(&fake, check_submit);
    ck_assert_int_eq(run_client("submit --input %s --protected c1 --protected=c2 --canary "
                                "mail-1=x=y --timeout 1.5 --repeats 2 --label k=v --profile stdlib "
                                "--detach %s",
                                file_b, file_a),
                     0);
    ck_assert_str_eq(out, "j-1\n");
    ck_assert_int_eq(fake_stop(&fake), 0);
}
END_TEST

/* ---- the other commands ---- */

static void answer_wait(int fd) {
    fake_greet(fd);
    const Tb__Envelope *request = fake_receive(fd);
    if (request->body_case != TB__ENVELOPE__BODY_WAIT || strcmp(request->wait->job_id, "j-9") != 0)
        _exit(4);
    fake_send_verdict(fd, request->request_id, "j-9", TB__VERDICT_KIND__FAILED, "bye\n");
    fake_receive(fd);
}

START_TEST(wait_tells_a_verdict) {
    fake_start(&fake, answer_wait);
    ck_assert_int_eq(run_client("wait j-9"), 1);
    assert_has(out, "j-9: FAILED\n");
    assert_has(out, "    | bye\n");
    ck_assert_int_eq(fake_stop(&fake), 0);
}
END_TEST

static void answer_doctor(int fd, bool healthy, size_t n_profiles) {
    fake_greet(fd);
    const Tb__Envelope *request = fake_receive(fd);
    if (request->body_case != TB__ENVELOPE__BODY_DOCTOR) _exit(4);
    Tb__DoctorCheck check = TB__DOCTOR_CHECK__INIT;
    Tb__DoctorCheck *checks[] = {&check};
    check.name = (char *)"urandom";
    check.expected = (char *)"works";
    check.seen = (char *)(healthy ? "works" : "no entropy");
    check.ok = healthy;
    Tb__ProfileReport profile = TB__PROFILE_REPORT__INIT;
    Tb__ProfileReport *profiles[] = {&profile};
    profile.profile = (char *)"pandas";
    profile.healthy = healthy;
    profile.checks = checks;
    profile.n_checks = 1;
    Tb__DoctorReport report = TB__DOCTOR_REPORT__INIT;
    report.healthy = true;
    report.profiles = profiles;
    report.n_profiles = n_profiles;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.request_id = request->request_id;
    envelope.body_case = TB__ENVELOPE__BODY_DOCTOR_REPORT;
    envelope.doctor_report = &report;
    fake_send(fd, &envelope);
    fake_receive(fd);
}

static void well(int fd) {
    answer_doctor(fd, true, 1);
}

static void ill(int fd) {
    answer_doctor(fd, false, 1);
}

static void empty(int fd) {
    answer_doctor(fd, true, 0);
}

START_TEST(doctor_is_0_when_all_is_well) {
    fake_start(&fake, well);
    ck_assert_int_eq(run_client("doctor"), 0);
    ck_assert_str_eq(out, "pandas: ok\n  ok urandom: works\n");
    fake_stop(&fake);
}
END_TEST

START_TEST(doctor_is_2_when_a_profile_is_ill) {
    fake_start(&fake, ill);
    ck_assert_int_eq(run_client("doctor"), 2);
    ck_assert_str_eq(out, "pandas: NOT ok\n  NOT ok urandom: expected works, seen no entropy\n");
    fake_stop(&fake);
}
END_TEST

START_TEST(doctor_is_2_when_nothing_was_examined) {
    fake_start(&fake, empty);
    ck_assert_int_eq(run_client("doctor"), 2);
    fake_stop(&fake);
}
END_TEST

static void not_found(int fd) {
    fake_greet(fd);
    fake_send_error(fd, fake_receive(fd)->request_id, TB__ERROR_CODE__NOT_FOUND, "no such job");
    fake_receive(fd);
}

START_TEST(a_refused_question_is_2) {
    fake_start(&fake, not_found);
    ck_assert_int_eq(run_client("show j-1"), 2);
    ck_assert_str_eq(err, "INFRASTRUCTURE FAILURE: refused: no such job (NOT_FOUND)\n");
    fake_stop(&fake);
}
END_TEST

/* ---- run ---- */

static int run_suite(const char *expectations, FakeScript *script, const char *option) {
    char path[128];
    snprintf(path, sizeof path, "/tmp/tbclient-suite-%d.yaml", (int)getpid());
    write_file(path, expectations);
    fake_start(&fake, script);
    const int status = run_client("run %s %s", option, path);
    unlink(path);
    fake_stop(&fake);
    return status;
}

#define TWO_CASES(first, second)                                                                   \
    "suite: s\ncases:\n- {name: one, code: x, expect: {" first "}}\n"                              \
    "- {name: two, code: x, expect: {" second "}}\n"

START_TEST(run_is_0_when_all_is_as_expected) {
    ck_assert_int_eq(
        run_suite(TWO_CASES("verdict: passed", "failures: [{code: exited}]"), pass_and_fail, ""),
        0);
    ck_assert_str_eq(out, "ok s: one\nok s: two\n2 passed, 0 failed\n");
}
END_TEST

START_TEST(run_is_1_when_a_verdict_differs) {
    ck_assert_int_eq(run_suite(TWO_CASES("verdict: failed", "verdict: failed"), pass_and_fail, ""),
                     1);
    assert_has(out, "NOT OK s: one\n  verdict: expected failed, got passed\n");
    assert_has(out, "ok s: two\n1 passed, 1 failed\n");
}
END_TEST

START_TEST(run_is_2_for_an_infrastructure_failure) {
    ck_assert_int_eq(run_suite(TWO_CASES("verdict: passed", "verdict: failed"), fail_and_break, ""),
                     2);
    assert_has(out, "0 passed, 2 failed\n");
}
END_TEST

START_TEST(run_is_0_for_an_expected_infrastructure_failure) {
    ck_assert_int_eq(run_suite(TWO_CASES("verdict: failed", "verdict: infrastructure_failure, "
                                                            "failures: [{code: "
                                                            "child_never_started}]"),
                               fail_and_break, ""),
                     0);
}
END_TEST

START_TEST(run_takes_a_lost_connection_for_no_expected_failure) {
    ck_assert_int_eq(run_suite("suite: s\ncases:\n- {name: one, code: x, expect: {verdict: "
                               "infrastructure_failure}}\n",
                               vanish_in_mid_job, ""),
                     2);
    assert_has(out, "NOT OK s: one\n");
    assert_has(out, "tbsandboxd closed the connection");
}
END_TEST

START_TEST(run_prints_json) {
    ck_assert_int_eq(
        run_suite(TWO_CASES("verdict: failed", "verdict: failed"), pass_and_fail, "--json"), 1);
    assert_has(out, "{\"suite\":\"s\",\"case\":\"one\",\"ok\":false,\"differences\":[\"verdict: "
                    "expected failed, got passed\"],\"verdict\":{");
    assert_has(out, "\n{\"suite\":\"s\",\"case\":\"two\",\"ok\":true,\"differences\":[],");
}
END_TEST

START_TEST(run_tells_every_problem_of_a_suite) {
    char path[128], expected[512];
    snprintf(path, sizeof path, "/tmp/tbclient-suite-%d.yaml", (int)getpid());
    write_file(path, "suite: s\nkases: []\ncases:\n- {name: one, code: x, expect: {vedict: x}}\n");
    ck_assert_int_eq(run_client("run %s", path), 64);
    unlink(path);
    snprintf(expected, sizeof expected,
             "%s:2:1: kases: unknown key\n%s:4:33: cases.expect.vedict: unknown key\n", path, path);
    ck_assert_str_eq(err, expected);
}
END_TEST

/* ---- results that cannot be written ---- */

START_TEST(a_full_disk_is_2) {
    fake_start(&fake, pass_one);
    setenv("TBSANDBOX_SOCKET", fake.address, 1);
    const pid_t pid = fork();
    if (pid == 0) {
        char *argv[] = {(char *)"tbclient", (char *)"submit", file_a, NULL};
        run_client_child(3, argv, "/dev/full", "/dev/null");
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 2);
    fake_stop(&fake);
}
END_TEST

static TCase *cases(void) {
    TCase *tests = tcase_create("client");
    tcase_set_timeout(tests, 20);
    tcase_add_checked_fixture(tests, make_files, remove_files);
    tcase_add_test(tests, passed_is_0);
    tcase_add_test(tests, output_of_a_passed_job_is_shown_when_asked_for);
    tcase_add_test(tests, one_failed_is_1_in_the_order_of_the_files);
    tcase_add_test(tests, infrastructure_wins_over_failed);
    tcase_add_test(tests, json_is_one_object_on_a_line);
    tcase_add_test(tests, unreachable_is_2);
    tcase_add_loop_test(tests, unreachable_is_2_for_every_command, 0, 9);
    tcase_add_loop_test(tests, misuse_is_64, 0, sizeof misuses / sizeof *misuses);
    tcase_add_test(tests, misuse_gets_one_line_with_a_hint);
    tcase_add_loop_test(tests, help_and_version_are_0, 0, 5);
    tcase_add_loop_test(tests, a_daemons_fault_is_2, 0, sizeof faults / sizeof *faults);
    tcase_add_test(tests, no_verdict_in_time_is_2);
    tcase_add_test(tests, interrupt_is_130_and_names_the_jobs);
    tcase_add_test(tests, a_full_daemon_is_asked_again);
    tcase_add_test(tests, a_full_daemon_is_2_in_the_end);
    tcase_add_test(tests, submit_sends_what_was_said);
    tcase_add_test(tests, wait_tells_a_verdict);
    tcase_add_test(tests, doctor_is_0_when_all_is_well);
    tcase_add_test(tests, doctor_is_2_when_a_profile_is_ill);
    tcase_add_test(tests, doctor_is_2_when_nothing_was_examined);
    tcase_add_test(tests, a_refused_question_is_2);
    tcase_add_test(tests, run_is_0_when_all_is_as_expected);
    tcase_add_test(tests, run_is_1_when_a_verdict_differs);
    tcase_add_test(tests, run_is_2_for_an_infrastructure_failure);
    tcase_add_test(tests, run_is_0_for_an_expected_infrastructure_failure);
    tcase_add_test(tests, run_takes_a_lost_connection_for_no_expected_failure);
    tcase_add_test(tests, run_prints_json);
    tcase_add_test(tests, run_tells_every_problem_of_a_suite);
    tcase_add_test(tests, a_full_disk_is_2);
    return tests;
}

int main(void) {
    Suite *suite = suite_create("client");
    suite_add_tcase(suite, cases());
    return fake_run(suite);
}
