#include "cold.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/submission.h"
#include "platform/workdir.h"

enum { PATH_BYTES = 128, READ_BYTES = 65536 };

static const char interpreter[] = "/usr/bin/python3";

static bool write_file(const char *directory, const char *name, const char *bytes, size_t n_bytes) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    if (!file) return false;
    const bool is_written = fwrite(bytes, 1, n_bytes, file) == n_bytes;
    return fclose(file) == 0 && is_written;
}

static int spawn(const char *directory, int out, pid_t *ret_pid) {
    char home[PATH_BYTES];
    snprintf(home, sizeof home, "HOME=%s", directory);
    const char *const argv[] = {interpreter, "-I", "-B", "bench.py", NULL};
    const char *const environment[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", home, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    int error = posix_spawn_file_actions_addchdir_np(&actions, directory);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (error == 0)
        error = posix_spawn(ret_pid, interpreter, &actions, NULL, (char *const *)argv,
                            (char *const *)environment);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Reads to the end. */
static size_t drain(int fd) {
    char buffer[READ_BYTES];
    size_t n_bytes = 0;
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0) n_bytes += (size_t)n;
    return n_bytes;
}

static int run_in(const char *directory, WorkloadKind kind, const char *input, size_t input_bytes,
                  Trouble *trouble) {
    const char *code = workload_code(kind);
    int ends[2];
    if (!write_file(directory, "bench.py", code, strlen(code)) ||
        !write_file(directory, SUBMISSION_INPUT_NAME, input, input_bytes) ||
        pipe2(ends, O_CLOEXEC) != 0)
        return trouble_set(trouble, "cannot prepare a cold run: %s", strerror(errno));
    CLEANUP(closep) int in = ends[0];
    CLEANUP(closep) int out = ends[1];
    pid_t pid;
    int status;
    const int error = spawn(directory, out, &pid);
    if (error != 0)
        return trouble_set(trouble, "cannot start %s: %s", interpreter, strerror(error));
    out = close_fd(out);
    const size_t n_bytes = drain(in);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (status == 0 && n_bytes > 0) return 0;
    return trouble_set(trouble, "a cold run ended with status %#x", (unsigned)status);
}

int cold_run(WorkloadKind kind, Trouble *trouble, uint64_t *ret_ns) {
    CLEANUP(freep) char *input = NULL;
    size_t input_bytes;
    char directory[] = "/tmp/tbsandbox-cold-XXXXXX";
    if (workload_input(kind, &input, &input_bytes) < 0)
        return trouble_set(trouble, "%s", strerror(ENOMEM));
    const uint64_t started_ns = clock_mono_ns();
    if (!mkdtemp(directory))
        return trouble_set(trouble, "cannot make a directory in /tmp: %s", strerror(errno));
    const int r = run_in(directory, kind, input, input_bytes, trouble);
    *ret_ns = clock_mono_ns() - started_ns;
    (void)workdir_remove(directory);
    return r;
}
