#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/host.h"
#include "client/link.h"
#include "platform/workdir.h"

enum {
    PATH_BYTES = 4096,
    NAME_BYTES = 64,
    START_LIMIT_MS = 60000,
    HELLO_LIMIT_MS = 1000,
    STOP_LIMIT_MS = 20000,
    POLL_MS = 20,
    LAST_WORDS_BYTES = 4000,
};

struct Service {
    char directory[NAME_BYTES];
    char socket[NAME_BYTES + 32];
    pid_t pid;
};

/* What both profiles of a pair have; the built-in ones, as conf/tbsandboxd.yaml shows them. */
static const char *const library_keys[] = {
    [SERVICE_STDLIB] =
        "    preload: [collections, csv, datetime, decimal, json, math, re, statistics]\n",
    [SERVICE_PANDAS] = "    preload: [numpy, pandas]\n"
                       "    allowed_imports: [pandas, numpy, freshdata]\n"
                       "    warmup: |\n"
                       "      import io\n"
                       "      import pandas as pd\n"
                       "      frame = pd.read_csv(io.StringIO(\"k,v\\na,1\\nb,2\\na,3\\n\"))\n"
                       "      print(frame.describe())\n"
                       "      print(frame.groupby(\"k\")[\"v\"].sum())\n",
};

static int write_config(const Service *service, const char *build, const ServiceProfile *profiles,
                        size_t n_profiles, Trouble *trouble) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/config.yaml", service->directory);
    CLEANUP(fclosep) FILE *file = fopen(path, "we");
    if (!file) return trouble_set(trouble, "cannot write %s: %s", path, strerror(errno));
    fprintf(file,
            "listen: {socket: \"%s\"}\n"
            "paths: {runtime_directory: \"%s/run\", state_directory: \"%s/state\", "
            "warden: \"%s/tbwarden\"}\n"
            "jobs: {keep_finished: 20}\n"
            "self_test: false\n"
            "profiles:\n",
            service->socket, service->directory, service->directory, build);
    for (size_t i = 0; i < n_profiles; i++) {
        const ServiceProfile *profile = &profiles[i];
        fprintf(file, "  %s:\n%s", profile->name, library_keys[profile->libraries]);
        fprintf(file, "    pool: {min_ready: %u, max: %u, ready_timeout_s: 60}\n",
                profile->min_ready, profile->max);
        if (profile->is_bare) fputs("    isolation: {required: [], optional: []}\n", file);
    }
    if (fflush(file) == 0) return 0;
    return trouble_set(trouble, "cannot write %s: %s", path, strerror(errno));
}

static _Noreturn void run(const Service *service, const char *build, pid_t parent) {
    char program[PATH_BYTES], config[PATH_BYTES], log[PATH_BYTES];
    snprintf(program, sizeof program, "%s/tbsandboxd", build);
    snprintf(config, sizeof config, "%s/config.yaml", service->directory);
    snprintf(log, sizeof log, "%s/log", service->directory);
    const int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0) _exit(127);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent) _exit(127);
    execl(program, program, "--config", config, (char *)NULL);
    dprintf(STDERR_FILENO, "cannot execute %s: %s\n", program, strerror(errno));
    _exit(127);
}

static void show_last_words(const Service *service) {
    char path[PATH_BYTES], text[LAST_WORDS_BYTES];
    snprintf(path, sizeof path, "%s/log", service->directory);
    CLEANUP(fclosep) FILE *file = fopen(path, "re");
    if (!file) return;
    if (fseek(file, -(long)sizeof text, SEEK_END) != 0) rewind(file);
    const size_t n = fread(text, 1, sizeof text, file);
    fprintf(stderr, "--- the daemon's last lines:\n%.*s", (int)n, text);
}

/* True once it is dead and reaped. */
static bool is_dead(Service *service, int *ret_status) {
    if (waitpid(service->pid, ret_status, WNOHANG) != service->pid) return false;
    service->pid = 0;
    return true;
}

static int await(Service *service, Trouble *trouble) {
    const uint64_t until_ms = clock_mono_ms() + START_LIMIT_MS;
    for (;;) {
        CLEANUP(link_closep) Link *link = NULL;
        Trouble unused;
        int status;
        if (link_open(service->socket, clock_mono_ms() + HELLO_LIMIT_MS, &unused, &link) == 0)
            return 0;
        if (is_dead(service, &status)) return trouble_set(trouble, "the daemon did not start");
        if (host_sleep_ms(POLL_MS) != 0) return trouble_set(trouble, "interrupted");
        if (clock_mono_ms() >= until_ms) return trouble_set(trouble, "the daemon does not answer");
    }
}

static int start(Service *service, const char *build, Trouble *trouble) {
    const pid_t parent = getpid();
    fflush(NULL);
    service->pid = fork();
    if (service->pid < 0) {
        service->pid = 0;
        return trouble_set(trouble, "cannot fork: %s", strerror(errno));
    }
    if (service->pid == 0) run(service, build, parent);
    const int r = await(service, trouble);
    if (r != 0) show_last_words(service);
    return r;
}

int service_start(const char *build, const ServiceProfile *profiles, size_t n_profiles,
                  Trouble *trouble, Service **ret_service) {
    CLEANUP(service_stopp) Service *service = calloc(1, sizeof *service);
    if (!service) return trouble_set(trouble, "%s", strerror(ENOMEM));
    snprintf(service->directory, sizeof service->directory, "/tmp/tbsandbox-bench-XXXXXX");
    if (!mkdtemp(service->directory)) {
        service->directory[0] = '\0';
        return trouble_set(trouble, "cannot make a directory in /tmp: %s", strerror(errno));
    }
    if (chmod(service->directory, 0755) != 0) return trouble_set(trouble, "%s", strerror(errno));
    snprintf(service->socket, sizeof service->socket, "%s/run/tbsandboxd.sock", service->directory);
    int r = write_config(service, build, profiles, n_profiles, trouble);
    if (r == 0) r = start(service, build, trouble);
    if (r == 0) *ret_service = TAKE(service);
    return r;
}

static void end(Service *service) {
    const uint64_t until_ms = clock_mono_ms() + STOP_LIMIT_MS;
    int status = 0;
    kill(service->pid, SIGTERM);
    while (!is_dead(service, &status)) {
        const struct timespec pause = {0, POLL_MS * (long)NS_PER_MS};
        if (clock_mono_ms() >= until_ms) kill(service->pid, SIGKILL);
        nanosleep(&pause, NULL);
    }
    if (status == 0) return;
    fprintf(stderr, "bench: the daemon ended with status %#x\n", (unsigned)status);
    show_last_words(service);
}

Service *service_stop(Service *service) {
    if (!service) return NULL;
    if (service->pid > 0) end(service);
    if (service->directory[0] && workdir_remove(service->directory) != 0)
        fprintf(stderr, "bench: cannot remove %s\n", service->directory);
    free(service);
    return NULL;
}

const char *service_socket(const Service *service) {
    return service->socket;
}

pid_t service_pid(const Service *service) {
    return service->pid;
}

const char *service_directory(const Service *service) {
    return service->directory;
}
