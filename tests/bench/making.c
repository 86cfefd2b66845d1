#include "making.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "platform/child.h"
#include "platform/enclosure.h"
#include "platform/probe.h"
#include "platform/supervisor.h"
#include "platform/workdir.h"

enum {
    PATH_BYTES = 128,
    LEFT_OUT_BYTES = 256,
    LIMIT_MS = 10000,
    US_PER_S = 1000000,
    FIRST_UID = 1879048192, /* as jobs.first_uid has it; the daemon takes the next ones first */
    LAST_UID = FIRST_UID + 65535,
};

struct Making {
    char directory[PATH_BYTES / 2];
    char program[PATH_BYTES];
    char workdir[PATH_BYTES];
    RootPlan root; /* the program alone */
    TextList hidden;
    bool layers[CHILD_LAYER_COUNT];
    char left_out[LEFT_OUT_BYTES];
};

static const Limits limits = {
    .wall_ms = 10000,
    .cpu_ms = 10000,
    .memory_bytes = 1 << 30,
    .output_bytes = 64 << 20,
    .disk_bytes = 256 << 20,
    .processes = 64,
    .open_files = 256,
};

/* --- In the process that is measured -------------------------------------------------------- */

/* What a run holds, in the order of the warden's cell. */
typedef struct Cell {
    Enclosure *enclosure;
    Workdir *workdir;
    Child *child;
    int proc_fd;
} Cell;

static StepFailure failed(const char *step, int r) {
    return (StepFailure){step, r < 0 ? -r : ETIMEDOUT};
}

static StepFailure make_walls(const Making *making, Cell *cell) {
    const EnclosureSpec spec = {
        .uid = LAST_UID, .root = &making->root, .disk_bytes = limits.disk_bytes};
    StepFailure failure = {NULL, 0};
    int r = enclosure_enter(&spec, &failure, &cell->enclosure);
    if (r == ENCLOSURE_E_REFUSED) return failure;
    if (r == 0)
        r = workdir_adopt(enclosure_work_fd(cell->enclosure), ENCLOSURE_WORK, &cell->workdir);
    return r < 0 ? failed("enclose itself", r) : (StepFailure){NULL, 0};
}

static StepFailure start(const Making *making, bool with_layers, Cell *cell) {
    static const ChildEnv environment;
    ChildSpec spec = {
        .interpreter = making->program,
        .environment = &environment,
        .workdir = cell->workdir,
        .limits = &limits,
        .channel = -1,
        .proc_fd = cell->proc_fd,
        .enclosure = cell->enclosure,
        .hidden = &making->hidden,
    };
    StepFailure failure = {NULL, 0};
    if (with_layers) memcpy(spec.layers, making->layers, sizeof spec.layers);
    int r = child_spawn(&spec, &failure, &cell->child);
    if (r == CHILD_E_NOT_STARTED) return failure;
    if (r < 0) return failed("start the program", r);
    ChildEvent event;
    r = child_next(cell->child, clock_mono_ns() + LIMIT_MS * NS_PER_MS, &event);
    if (r < 0 || event.kind != CHILD_MARKER) return failed("hear from the program", r);
    return failure;
}

/* A measurement without the layers would be one of nothing. */
static StepFailure observe(const Making *making, bool with_layers, Cell *cell) {
    ChildView view;
    const int r = child_observe(cell->child, &view);
    if (r != 0) return failed("observe the program", r);
    for (ChildLayer layer = 0; with_layers && layer < CHILD_LAYER_COUNT; layer++)
        if (making->layers[layer] && !view.layers[layer])
            return (StepFailure){child_layer_name(layer), ENOPROTOOPT};
    return (StepFailure){NULL, 0};
}

static StepFailure end(const Making *making, Cell *cell) {
    TreeUsage unused = {0};
    ChildExit exit;
    if (cell->enclosure) enclosure_kill(cell->enclosure);
    child_kill(cell->child);
    int r = child_reap(cell->child, LIMIT_MS, &exit);
    if (r == 0 && cell->enclosure) r = enclosure_reap(cell->enclosure, LIMIT_MS, &unused);
    if (r == 0 && !cell->enclosure) r = tree_kill(NULL, 0, LIMIT_MS, &unused);
    child_free(cell->child);
    workdir_free(cell->workdir);
    if (r == 0 && !cell->enclosure) r = workdir_remove(making->workdir);
    enclosure_free(cell->enclosure);
    close_fd(cell->proc_fd);
    return r == 0 ? (StepFailure){NULL, 0} : failed("end the program", r);
}

static StepFailure make_and_end(const Making *making, bool with_layers, pid_t parent) {
    Cell cell = {.proc_fd = -1};
    StepFailure failure = {NULL, 0};
    int r = supervisor_enter(parent);
    if (r != 0) return failed("be a supervisor", r);
    cell.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cell.proc_fd < 0) return failed("open /proc", -errno);
    if (with_layers)
        failure = make_walls(making, &cell);
    else if ((r = workdir_make(making->workdir, &cell.workdir)) < 0)
        failure = failed("make a work directory", r);
    if (!failure.step) failure = start(making, with_layers, &cell);
    if (!failure.step) failure = observe(making, with_layers, &cell);
    if (failure.step) return failure;
    return end(making, &cell);
}

