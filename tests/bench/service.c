#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "client/link.h"
#include "client/submission.h"
#include "platform/workdir.h"

enum { PATH_BYTES = 256, PATIENCE_MS = 60000, PAUSE_US = 300, NS_PER_US = 1000 };

struct Service {
    char directory[PATH_BYTES / 4];
    pid_t pid;
    Link *link;
};

static const char config[] =
    "listen: {socket: %s/socket}\n"
    "paths: {runtime_directory: %s/run, state_directory: %s/state, warden: %s/tbwarden}\n"
    "log: {level: warning}\n"
    "self_test: false\n"
    "profiles:\n"
    "  on:\n"
    "    preload: [numpy, pandas]\n"
    "    allowed_imports: [numpy, pandas]\n"
    "    pool: {min_ready: 1, max: 2, ready_timeout_s: 60}\n"
    "  off:\n"
    "    preload: [numpy, pandas]\n"
    "    allowed_imports: [numpy, pandas]\n"
    "    pool: {min_ready: 1, max: 2, ready_timeout_s: 60}\n"
    "    isolation: {required: [], optional: []}\n";

static int complain(const char *what, int error) {
    fprintf(stderr, "bench: %s: %s\n", what, strerror(-error));
    return error;
}

static int write_config(const Service *service, const char *build) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/config.yaml", service->directory);
    CLEANUP(fclosep) FILE *file = fopen(path, "we");
    if (!file) return -errno;
    const char *place = service->directory;
    return fprintf(file, config, place, place, place, build) < 0 ? -EIO : 0;
}

static int start_daemon(Service *service, const char *build) {
    extern char **environ;
    char program[PATH_BYTES], path[PATH_BYTES];
    snprintf(program, sizeof program, "%s/tbsandboxd", build);
    snprintf(path, sizeof path, "%s/config.yaml", service->directory);
    char *const argv[] = {program, (char *)"--config", path, NULL};
    return -posix_spawn(&service->pid, program, NULL, NULL, argv, environ);
}

static void pause_us(long us) {
    const struct timespec pause = {.tv_nsec = us * NS_PER_US};
    nanosleep(&pause, NULL);
}

static int connect_to(Service *service) {
    char address[PATH_BYTES];
    Trouble trouble = {0};
    snprintf(address, sizeof address, "%s/socket", service->directory);
    const uint64_t deadline_ms = clock_mono_ms() + PATIENCE_MS;
    while (clock_mono_ms() < deadline_ms) {
        if (link_open(address, deadline_ms, &trouble, &service->link) == 0) return 0;
        pause_us(10 * PAUSE_US);
    }
    fprintf(stderr, "bench: %s\n", trouble.text);
    return -ECONNREFUSED;
}

int service_start(const char *build, Service **ret_service) {
    Service *service = calloc(1, sizeof *service);
    if (!service) return -ENOMEM;
    snprintf(service->directory, sizeof service->directory, "/tmp/tbsandbox-bench-XXXXXX");
    int r = mkdtemp(service->directory) ? 0 : -errno;
    if (r == 0) r = write_config(service, build);
    if (r == 0) r = start_daemon(service, build);
    if (r == 0) r = connect_to(service);
    if (r < 0) {
        service_stop(service);
        return complain("cannot start a daemon", r);
    }
    *ret_service = service;
    return 0;
}

Service *service_stop(Service *service) {
    if (!service) return NULL;
    link_close(service->link);
    if (service->pid > 0) {
        kill(service->pid, SIGTERM);
        waitpid(service->pid, NULL, 0);
    }
    (void)workdir_remove(service->directory);
    free(service);
    return NULL;
}

/* The next message of this body; what comes before it is passed over. */
static int await(Service *service, Tb__Envelope__BodyCase body, Tb__Envelope **ret_envelope) {
    const uint64_t deadline_ms = clock_mono_ms() + PATIENCE_MS;
    for (;;) {
        CLEANUP(link_message_freep) Tb__Envelope *envelope = NULL;
        Trouble trouble = {0};
        if (link_receive(service->link, deadline_ms, &trouble, &envelope) != 0 ||
            envelope->body_case == TB__ENVELOPE__BODY_ERROR) {
            fprintf(stderr, "bench: %s\n", trouble.text);
            return -EPROTO;
        }
        if (envelope->body_case != body) continue;
        *ret_envelope = TAKE(envelope);
        return 0;
    }
}

static int ask(Service *service, Tb__Envelope *request) {
    Trouble trouble = {0};
    uint64_t id;
    return link_send(service->link, request, &trouble, &id) == 0 ? 0 : -EPIPE;
}

static bool has_ready(const Tb__Status *status, const char *profile) {
    for (size_t i = 0; i < status->n_profiles; i++)
        if (strcmp(status->profiles[i]->name, profile) == 0) return status->profiles[i]->ready > 0;
    return false;
}

static int await_ready(Service *service, const char *profile) {
    const uint64_t deadline_ms = clock_mono_ms() + PATIENCE_MS;
    while (clock_mono_ms() < deadline_ms) {
        CLEANUP(link_message_freep) Tb__Envelope *envelope = NULL;
        Tb__GetStatus get = TB__GET_STATUS__INIT;
        Tb__Envelope request = TB__ENVELOPE__INIT;
        request.body_case = TB__ENVELOPE__BODY_GET_STATUS;
        request.get_status = &get;
        int r = ask(service, &request);
        if (r == 0) r = await(service, TB__ENVELOPE__BODY_STATUS, &envelope);
        if (r < 0) return r;
        if (has_ready(envelope->status, profile)) return 0;
        pause_us(PAUSE_US);
    }
    return -ETIMEDOUT;
}

int service_run(Service *service, const char *profile, const char *code, uint64_t *ret_us) {
    CLEANUP(link_message_freep) Tb__Envelope *envelope = NULL;
    CLEANUP(arena_deinit) Arena arena = {0};
    Tb__Submit submit = TB__SUBMIT__INIT;
    submit.code = (ProtobufCBinaryData){strlen(code), (uint8_t *)code};
    submit.file_name = (char *)"bench.py";
    submit.profile = (char *)profile;
    submit.follow = true;
    Tb__Envelope request = TB__ENVELOPE__INIT;
    request.body_case = TB__ENVELOPE__BODY_SUBMIT;
    request.submit = &submit;
    int r = submission_set_key(&submit, &arena);
    if (r == 0) r = await_ready(service, profile);
    const uint64_t start_ns = clock_mono_ns();
    if (r == 0) r = ask(service, &request);
    if (r == 0) r = await(service, TB__ENVELOPE__BODY_VERDICT, &envelope);
    *ret_us = (clock_mono_ns() - start_ns) / NS_PER_US;
    if (r == 0 && envelope->verdict->kind != TB__VERDICT_KIND__PASSED) r = -EBADMSG;
    return r < 0 ? complain(profile, r) : 0;
}

int service_run_cold(const char *code, uint64_t *ret_us) {
    char *const argv[] = {
        (char *)"/usr/bin/python3", (char *)"-I", (char *)"-B", (char *)"-c", (char *)code, NULL};
    char *const environment[] = {(char *)"OPENBLAS_NUM_THREADS=1", NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    const uint64_t start_ns = clock_mono_ns();
    const int r = posix_spawn(&pid, argv[0], &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    if (r != 0) return complain(argv[0], -r);
    if (waitpid(pid, &status, 0) != pid || status != 0) return complain("a cold run failed", -EIO);
    *ret_us = (clock_mono_ns() - start_ns) / NS_PER_US;
    return 0;
}
