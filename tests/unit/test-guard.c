/* Breaches: real calls of a real interpreter in an enclosure, before and after it has the limits of
 * a job. */
#include "platform/linux/guard.h"

#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "enclosed.h"

static Enclosed self;

static Limits limits_with(uint64_t memory_bytes, uint32_t processes) {
    Limits limits = enclosed_limits;
    limits.memory_bytes = memory_bytes;
    limits.processes = processes;
    return limits;
}

/* Seals and limits, as a warden does, then runs the code. */
static void run(const char *code, const Limits *limits) {
    ck_assert_int_eq(enclosure_seal(self.enclosure, limits->disk_bytes), 0);
    ck_assert_int_eq(child_limit(self.child, limits), 0);
    enclosed_send(&self, code);
}

/* ---- calls that no job may make ---- */

static const struct {
    const char *name;
    long number;
    long words[2];
} forbidden[] = {
    {"execve", SYS_execve, {0}},
    {"execveat", SYS_execveat, {-1}},
    {"socket", SYS_socket, {AF_INET, SOCK_STREAM}},
    {"socketpair", SYS_socketpair, {AF_UNIX, SOCK_STREAM}},
    {"connect", SYS_connect, {1}},
    {"recvmsg", SYS_recvmsg, {3}},
    {"ptrace", SYS_ptrace, {0}},
    {"process_vm_readv", SYS_process_vm_readv, {1}},
    {"bpf", SYS_bpf, {0}},
    {"mount", SYS_mount, {0}},
    {"fsopen", SYS_fsopen, {0}},
    {"pivot_root", SYS_pivot_root, {0}},
    {"chroot", SYS_chroot, {0}},
    {"unshare", SYS_unshare, {0}},
    {"setns", SYS_setns, {3}},
    {"keyctl", SYS_keyctl, {0}},
    {"add_key", SYS_add_key, {0}},
    {"io_uring_setup", SYS_io_uring_setup, {1}},
    {"userfaultfd", SYS_userfaultfd, {1}},
    {"perf_event_open", SYS_perf_event_open, {0}},
    {"seccomp", SYS_seccomp, {0}},
    {"clone", SYS_clone, {CLONE_NEWUSER | SIGCHLD}},
    {"clone", SYS_clone, {CLONE_NEWPID | SIGCHLD}},
    {"clone", SYS_clone, {CLONE_PARENT | SIGCHLD}}, /* a child of the warden's own */
    {"init_module", SYS_init_module, {0}},
    {"shmget", SYS_shmget, {0}},
};

enum { TEXT_BYTES = 4096 };
enum { N_FORBIDDEN = sizeof forbidden / sizeof *forbidden };

START_TEST(a_forbidden_call_is_a_breach) {
    char code[512];
    enclosed_init(&self, _i % 2, "");
    const char *name = forbidden[_i / 2].name;
    snprintf(code, sizeof code, "call(%ld, %ld, %ld, 0, 0, 0, 0)\nsay('went on')\n",
             forbidden[_i / 2].number, forbidden[_i / 2].words[0], forbidden[_i / 2].words[1]);
    run(code, &enclosed_limits);
    const ChildEvent event = enclosed_wait(&self, NULL);
    ck_assert_int_eq(event.kind, CHILD_BREACH);
    ck_assert_int_eq(event.breach.kind, CHILD_BREACH_CALL);
    ck_assert_str_eq(event.breach.call, name);
    ck_assert_uint_eq(event.breach.amount, 0);
    enclosed_reap(&self);
    ck_assert_int_eq(self.exit.signal, SIGKILL);
    ck_assert_str_eq(enclosed_text(&self, CHILD_MARKER), "ready\n");
    enclosed_deinit(&self);
}
END_TEST

/* The marker that says the code has started is one of these words. */
START_TEST(what_was_said_before_a_breach_comes_before_it) {
    char code[128];
    enclosed_init(&self, _i % ENCLOSED_USERS, "");
    snprintf(code, sizeof code, "say('started')\ncall(%ld, 0, 0, 0, 0)\n", (long)SYS_ptrace);
    run(code, &enclosed_limits);
    const ChildEvent event = enclosed_wait(&self, NULL);
    ck_assert_int_eq(event.kind, CHILD_BREACH);
    ck_assert_str_eq(enclosed_text(&self, CHILD_MARKER), "ready\nstarted\n");
    enclosed_deinit(&self);
}
END_TEST

