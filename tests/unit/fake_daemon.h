/* Fake daemon: a forked child that answers clients at a Unix socket the way a test wants it to. For
 * tests of the client only; included by each, so everything is static. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>

#include "tbsandbox.pb-c.h"
#include "wire.h"

typedef void FakeScript(int fd);

typedef struct FakeDaemon {
    char directory[64];
    char address[96];
    pid_t pid;
} FakeDaemon;

/* ---- used by scripts, in the child; any surprise ends it ---- */

__attribute__((unused)) static void fake_write(int fd, const void *bytes, size_t n_bytes) {
    const char *p = bytes;
    while (n_bytes > 0) {
        const ssize_t n = send(fd, p, n_bytes, MSG_NOSIGNAL);
        if (n <= 0) _exit(3);
        p += n;
        n_bytes -= (size_t)n;
    }
}

__attribute__((unused)) static void fake_send(int fd, const Tb__Envelope *envelope) {
    uint8_t *frame = NULL;
    size_t frame_bytes = 0;
    if (wire_pack(&envelope->base, &frame, &frame_bytes) != 0) _exit(3);
    fake_write(fd, frame, frame_bytes);
    free(frame);
}

static bool fake_read_bytes(int fd, uint8_t *bytes, size_t n_bytes) {
    while (n_bytes > 0) {
        const ssize_t n = read(fd, bytes, n_bytes);
        if (n <= 0) return false;
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

/* The next request; ends the child when the client has gone. Freed by its death. */
__attribute__((unused)) static Tb__Envelope *fake_receive(int fd) {
    uint8_t header[WIRE_HEADER_BYTES];
    size_t n_bytes = 0;
    if (!fake_read_bytes(fd, header, sizeof header)) _exit(0);
    if (wire_payload_length(header, 64 << 20, &n_bytes) != 0) _exit(3);
    uint8_t *payload = malloc(n_bytes + 1);
    if (!payload || !fake_read_bytes(fd, payload, n_bytes)) _exit(3);
    ProtobufCMessage *message = NULL;
    if (wire_unpack(&tb__envelope__descriptor, payload, n_bytes, &message) != 0) _exit(3);
    free(payload);
    return (Tb__Envelope *)message;
}

__attribute__((unused)) static void fake_greet(int fd) {
    const Tb__Envelope *greeting = fake_receive(fd);
    if (greeting->body_case != TB__ENVELOPE__BODY_HELLO) _exit(3);
    Tb__Hello hello = TB__HELLO__INIT;
    char software[] = "tbsandboxd 0.0.0-fake";
    hello.protocol = 1;
    hello.software = software;
    hello.max_frame_bytes = 1 << 20;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.body_case = TB__ENVELOPE__BODY_HELLO;
    envelope.hello = &hello;
    fake_send(fd, &envelope);
}

__attribute__((unused)) static void fake_send_accepted(int fd, uint64_t request_id,
                                                       const char *job_id) {
    Tb__Accepted accepted = TB__ACCEPTED__INIT;
    accepted.job_id = (char *)job_id;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.request_id = request_id;
    envelope.body_case = TB__ENVELOPE__BODY_ACCEPTED;
    envelope.accepted = &accepted;
    fake_send(fd, &envelope);
}

__attribute__((unused)) static void fake_send_error(int fd, uint64_t request_id, Tb__ErrorCode code,
                                                    const char *message) {
    Tb__Error error = TB__ERROR__INIT;
    error.code = code;
    error.message = (char *)message;
    error.retry_after_ms = code == TB__ERROR_CODE__RESOURCE_EXHAUSTED ? 20 : 0;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.request_id = request_id;
    envelope.body_case = TB__ENVELOPE__BODY_ERROR;
    envelope.error = &error;
    fake_send(fd, &envelope);
}

/* A verdict that holds together; `output` is its stdout. */
__attribute__((unused)) static void fake_send_verdict(int fd, uint64_t request_id,
                                                      const char *job_id, Tb__VerdictKind kind,
                                                      const char *output) {
    char *stages[] = {(char *)"parse", (char *)"allowlist", (char *)"compile", (char *)"execute"};
    Tb__Failure failure = TB__FAILURE__INIT;
    Tb__Failure *failures[] = {&failure};
    const bool is_infrastructure = kind == TB__VERDICT_KIND__INFRASTRUCTURE_FAILURE;
    failure.code = (char *)(is_infrastructure ? "child_never_started" : "exited");
    failure.message = (char *)(is_infrastructure ? "no luck" : "generated code exited 3: oh");
    Tb__Output out = TB__OUTPUT__INIT;
    out.head = (ProtobufCBinaryData){.len = strlen(output), .data = (uint8_t *)output};
    out.total_bytes = strlen(output);
    Tb__Verdict verdict = TB__VERDICT__INIT;
    verdict.job_id = (char *)job_id;
    verdict.kind = kind;
    verdict.failures = failures;
    verdict.n_failures = kind != TB__VERDICT_KIND__PASSED;
    verdict.child_started = !is_infrastructure;
    verdict.stages = stages;
    verdict.n_stages = is_infrastructure ? 0 : 4;
    verdict.attempts = 1;
    verdict.stdout = &out;
    Tb__Envelope envelope = TB__ENVELOPE__INIT;
    envelope.request_id = request_id;
    envelope.body_case = TB__ENVELOPE__BODY_VERDICT;
    envelope.verdict = &verdict;
    fake_send(fd, &envelope);
}

/* ---- used by tests ---- */

static int fake_listen(FakeDaemon *fake) {
    strcpy(fake->directory, "/tmp/tbclient-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(fake->directory));
    snprintf(fake->address, sizeof fake->address, "%s/socket", fake->directory);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path, fake->address, strlen(fake->address));
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    return fd;
}

/* Runs the script for one connection, then ends. */
__attribute__((unused)) static void fake_start(FakeDaemon *fake, FakeScript *script) {
    const int listener = fake_listen(fake);
    fake->pid = fork();
    ck_assert_int_ge(fake->pid, 0);
    if (fake->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int fd = accept(listener, NULL, NULL);
        if (fd < 0) _exit(3);
        close(listener);
        script(fd);
        _exit(0);
    }
    close(listener);
}

/* Its exit status; -1 when it had to be killed. */
__attribute__((unused)) static int fake_stop(FakeDaemon *fake) {
    int status = 0;
    /* It has ended, or waits for a client that is gone. */
    for (int i = 0; i < 100 && waitpid(fake->pid, &status, WNOHANG) == 0; i++) {
        if (i == 99) {
            kill(fake->pid, SIGKILL);
            waitpid(fake->pid, &status, 0);
        }
        usleep(10000);
    }
    unlink(fake->address);
    rmdir(fake->directory);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Runs a suite of one test case; what main returns. */
__attribute__((unused)) static int fake_run(Suite *suite) {
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
