/* Children: shell scripts in the interpreter's place, which get the same descriptors, and real ones
 * where a shell's own descriptors would be in the way. */
#include "platform/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "suite.h"
#include "workdir_maker.h"

enum { SOON_MS = 10000 };

static const Limits limits = {
    .wall_ms = 1000,
    .cpu_ms = 1000,
    .memory_bytes = 64 << 20,
    .output_bytes = 1 << 20,
    .disk_bytes = 1 << 20,
    .processes = 16,
    .open_files = 600,
};

typedef struct Bench {
    WorkdirMaker maker;
    char script[96];
    int channel[2];
    int proc_fd;
    Child *child;
    char text[4][1024]; /* by kind, from CHILD_MARKER on */
} Bench;

static EnvVariable variables[] = {{(char *)"PATH", (char *)"/usr/bin:/bin"},
                                  {(char *)"A", (char *)"x y"}};
static const ChildEnv environment = {variables, 2};

static const TextList hidden;

static int spawn(Bench *bench, const char *interpreter, StepFailure *ret_failure) {
    const ChildSpec spec = {
        .interpreter = interpreter,
        .environment = &environment,
        .workdir = bench->maker.workdir,
        .limits = &limits,
        .channel = bench->channel[0],
        .proc_fd = bench->proc_fd,
        .hidden = &hidden,
    };
    return child_spawn(&spec, ret_failure, &bench->child);
}

static void prepare(Bench *bench) {
    *bench = (Bench){.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    ck_assert_int_ge(bench->proc_fd, 0);
    workdir_maker_init(&bench->maker);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, bench->channel), 0);
}

static void start(Bench *bench, const char *script) {
    StepFailure failure;
    prepare(bench);
    snprintf(bench->script, sizeof bench->script, "%s/script", bench->maker.root);
    FILE *file = fopen(bench->script, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(bench->script, 0700), 0);
    const int r = spawn(bench, bench->script, &failure);
    ck_assert_msg(r == 0, "%s: %s", r == 1 ? failure.step : "",
                  r == 1 ? strerror(failure.error) : "");
}

/* A real interpreter runs the code, says so, and waits. */
static void start_python(Bench *bench, const char *code) {
    StepFailure failure;
    ChildEvent event;
    char frame[512];
    prepare(bench);
    ck_assert_int_eq(spawn(bench, "/usr/bin/python3", &failure), 0);
    snprintf(frame, sizeof frame, "%s\nos.write(MARK, b'ready')\nread_frame()\n", code);
    char length[16];
    snprintf(length, sizeof length, "%010zu", strlen(frame));
    ck_assert_int_eq(child_feed(bench->child, length, 10), 0);
    ck_assert_int_eq(child_feed(bench->child, frame, strlen(frame)), 0);
    ck_assert_int_eq(child_next(bench->child, clock_mono_ns() + SOON_MS * NS_PER_MS, &event), 0);
    ck_assert_int_eq(event.kind, CHILD_MARKER);
}

static void finish(Bench *bench) {
    bench->child = child_free(bench->child);
    close(bench->channel[0]);
    close(bench->channel[1]);
    if (bench->script[0]) unlink(bench->script);
    workdir_maker_deinit(&bench->maker);
}

static void gather(Bench *bench, const ChildEvent *event) {
    if (event->kind < CHILD_MARKER) return;
    char *text = bench->text[event->kind - CHILD_MARKER];
    strncat(text, (const char *)event->bytes, event->n_bytes);
}

/* Gathers bytes until something else comes. */
static ChildEventKind wait_event(Bench *bench, uint64_t in_ms) {
    const uint64_t deadline_ns = clock_mono_ns() + in_ms * NS_PER_MS;
    for (;;) {
        ChildEvent event;
        ck_assert_int_eq(child_next(bench->child, deadline_ns, &event), 0);
        gather(bench, &event);
        if (event.kind < CHILD_MARKER) return event.kind;
    }
}

static ChildExit end(Bench *bench) {
    ChildExit exit;
    ChildEvent event;
    ck_assert_int_eq(wait_event(bench, SOON_MS), CHILD_EXITED);
    ck_assert_int_eq(child_reap(bench->child, SOON_MS, &exit), 0);
    while (child_next_rest(bench->child, &event) == 0) gather(bench, &event);
    return exit;
}

static const char *text_of(const Bench *bench, ChildEventKind kind) {
    return bench->text[kind - CHILD_MARKER];
}