/* Whoever talks without end cannot keep it from being seen. */
START_TEST(a_flood_of_markers_hides_no_breach) {
    char code[256];
    enclosed_init(&self, _i, "");
    snprintf(code, sizeof code,
             "if os.fork() == 0:\n    while True: os.write(MARK, bytes(4096))\n"
             "call(%ld, 0, 0, 0, 0)\n",
             (long)SYS_ptrace);
    run(code, &enclosed_limits);
    ChildEvent event = {.kind = CHILD_MARKER};
    const uint64_t deadline_ns = clock_mono_ns() + ENCLOSED_SOON_MS * NS_PER_MS;
    while (event.kind == CHILD_MARKER)
        ck_assert_int_eq(child_next(self.child, deadline_ns, &event), 0);
    ck_assert_int_eq(event.kind, CHILD_BREACH);
    ck_assert_str_eq(event.breach.call, "ptrace");
    enclosure_kill(self.enclosure);
    child_kill(self.child);
    ck_assert_int_eq(child_reap(self.child, ENCLOSED_SOON_MS, &self.exit), 0);
    ck_assert_int_eq(enclosure_reap(self.enclosure, ENCLOSED_SOON_MS, &self.usage), 0);
    self.is_reaped = true;
    enclosed_deinit(&self);
}
END_TEST

static __attribute__((format(printf, 2, 3))) void append(char text[TEXT_BYTES], const char *format,
                                                         ...) {
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(text + used, TEXT_BYTES - used, format, arguments);
    va_end(arguments);
    ck_assert(n >= 0 && (size_t)n < TEXT_BYTES - used);
}

/* While it is set up a library may try what it likes. */
START_TEST(before_there_are_limits_it_just_fails) {
    char code[TEXT_BYTES] = "", expected[TEXT_BYTES] = "";
    for (int i = 0; i < N_FORBIDDEN; i++) {
        append(code, "say('%s', call(%ld, %ld, %ld, 0, 0, 0, 0))\n", forbidden[i].name,
               forbidden[i].number, forbidden[i].words[0], forbidden[i].words[1]);
        append(expected, "%s %d\n", forbidden[i].name, EPERM);
    }
    append(expected, "ready\n");
    enclosed_init(&self, _i, code);
    ck_assert_str_eq(enclosed_text(&self, CHILD_MARKER), expected);
    enclosed_deinit(&self);
}
END_TEST

static const struct {
    const char *name;
    long number;
    long words[4];
    int error;
} refused[] = {
    {"setuid", SYS_setuid, {0}, EPERM},
    {"setresgid", SYS_setresgid, {0}, EPERM},
    {"capset", SYS_capset, {0}, EPERM},
    {"chown", SYS_chown, {0}, EPERM},
    {"fallocate", SYS_fallocate, {1, 0, 0, 1}, EOPNOTSUPP},
    {"getxattr", SYS_getxattr, {0}, EOPNOTSUPP},
    {"clone3", SYS_clone3, {0}, ENOSYS},
    {"memfd_create", SYS_memfd_create, {0}, ENOSYS},
    {"pidfd_open", SYS_pidfd_open, {2}, ENOSYS},
    {"no such call", 9999, {0}, ENOSYS},
    {"prlimit64 of another", SYS_prlimit64, {1}, ENOSYS},
    {"prctl of another kind", SYS_prctl, {38, 0}, ENOSYS},
    {"ioctl of another kind", SYS_ioctl, {1, 0x5412 /* TIOCSTI */}, ENOSYS},
    {"kill of nobody", SYS_kill, {99, 9}, ESRCH},
    {"getpid", SYS_getpid, {0}, 0},
};

