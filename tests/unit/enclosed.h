/* Enclosed: an enclosure that the calling test process enters, and a real interpreter inside with
 * every layer, as a warden makes them. Each test of Check is a process of its own, so entering for
 * ever is fine. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>

#include "base/clock.h"
#include "platform/child.h"
#include "platform/linux/landlock.h"
#include "platform/linux/proc.h"

#if defined(__SANITIZE_ADDRESS__)
/* Leaks are looked for through /proc/self, which nobody has who stands in an enclosure. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0";
}
#endif

enum {
    ENCLOSED_SOON_MS = 30000,
    ENCLOSED_UID = 1879048200, /* owns nothing */
    ENCLOSED_NOBODY = 65534,   /* an ordinary user */
    ENCLOSED_TEXT_BYTES = 8192,
    ENCLOSED_PATH_BYTES = 256,
    ENCLOSED_MAX_PIDS = 64,
};

/* Tests run once as who runs them, and as an ordinary user. */
enum { ENCLOSED_AS_WE_ARE, ENCLOSED_AS_USER, ENCLOSED_USERS };

static const Limits enclosed_limits = {
    .wall_ms = 60000,
    .cpu_ms = 60000,
    .memory_bytes = 1 << 30,
    .output_bytes = 1 << 20,
    .disk_bytes = 1 << 20,
    .processes = 4,
    .open_files = 300,
};

typedef struct Enclosed {
    int proc_fd; /* of the host */
    int channel[2];
    RootPlan plan;
    TextList hidden;
    Enclosure *enclosure;
    Workdir *workdir;
    Child *child;
    ChildExit exit;
    bool is_reaped;
    TreeUsage usage;                   /* of what the interpreter left */
    char text[3][ENCLOSED_TEXT_BYTES]; /* by kind, from CHILD_MARKER on */
} Enclosed;

/* ---- who ---- */

static inline void enclosed_become_user(void) {
    if (geteuid() != 0) return;
    ck_assert_int_eq(setgroups(0, NULL), 0);
    ck_assert_int_eq(setresgid(ENCLOSED_NOBODY, ENCLOSED_NOBODY, ENCLOSED_NOBODY), 0);
    ck_assert_int_eq(setresuid(ENCLOSED_NOBODY, ENCLOSED_NOBODY, ENCLOSED_NOBODY), 0);
}

/* ---- what an interpreter needs, by hand; see daemon/harness/survey.py ---- */

static inline void enclosed_need(RootPlan *plan, const char *path) {
    char target[ENCLOSED_PATH_BYTES];
    struct stat st;
    if (lstat(path, &st) != 0) return;
    if (!S_ISLNK(st.st_mode)) {
        ck_assert_int_eq(text_list_append(&plan->paths, path), 0);
        return;
    }
    const ssize_t n = readlink(path, target, sizeof target - 1);
    ck_assert_int_gt(n, 0);
    target[n] = '\0';
    ck_assert_int_eq(root_plan_add_link(plan, path, target), 0);
}

static inline void enclosed_need_all(RootPlan *plan, const char *pattern) {
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) enclosed_need(plan, found.gl_pathv[i]);
    globfree(&found);
}

static inline void enclosed_plan(RootPlan *plan) {
    char *real = realpath("/usr/bin/python3", NULL);
    ck_assert_ptr_nonnull(real);
    char library[ENCLOSED_PATH_BYTES];
    snprintf(library, sizeof library, "/usr/lib/%s", strrchr(real, '/') + 1);
    static const char *const patterns[] = {
        "/lib",
        "/lib64",
        "/usr/bin/python3",
        "/usr/lib/*-linux-gnu*",
        "/usr/lib/ld-linux*.so*",
        "/usr/lib64/ld-linux*.so*",
        "/etc/ld.so.cache",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        enclosed_need_all(plan, patterns[i]);
    enclosed_need(plan, real);
    enclosed_need(plan, library);
    free(real);
}

/* ---- entering ---- */

static inline int enclosed_try(Enclosed *enclosed, StepFailure *ret_failure) {
    const EnclosureSpec spec = {
        .uid = ENCLOSED_UID,
        .root = &enclosed->plan,
        .disk_bytes = 1 << 30,
    };
    return enclosure_enter(&spec, ret_failure, &enclosed->enclosure);
}

static inline void enclosed_prepare(Enclosed *enclosed, int user) {
    *enclosed = (Enclosed){0};
    if (user == ENCLOSED_AS_USER) enclosed_become_user();
    enclosed->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(enclosed->proc_fd, 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, enclosed->channel), 0);
    enclosed_plan(&enclosed->plan);
}