START_TEST(the_pipes_are_connected) {
    Bench bench;
    start(&bench, "read line <&3; echo \"out $line\"; echo err >&2; echo mark >&4; exit 3");
    ck_assert_int_eq(child_feed(bench.child, "hel", 3), 0);
    ck_assert_int_eq(child_feed(bench.child, "lo\n", 3), 0);
    const ChildExit exit = end(&bench);
    ck_assert_int_eq(exit.code, 3);
    ck_assert_int_eq(exit.signal, 0);
    ck_assert_uint_gt(exit.peak_memory_bytes, 4096);
    ck_assert_str_eq(text_of(&bench, CHILD_STDOUT), "out hello\n");
    ck_assert_str_eq(text_of(&bench, CHILD_STDERR), "err\n");
    ck_assert_str_eq(text_of(&bench, CHILD_MARKER), "mark\n");
    finish(&bench);
}
END_TEST

START_TEST(it_is_called_as_it_should_be) {
    Bench bench;
    start(&bench,
          "for a in \"$1\" \"$2\" \"$3\" \"$4\" \"$5\" \"$#\"; do echo \"$a\"; done; pwd; umask; "
          "cat /proc/$$/environ | tr '\\0' '\\n'");
    char expected[512];
    end(&bench);
    snprintf(expected, sizeof expected,
             "-I\n-B\n-X\nfaulthandler\n-c\n6\n%s\n0077\nPATH=/usr/bin:/bin\nA=x y\n",
             workdir_real_path(bench.maker.workdir));
    ck_assert_str_eq(text_of(&bench, CHILD_STDOUT), expected);
    finish(&bench);
}
END_TEST

START_TEST(every_basic_layer_is_observed) {
    Bench bench;
    ChildView view = {0};
    start_python(&bench, "");
    ck_assert_int_eq(child_observe(bench.child, &view), 0);
    for (ChildLayer layer = 0; layer < CHILD_LAYER_COUNT; layer++)
        ck_assert_msg(view.layers[layer] == child_layer_is_basic(layer), "%s",
                      child_layer_name(layer));
    ck_assert_uint_eq(view.n_threads, 1);
    child_kill(bench.child);
    ck_assert_int_eq(end(&bench).signal, SIGKILL);
    ck_assert_int_eq(child_observe(bench.child, &view), CHILD_E_GONE);
    finish(&bench);
}
END_TEST

START_TEST(what_it_changes_is_observed) {
    Bench bench;
    ChildView view = {0};
    start_python(&bench, "import threading\n"
                         "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
                         "os.close(0)\nos.open('/dev/zero', os.O_RDONLY)\nos.chdir('/')");
    ck_assert_int_eq(child_observe(bench.child, &view), 0);
    ck_assert(!view.layers[CHILD_LAYER_DESCRIPTORS]);
    ck_assert(!view.layers[CHILD_LAYER_WORK_DIRECTORY]);
    ck_assert(view.layers[CHILD_LAYER_SESSION]);
    ck_assert_uint_eq(view.n_threads, 2);
    finish(&bench);
}
END_TEST

START_TEST(limits_are_set) {
    Bench bench;
    start(&bench, "read line <&3; ulimit -c; ulimit -n; ulimit -f; ulimit -t; ulimit -v");
    Limits lower = limits;
    lower.open_files = 300;
    lower.disk_bytes = 1 << 19;
    ck_assert_int_eq(child_limit(bench.child, &lower), 0);
    ck_assert_int_eq(child_feed(bench.child, "\n", 1), 0);
    end(&bench);
    unsigned core, files, blocks, cpu_s, memory_kib;
    ck_assert_int_eq(sscanf(text_of(&bench, CHILD_STDOUT), "%u %u %u %u %u", &core, &files, &blocks,
                            &cpu_s, &memory_kib),
                     5);
    ck_assert_uint_eq(core, 0);
    ck_assert_uint_eq(files, 513); /* the next table of descriptors, and one that shows */
    ck_assert_uint_eq(blocks, 1024);
    ck_assert_uint_ge(cpu_s, 2);
    ck_assert_uint_le(cpu_s, 4);
    ck_assert_uint_gt(memory_kib, 64 << 10);
    ck_assert_uint_lt(memory_kib, (64 << 10) + (16 << 10));
    ck_assert_int_eq(child_limit(bench.child, &limits), CHILD_E_GONE);
    finish(&bench);
}
END_TEST