/* --- In the bench ---------------------------------------------------------------------------- */

static uint64_t cpu_us(const struct rusage *usage) {
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * US_PER_S +
           (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

/* Steps are static texts, at the same place on both sides of a fork. */
int making_run(Making *making, bool with_layers, Trouble *trouble, uint64_t *ret_cpu_us) {
    StepFailure failure = {"report", EPIPE};
    const pid_t parent = getpid();
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) return trouble_set(trouble, "%s", strerror(errno));
    const pid_t pid = fork();
    if (pid == 0) {
        failure = make_and_end(making, with_layers, parent);
        _exit(write(ends[1], &failure, sizeof failure) == (ssize_t)sizeof failure ? 0 : 1);
    }
    const int error = errno;
    close(ends[1]);
    CLEANUP(closep) int in = ends[0];
    if (pid < 0) return trouble_set(trouble, "cannot fork: %s", strerror(error));
    if (read(in, &failure, sizeof failure) != (ssize_t)sizeof failure)
        failure = (StepFailure){"report", EPIPE};
    struct rusage usage;
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) continue;
    if (failure.step || status != 0)
        return trouble_set(trouble, "an environment %s layers: cannot %s: %s",
                           with_layers ? "with" : "without", failure.step ? failure.step : "end",
                           strerror(failure.error));
    *ret_cpu_us = cpu_us(&usage);
    return 0;
}

/* The control group is made by the broker and is no part of this. */
static int choose_layers(Making *making, Trouble *trouble) {
    StepFailure missing[CHILD_LAYER_COUNT];
    const int r = probe_layers(LAST_UID, missing);
    if (r < 0) return trouble_set(trouble, "cannot probe layers: %s", strerror(-r));
    for (ChildLayer layer = 0; layer < CHILD_LAYER_COUNT; layer++) {
        const bool is_optional = layer == CHILD_LAYER_LANDLOCK || layer == CHILD_LAYER_CGROUP;
        if (missing[layer].step && !is_optional)
            return trouble_set(trouble, "layer %s is not to be had: cannot %s: %s",
                               child_layer_name(layer), missing[layer].step,
                               strerror(missing[layer].error));
        making->layers[layer] = !missing[layer].step && layer != CHILD_LAYER_CGROUP;
        if (making->layers[layer]) continue;
        const size_t n = strlen(making->left_out);
        snprintf(making->left_out + n, sizeof making->left_out - n, "%s%s", n ? ", " : "",
                 child_layer_name(layer));
    }
    return 0;
}

static bool copy(const char *from, const char *to) {
    CLEANUP(closep) int in = open(from, O_RDONLY | O_CLOEXEC);
    CLEANUP(closep) int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    struct stat st;
    if (in < 0 || out < 0 || fstat(in, &st) != 0 || fchmod(out, 0755) != 0) return false;
    while (st.st_size > 0) {
        const ssize_t n = sendfile(out, in, NULL, (size_t)st.st_size);
        if (n <= 0) return false;
        st.st_size -= n;
    }
    return true;
}

static int prepare(Making *making, const char *program, Trouble *trouble) {
    snprintf(making->directory, sizeof making->directory, "/tmp/tbsandbox-making-XXXXXX");
    if (!mkdtemp(making->directory)) {
        making->directory[0] = '\0';
        return trouble_set(trouble, "cannot make a directory in /tmp: %s", strerror(errno));
    }
    snprintf(making->program, sizeof making->program, "%s/idle", making->directory);
    snprintf(making->workdir, sizeof making->workdir, "%s/environment", making->directory);
    if (chmod(making->directory, 0755) != 0 || !copy(program, making->program))
        return trouble_set(trouble, "cannot copy %s: %s", program, strerror(errno));
    if (text_list_append(&making->root.paths, making->program) < 0 ||
        text_list_append(&making->hidden, "/etc/passwd") < 0)
        return trouble_set(trouble, "%s", strerror(ENOMEM));
    return choose_layers(making, trouble);
}

int making_new(const char *program, Trouble *trouble, Making **ret_making) {
    CLEANUP(making_freep) Making *making = calloc(1, sizeof *making);
    if (!making) return trouble_set(trouble, "%s", strerror(ENOMEM));
    const int r = prepare(making, program, trouble);
    if (r == 0) *ret_making = TAKE(making);
    return r;
}

Making *making_free(Making *making) {
    if (!making) return NULL;
    if (making->directory[0]) (void)workdir_remove(making->directory);
    root_plan_deinit(&making->root);
    text_list_deinit(&making->hidden);
    free(making);
    return NULL;
}

const char *making_left_out(const Making *making) {
    return making->left_out;
}