static inline void enclosed_enter(Enclosed *enclosed) {
    StepFailure failure;
    const int r = enclosed_try(enclosed, &failure);
    ck_assert_msg(r == 0, "cannot %s: %s", r > 0 ? failure.step : "enter",
                  r > 0 ? strerror(failure.error) : strerror(-r));
    ck_assert_int_eq(
        workdir_adopt(enclosure_work_fd(enclosed->enclosure), ENCLOSURE_WORK, &enclosed->workdir),
        0);
}

/* ---- the interpreter ---- */

/* With these layers only. */
static inline int enclosed_spawn_with(Enclosed *enclosed, const bool layers[CHILD_LAYER_COUNT],
                                      StepFailure *ret_failure) {
    static EnvVariable variables[] = {{(char *)"LANG", (char *)"C.UTF-8"}};
    static const ChildEnv environment = {variables, 1};
    ChildSpec spec = {
        .interpreter = "/usr/bin/python3",
        .environment = &environment,
        .workdir = enclosed->workdir,
        .limits = &enclosed_limits,
        .channel = enclosed->channel[0],
        .proc_fd = enclosed->proc_fd,
        .enclosure = enclosed->enclosure,
        .hidden = &enclosed->hidden,
    };
    memcpy(spec.layers, layers, sizeof spec.layers);
    return child_spawn(&spec, ret_failure, &enclosed->child);
}

static inline int enclosed_spawn(Enclosed *enclosed, StepFailure *ret_failure) {
    bool layers[CHILD_LAYER_COUNT];
    for (ChildLayer layer = 0; layer < CHILD_LAYER_COUNT; layer++)
        layers[layer] = layer != CHILD_LAYER_CGROUP;
    layers[CHILD_LAYER_LANDLOCK] = landlock_is_there();
    return enclosed_spawn_with(enclosed, layers, ret_failure);
}

static inline void enclosed_send(Enclosed *enclosed, const char *code) {
    char length[24];
    snprintf(length, sizeof length, "%010zu", strlen(code));
    ck_assert_int_eq(child_feed(enclosed->child, length, 10), 0);
    ck_assert_int_eq(child_feed(enclosed->child, code, strlen(code)), 0);
}

/* The next event that is none of bytes, which are gathered; or CHILD_MARKER once the marker pipe
 * brought a text that ends so. */
static inline ChildEvent enclosed_wait(Enclosed *enclosed, const char *marker) {
    const uint64_t deadline_ns = clock_mono_ns() + ENCLOSED_SOON_MS * NS_PER_MS;
    for (;;) {
        ChildEvent event;
        ck_assert_int_eq(child_next(enclosed->child, deadline_ns, &event), 0);
        if (event.kind < CHILD_MARKER) return event;
        char *text = enclosed->text[event.kind - CHILD_MARKER];
        ck_assert_uint_lt(strlen(text) + event.n_bytes, ENCLOSED_TEXT_BYTES);
        strncat(text, (const char *)event.bytes, event.n_bytes);
        const size_t n = strlen(text), n_end = marker ? strlen(marker) : 0;
        if (event.kind == CHILD_MARKER && marker && n >= n_end &&
            strcmp(text + n - n_end, marker) == 0)
            return event;
    }
}

static inline const char *enclosed_text(const Enclosed *enclosed, ChildEventKind kind) {
    return enclosed->text[kind - CHILD_MARKER];
}

/* Waits for a word of the interpreter on its marker pipe, which must be the only thing to come. */
static inline void enclosed_expect(Enclosed *enclosed, const char *word) {
    const ChildEvent event = enclosed_wait(enclosed, word);
    ck_assert_msg(event.kind == CHILD_MARKER, "event %d (%s) before '%s'; stderr: %s", event.kind,
                  event.kind == CHILD_BREACH ? event.breach.call : "", word,
                  enclosed_text(enclosed, CHILD_STDERR));
}

#define ENCLOSED_PRELUDE                                                                           \
    "import ctypes, os, signal\n"                                                                  \
    "libc = ctypes.CDLL(None, use_errno=True)\n"                                                   \
    "libc.syscall.restype = ctypes.c_long\n"                                                       \
    "def call(*words):\n"                                                                          \
    "    words = [ctypes.c_long(word) for word in words]\n"                                        \
    "    return ctypes.get_errno() if libc.syscall(*words) == -1 else 0\n"                         \
    "def say(*words):\n"                                                                           \
    "    os.write(MARK, (' '.join(map(str, words)) + '\\n').encode())\n"                           \
    "libc.prctl(4, 0, 0, 0, 0)\n" /* PR_SET_DUMPABLE */

