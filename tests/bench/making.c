#include "making.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "platform/child.h"
#include "platform/workdir.h"

enum { US_PER_S = 1000000, BENCH_UID = 1879048200, LIMIT_MS = 10000 };

static const Limits limits = {
    .wall_ms = LIMIT_MS,
    .cpu_ms = LIMIT_MS,
    .memory_bytes = 1 << 28,
    .output_bytes = 1 << 20,
    .disk_bytes = 1 << 20,
    .processes = 8,
    .open_files = 64,
};

/* Enough for a program that does nothing. */
static int plan_root(RootPlan *plan) {
    static const char *const paths[] = {"/usr", "/etc/ld.so.cache", NULL};
    static const char *const links[][2] = {
        {"/lib", "usr/lib"}, {"/lib64", "usr/lib64"}, {"/bin", "usr/bin"}, {NULL, NULL}};
    int r = 0;
    for (int i = 0; r == 0 && paths[i]; i++) r = text_list_append(&plan->paths, paths[i]);
    for (int i = 0; r == 0 && links[i][0]; i++)
        r = root_plan_add_link(plan, links[i][0], links[i][1]);
    return r;
}

typedef struct Making {
    RootPlan plan;
    Enclosure *enclosure;
    Workdir *workdir;
    char directory[64];
} Making;

static int make_place(Making *making, bool has_layers) {
    StepFailure failure = {"make an enclosure", 0};
    if (!has_layers) {
        snprintf(making->directory, sizeof making->directory, "/tmp/tbsandbox-bench-%d",
                 (int)getpid());
        return workdir_make(making->directory, &making->workdir);
    }
    int r = plan_root(&making->plan);
    const EnclosureSpec spec = {
        .uid = BENCH_UID, .root = &making->plan, .disk_bytes = limits.disk_bytes};
    if (r == 0) r = enclosure_enter(&spec, &failure, &making->enclosure);
    if (r > 0) fprintf(stderr, "cannot %s: %s\n", failure.step, strerror(failure.error));
    if (r == 0)
        r = workdir_adopt(enclosure_work_fd(making->enclosure), ENCLOSURE_WORK, &making->workdir);
    return r > 0 ? -EPERM : r;
}

static int make(bool has_layers) {
    Making making = {0};
    const TextList hidden = {0};
    const ChildEnv environment = {0};
    int channel[2];
    ChildSpec spec = {
        .interpreter = "/usr/bin/true",
        .environment = &environment,
        .limits = &limits,
        .hidden = &hidden,
        .proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
    };
    if (spec.proc_fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0)
        return -errno;
    int r = make_place(&making, has_layers);
    if (r < 0) return r;
    for (ChildLayer layer = 0; has_layers && layer < CHILD_LAYER_CGROUP; layer++)
        spec.layers[layer] = true;
    spec.channel = channel[0];
    spec.workdir = making.workdir;
    spec.enclosure = making.enclosure;
    Child *child = NULL;
    StepFailure failure = {0};
    r = child_spawn(&spec, &failure, &child);
    if (r != 0) {
        fprintf(stderr, "cannot %s: %s\n", failure.step ? failure.step : "spawn",
                strerror(failure.error));
        return -EIO;
    }
    ChildEvent event;
    ChildExit exit;
    r = child_next(child, clock_mono_ns() + LIMIT_MS * NS_PER_MS, &event);
    if (r == 0) r = child_reap(child, LIMIT_MS, &exit);
    TreeUsage unused = {0};
    if (making.enclosure) {
        enclosure_kill(making.enclosure);
        if (r == 0) r = enclosure_reap(making.enclosure, LIMIT_MS, &unused);
    } else {
        (void)workdir_remove(making.directory);
    }
    return r == 0 ? 0 : -EIO;
}

static uint64_t to_us(struct timeval time) {
    return (uint64_t)time.tv_sec * US_PER_S + (uint64_t)time.tv_usec;
}

static uint64_t used_us(int who) {
    struct rusage usage;
    getrusage(who, &usage);
    return to_us(usage.ru_utime) + to_us(usage.ru_stime);
}

static _Noreturn void run(bool has_layers, int out) {
    const uint64_t before_us = used_us(RUSAGE_SELF);
    const int r = make(has_layers);
    const uint64_t cpu_us = used_us(RUSAGE_SELF) - before_us + used_us(RUSAGE_CHILDREN);
    _exit(r == 0 && write(out, &cpu_us, sizeof cpu_us) == (ssize_t)sizeof cpu_us ? 0 : 1);
}

int making_measure(bool has_layers, uint64_t *ret_cpu_us) {
    int ends[2];
    if (pipe(ends) != 0) return -errno;
    CLEANUP(closep) int in = ends[0];
    CLEANUP(closep) int out = ends[1];
    const pid_t pid = fork();
    if (pid < 0) return -errno;
    if (pid == 0) run(has_layers, out);
    out = close_fd(out);
    const ssize_t n = read(in, ret_cpu_us, sizeof *ret_cpu_us);
    waitpid(pid, NULL, 0);
    return n == (ssize_t)sizeof *ret_cpu_us ? 0 : -EIO;
}