/* Libraries try these in jobs, and go on. */
START_TEST(what_is_only_refused_is_no_breach) {
    char code[TEXT_BYTES] = "", expected[TEXT_BYTES] = "ready\n";
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const long *words = refused[i].words;
        append(code, "say('%s', call(%ld, %ld, %ld, %ld, %ld, 0, 0))\n", refused[i].name,
               refused[i].number, words[0], words[1], words[2], words[3]);
        append(expected, "%s %d\n", refused[i].name, refused[i].error);
    }
    enclosed_init(&self, _i, "");
    run(code, &enclosed_limits);
    const ChildEvent event = enclosed_wait(&self, NULL);
    ck_assert_msg(event.kind == CHILD_EXITED, "%s", event.breach.call);
    enclosed_reap(&self);
    ck_assert_str_eq(enclosed_text(&self, CHILD_MARKER), expected);
    ck_assert_int_eq(self.exit.code, 3);
    enclosed_deinit(&self);
}
END_TEST

/* The bit that makes a call one of the x32 ABI; other machines have no other ABI at hand. */
START_TEST(a_call_of_another_abi_is_a_breach) {
    char code[128];
    enclosed_init(&self, _i, "");
    if (SYS_getpid == 39) {
        snprintf(code, sizeof code, "call(%ld, 0)\nsay('went on')\n", 0x40000000L | SYS_getpid);
        run(code, &enclosed_limits);
        const ChildEvent event = enclosed_wait(&self, NULL);
        ck_assert_int_eq(event.kind, CHILD_BREACH);
        ck_assert_int_eq(event.breach.kind, CHILD_BREACH_CALL);
        ck_assert_str_eq(event.breach.call, "of another architecture");
        enclosed_reap(&self);
        ck_assert_str_eq(enclosed_text(&self, CHILD_MARKER), "ready\n");
    } else {
        puts("skipped: a call of another ABI: this machine has no x32");
    }
    enclosed_deinit(&self);
}
END_TEST

/* ---- too much ---- */

#define MMAP "mmap = lambda size: call(%ld, 0, size, 3, 0x22, -1, 0)\n"

static const struct {
    const char *name;
    const char *code; /* after MMAP and mremap's number */
    uint64_t memory_bytes;
    uint32_t processes;
    ChildBreachKind kind;
    uint64_t amount;
} excesses[] = {
    {"one large mapping", "mmap(1 << 30)", 64 << 20, 4, CHILD_BREACH_MEMORY, 1 << 30},
    {"one that can be nowhere", "mmap(1 << 60)", 64 << 20, 4, CHILD_BREACH_MEMORY,
     UINT64_C(1) << 60},
    {"the one that is too much", "while True: mmap(1 << 20)", 64 << 20, 4, CHILD_BREACH_MEMORY,
     1 << 20},
    {"a mapping that grows",
     "import mmap as m\nlong = m.mmap(-1, 1 << 20)\n"
     "at = ctypes.addressof(ctypes.c_char.from_buffer(long))\n"
     "call(mremap, at, 1 << 20, 1 << 30, 1, 0)",
     64 << 20, 4, CHILD_BREACH_MEMORY, (1 << 30) - (1 << 20)},
    {"many small mappings", "while mmap(128 << 10) == 0: pass\nos._exit(0)", 64 << 20, 4,
     CHILD_BREACH_MEMORY, 0},
    {"many small mappings in a descendant",
     "if os.fork() == 0:\n    while mmap(128 << 10) == 0: pass\n    os._exit(0)\n"
     "signal.pause()",
     64 << 20, 4, CHILD_BREACH_MEMORY, 0},
    {"a heap that grows", "while libc.sbrk(65536) != -1: pass\nos._exit(0)", 64 << 20, 4,
     CHILD_BREACH_MEMORY, 0},
    {"forks", "while True:\n    if os.fork() == 0: signal.pause()", 1 << 30, 4,
     CHILD_BREACH_PROCESSES, 4},
    {"forks of forks", "while True: os.fork()", 1 << 30, 4, CHILD_BREACH_PROCESSES, 4},
    {"one process only", "os.fork()", 1 << 30, 1, CHILD_BREACH_PROCESSES, 1},
    {"threads",
     "import threading\nthreading.stack_size(65536)\nstop = threading.Event()\n"
     "while True: threading.Thread(target=stop.wait).start()",
     1 << 30, 4, CHILD_BREACH_PROCESSES, 4},
    {"open files", "while len([os.dup(1)]): pass", 1 << 30, 4, CHILD_BREACH_OPEN_FILES, 512},
    {"open files in a descendant",
     "if os.fork() == 0:\n    try:\n        while True: os.dup(1)\n    finally: os._exit(0)\n"
     "signal.pause()",
     1 << 30, 4, CHILD_BREACH_OPEN_FILES, 512},
    {"a high number", "os.dup2(1, 512)", 1 << 30, 4, CHILD_BREACH_OPEN_FILES, 512},
};