/* Starts it and runs `before`; then it waits for the job's code. */
static inline void enclosed_start(Enclosed *enclosed, const char *before) {
    StepFailure failure;
    char code[ENCLOSED_TEXT_BYTES];
    const int r = enclosed_spawn(enclosed, &failure);
    ck_assert_msg(r == 0, "%s: %s", r > 0 ? failure.step : "spawn",
                  r > 0 ? strerror(failure.error) : strerror(-r));
    snprintf(code, sizeof code,
             ENCLOSED_PRELUDE "%s\nsay('ready')\nexec(read_frame())\nos._exit(3)\n", before);
    enclosed_send(enclosed, code);
    enclosed_expect(enclosed, "ready\n");
}

static inline void enclosed_init(Enclosed *enclosed, int user, const char *before) {
    enclosed_prepare(enclosed, user);
    enclosed_enter(enclosed);
    enclosed_start(enclosed, before);
}

/* ---- its end ---- */

/* Kills all and takes what is left, as a warden does. */
static inline void enclosed_reap(Enclosed *enclosed) {
    ChildEvent event;
    enclosed->is_reaped = true;
    enclosure_kill(enclosed->enclosure);
    child_kill(enclosed->child);
    ck_assert_int_eq(child_reap(enclosed->child, ENCLOSED_SOON_MS, &enclosed->exit), 0);
    ck_assert_int_eq(enclosure_reap(enclosed->enclosure, ENCLOSED_SOON_MS, &enclosed->usage), 0);
    while (child_next_rest(enclosed->child, &event) == 0) {
        char *text = enclosed->text[event.kind - CHILD_MARKER];
        ck_assert_uint_lt(strlen(text) + event.n_bytes, ENCLOSED_TEXT_BYTES);
        strncat(text, (const char *)event.bytes, event.n_bytes);
    }
}

static inline void enclosed_free(Enclosed *enclosed) {
    child_free(enclosed->child);
    workdir_free(enclosed->workdir);
    enclosure_free(enclosed->enclosure);
    root_plan_deinit(&enclosed->plan);
    text_list_deinit(&enclosed->hidden);
    close(enclosed->channel[0]);
    close(enclosed->channel[1]);
    close(enclosed->proc_fd);
}

static inline void enclosed_deinit(Enclosed *enclosed) {
    if (enclosed->child && !enclosed->is_reaped) enclosed_reap(enclosed);
    enclosed_free(enclosed);
}

/* Runs code to its own end, under no limits of a job. */
static inline void enclosed_run_to_end(Enclosed *enclosed, const char *code) {
    enclosed_send(enclosed, code);
    const ChildEvent event = enclosed_wait(enclosed, NULL);
    ck_assert_msg(event.kind == CHILD_EXITED, "event %d (%s)", event.kind, event.breach.call);
    enclosed_reap(enclosed);
    ck_assert_str_eq(enclosed_text(enclosed, CHILD_STDERR), "");
    ck_assert_int_eq(enclosed->exit.signal, 0);
    ck_assert_int_eq(enclosed->exit.code, 3);
}

/* ---- processes, as the host numbers them ---- */

typedef struct EnclosedPids {
    ProcStat items[ENCLOSED_MAX_PIDS];
    size_t n_items;
} EnclosedPids;

static inline bool enclosed_pids_hold(const EnclosedPids *pids, pid_t pid) {
    for (size_t i = 0; i < pids->n_items; i++)
        if (pids->items[i].pid == pid) return true;
    return false;
}

/* One pass: adds children of `root`, and of what was found already. True when there was one. */
static inline bool enclosed_pids_add(EnclosedPids *pids, int proc_fd, pid_t root) {
    bool found = false;
    const int fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fdopendir(fd);
    ck_assert_ptr_nonnull(directory);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        ProcStat stat;
        const pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid <= 0 || proc_stat(proc_fd, pid, &stat) != 0) continue;
        if (stat.parent != root && !enclosed_pids_hold(pids, stat.parent)) continue;
        if (enclosed_pids_hold(pids, pid)) continue;
        ck_assert_uint_lt(pids->n_items, ENCLOSED_MAX_PIDS);
        pids->items[pids->n_items++] = stat;
        found = true;
    }
    closedir(directory);
    return found;
}

/* All descendants of `root`. */
static inline void enclosed_pids_find(EnclosedPids *pids, int proc_fd, pid_t root) {
    pids->n_items = 0;
    while (enclosed_pids_add(pids, proc_fd, root)) continue;
}

static inline void enclosed_pids_expect_gone(const EnclosedPids *pids, int proc_fd) {
    for (size_t i = 0; i < pids->n_items; i++) {
        ProcStat stat;
        const int r = proc_stat(proc_fd, pids->items[i].pid, &stat);
        ck_assert_msg(r == PROC_E_GONE ||
                          (r == 0 && stat.start_ticks != pids->items[i].start_ticks),
                      "process %d lives", (int)pids->items[i].pid);
    }
}