/* Whoever asks again waits for nobody else's death. */
START_TEST(it_is_reaped_once) {
    Bench bench;
    ChildExit again = {0};
    start(&bench, "exit 3");
    ck_assert_int_eq(end(&bench).code, 3);
    const pid_t other = fork();
    if (other == 0)
        for (;;) pause();
    ck_assert_int_eq(child_reap(bench.child, SOON_MS, &again), 0);
    ck_assert_int_eq(again.code, 3);
    ck_assert_int_eq(kill(other, SIGKILL), 0);
    finish(&bench);
}
END_TEST

START_TEST(a_failure_names_its_step) {
    Bench bench;
    StepFailure failure = {0};
    prepare(&bench);
    ck_assert_int_eq(spawn(&bench, "/nonexistent", &failure), CHILD_E_NOT_STARTED);
    ck_assert_str_eq(failure.step, "execute the interpreter");
    ck_assert_int_eq(failure.error, ENOENT);
    ck_assert_ptr_null(bench.child);
    ck_assert_int_eq(spawn(&bench, "/etc/passwd", &failure), CHILD_E_NOT_STARTED);
    ck_assert_int_eq(failure.error, EACCES);
    finish(&bench);
}
END_TEST

START_TEST(deadlines_come_whatever_it_does) {
    Bench bench;
    start(&bench, "while :; do echo flood; echo flood >&2; done");
    const uint64_t started_ms = clock_mono_ms();
    const uint64_t deadline_ns = clock_mono_ns() + 200 * NS_PER_MS;
    ChildEvent event = {.kind = CHILD_STDOUT};
    bool saw[CHILD_STDERR + 1] = {false};
    while (event.kind >= CHILD_MARKER) {
        ck_assert_int_eq(child_next(bench.child, deadline_ns, &event), 0);
        saw[event.kind] = true;
    }
    ck_assert_int_eq(event.kind, CHILD_DEADLINE);
    ck_assert(saw[CHILD_STDOUT] && saw[CHILD_STDERR]);
    ck_assert_uint_ge(clock_mono_ms() - started_ms, 199);
    ck_assert_uint_lt(clock_mono_ms() - started_ms, 2000);
    ck_assert_uint_gt(child_cpu_ns(bench.child), 0);
    finish(&bench);
}
END_TEST

START_TEST(the_channel_comes_before_a_flood) {
    Bench bench;
    start(&bench, "while :; do echo flood; done");
    ck_assert_int_eq(write(bench.channel[1], "x", 1), 1);
    ck_assert_int_eq(wait_event(&bench, SOON_MS), CHILD_CHANNEL);
    finish(&bench);
}
END_TEST

START_TEST(a_request_to_stop_comes_first) {
    Bench bench;
    start(&bench, "while :; do echo flood; done");
    ck_assert_int_eq(raise(SIGTERM), 0);
    ck_assert_int_eq(wait_event(&bench, SOON_MS), CHILD_STOP);
    finish(&bench);
}
END_TEST

START_TEST(closed_pipes_are_no_end) {
    Bench bench;
    start(&bench, "exec 3<&- 4>&-; echo closed; exec >&- 2>&-; sleep 60");
    ChildEvent event;
    ck_assert_int_eq(child_next(bench.child, clock_mono_ns() + SOON_MS * NS_PER_MS, &event), 0);
    ck_assert_int_eq(event.kind, CHILD_STDOUT);
    ck_assert_int_eq(child_feed(bench.child, "nobody reads this", 17), 0);
    ck_assert_int_eq(wait_event(&bench, 200), CHILD_DEADLINE);
    ChildExit exit;
    ck_assert_int_eq(child_reap(bench.child, 10, &exit), CHILD_E_ALIVE);
    finish(&bench);
}
END_TEST

START_TEST(an_unread_job_blocks_nobody) {
    Bench bench;
    static char job[1 << 20];
    start(&bench, "sleep 60");
    ck_assert_int_eq(child_feed(bench.child, job, sizeof job), 0);
    ck_assert_int_eq(wait_event(&bench, 200), CHILD_DEADLINE);
    finish(&bench);
}
END_TEST

SUITE_MAIN("child", the_pipes_are_connected, it_is_called_as_it_should_be,
           every_basic_layer_is_observed, what_it_changes_is_observed, limits_are_set,
           it_is_reaped_once, a_failure_names_its_step, deadlines_come_whatever_it_does,
           the_channel_comes_before_a_flood, a_request_to_stop_comes_first, closed_pipes_are_no_end,
           an_unread_job_blocks_nobody)