enum { N_EXCESSES = sizeof excesses / sizeof *excesses };

START_TEST(too_much_is_a_breach) {
    char code[1024];
    const char *name = excesses[_i / 2].name;
    const Limits limits = limits_with(excesses[_i / 2].memory_bytes, excesses[_i / 2].processes);
    enclosed_init(&self, _i % 2, "");
    snprintf(code, sizeof code, MMAP "mremap = %ld\n%s\n", (long)SYS_mmap, (long)SYS_mremap,
             excesses[_i / 2].code);
    run(code, &limits);
    const ChildEvent event = enclosed_wait(&self, NULL);
    ck_assert_msg(event.kind == CHILD_BREACH, "%s: event %d; %s", name, event.kind,
                  enclosed_text(&self, CHILD_STDERR));
    ck_assert_msg(event.breach.kind == excesses[_i / 2].kind, "%s: kind %d %s", name,
                  event.breach.kind, event.breach.call);
    ck_assert_msg(event.breach.amount == excesses[_i / 2].amount, "%s: amount %llu, not %llu", name,
                  (unsigned long long)event.breach.amount,
                  (unsigned long long)excesses[_i / 2].amount);
    ck_assert_str_eq(event.breach.call, "");
    enclosed_reap(&self);
    ck_assert_int_eq(self.exit.signal, SIGKILL);
    enclosed_deinit(&self);
}
END_TEST

static const struct {
    uint64_t memory_bytes;
    const char *code;
} modest[] = {
    {64 << 20, "b = bytearray(48 << 20)"},
    {64 << 20, "for _ in range(20):\n    b = bytearray(48 << 20)\n    del b"},
    {64 << 20, "for _ in range(400): mmap(128 << 10)"},
    {64 << 20, "for _ in range(500): os.dup(1)"},
    {64 << 20, "os.dup2(1, 511)"},
    {64 << 20, "for _ in range(20):\n    if os.fork() == 0: os._exit(0)\n    os.wait()"},
    {64 << 20, "for _ in range(3):\n    if os.fork() == 0: signal.pause()"},
    /* The C library reserves much for each thread's small allocations. */
    {1 << 30, "import threading\nthreading.stack_size(65536)\nstop = threading.Event()\n"
              "for _ in range(3): threading.Thread(target=stop.wait, daemon=True).start()\n"},
    /* What is refused for being too much, and shows nowhere else, is the code's own affair. */
    {64 << 20, "try: os.dup2(1, 9999)\nexcept OSError: pass"},
};

enum { N_MODEST = sizeof modest / sizeof *modest };

START_TEST(what_is_within_the_limits_is_none) {
    char code[1024];
    const char *name = modest[_i / 2].code;
    const Limits limits = limits_with(modest[_i / 2].memory_bytes, 4);
    enclosed_init(&self, _i % 2, "");
    snprintf(code, sizeof code, MMAP "%s\n", (long)SYS_mmap, name);
    run(code, &limits);
    const ChildEvent event = enclosed_wait(&self, NULL);
    ck_assert_msg(event.kind == CHILD_EXITED, "%s: event %d, breach %d of %llu", name, event.kind,
                  event.breach.kind, (unsigned long long)event.breach.amount);
    enclosed_reap(&self);
    ck_assert_msg(self.exit.code == 3 && self.exit.signal == 0, "%s: %d %d %s", name,
                  self.exit.code, self.exit.signal, enclosed_text(&self, CHILD_STDERR));
    enclosed_deinit(&self);
}
END_TEST

/* The last one that is allowed is there, and not one more. */
START_TEST(tasks_end_exactly_at_their_limit) {
    enclosed_init(&self, _i, "");
    run("for n in range(2, 9):\n    if os.fork() == 0: signal.pause()\n    say(n)\n",
        &enclosed_limits);
    const ChildEvent event = enclosed_wait(&self, NULL);
    ck_assert_int_eq(event.kind, CHILD_BREACH);
    ck_assert_int_eq(event.breach.kind, CHILD_BREACH_PROCESSES);
    enclosed_reap(&self);
    ck_assert_str_eq(enclosed_text(&self, CHILD_MARKER), "ready\n2\n3\n4\n");
    ck_assert_uint_eq(event.breach.amount, 4);
    enclosed_deinit(&self);
}
END_TEST

/* What set-up needs is no matter of a job's limits. */
START_TEST(nothing_is_too_much_before_there_are_limits) {
    enclosed_init(&self, _i,
                  "b = bytearray(256 << 20)\n"
                  "for _ in range(600):\n    try: os.dup(1)\n    except OSError: break\n"
                  "os.closerange(5, 999)\n"
                  "for _ in range(9):\n    if os.fork() == 0: os._exit(0)\n"
                  "for _ in range(9): os.wait()\n");
    ck_assert_str_eq(enclosed_text(&self, CHILD_MARKER), "ready\n");
    enclosed_deinit(&self);
}
END_TEST

/* ---- numbers ---- */

START_TEST(descriptors_are_limited_by_tables) {
    static const struct {
        uint32_t limit, allowed, table;
    } rows[] = {
        {1, 257, 256},      {16, 257, 256},
        {255, 257, 256},    {256, 257, 256},
        {257, 513, 512},    {512, 513, 512},
        {513, 1025, 1024},  {1024, 1025, 1024},
        {4097, 8193, 8192}, {1048576, 1048577, 1048576},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t table = 0;
        ck_assert_uint_eq(guard_descriptor_limit(rows[i].limit, &table), rows[i].allowed);
        ck_assert_uint_eq(table, rows[i].table);
    }
}
END_TEST

START_TEST(nothing_to_answer_is_no_breach) {
    Guard guard = {.listener = -1, .proc_fd = PROC_HERE, .mode = GUARD_RUNNING};
    ChildBreach breach;
    ck_assert_int_eq(guard_answer(&guard, &breach), 0);
}
END_TEST

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    setenv("CK_DEFAULT_TIMEOUT", "60", 0);
    Suite *suite = suite_create("guard");
    TCase *tests = tcase_create("guard");
    tcase_add_loop_test(tests, a_forbidden_call_is_a_breach, 0, N_FORBIDDEN * ENCLOSED_USERS);
    tcase_add_loop_test(tests, what_was_said_before_a_breach_comes_before_it, 0, 20);
    tcase_add_loop_test(tests, a_flood_of_markers_hides_no_breach, 0, ENCLOSED_USERS);
    tcase_add_loop_test(tests, before_there_are_limits_it_just_fails, 0, ENCLOSED_USERS);
    tcase_add_loop_test(tests, what_is_only_refused_is_no_breach, 0, ENCLOSED_USERS);
    tcase_add_loop_test(tests, a_call_of_another_abi_is_a_breach, 0, ENCLOSED_USERS);
    tcase_add_loop_test(tests, too_much_is_a_breach, 0, N_EXCESSES * ENCLOSED_USERS);
    tcase_add_loop_test(tests, what_is_within_the_limits_is_none, 0, N_MODEST * ENCLOSED_USERS);
    tcase_add_loop_test(tests, tasks_end_exactly_at_their_limit, 0, ENCLOSED_USERS);
    tcase_add_loop_test(tests, nothing_is_too_much_before_there_are_limits, 0, ENCLOSED_USERS);
    tcase_add_test(tests, descriptors_are_limited_by_tables);
    tcase_add_test(tests, nothing_to_answer_is_no_breach);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
