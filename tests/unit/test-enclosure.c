/* Enclosures with a real interpreter inside, seen from inside and from outside. */
#include "platform/enclosure.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "enclosed.h"

static Enclosed self;

/* ---- what is in force ---- */

START_TEST(every_layer_is_observed) {
    ChildView view = {0};
    enclosed_init(&self, _i, "");
    ck_assert_int_eq(child_observe(self.child, &view), 0);
    for (ChildLayer layer = 0; layer < CHILD_LAYER_COUNT; layer++) {
        const bool expected = layer == CHILD_LAYER_LANDLOCK ? landlock_is_there()
                                                            : layer != CHILD_LAYER_CGROUP;
        ck_assert_msg(view.layers[layer] == expected, "%s: %d", child_layer_name(layer),
                      view.layers[layer]);
    }
    ck_assert_uint_eq(view.n_threads, 1);
    enclosed_reap(&self);
    ck_assert_int_eq(child_observe(self.child, &view), CHILD_E_GONE);
    enclosed_deinit(&self);
}
END_TEST

/* The walls are one thing, what the child lets go of by itself another. */
START_TEST(what_is_given_up_is_observed) {
    ChildView view = {0};
    enclosed_init(
        &self, _i,
        "libc.prctl(4, 1, 0, 0, 0)\nos.chdir('/')\nos.dup2(1, 2)\nos.chmod('/work', 0o777)");
    ck_assert_int_eq(child_observe(self.child, &view), 0);
    ck_assert(!view.layers[CHILD_LAYER_NOT_DUMPABLE]);
    ck_assert(!view.layers[CHILD_LAYER_WORK_DIRECTORY]);
    ck_assert(!view.layers[CHILD_LAYER_DESCRIPTORS]);
    ck_assert(view.layers[CHILD_LAYER_OWN_ROOT]);
    ck_assert(view.layers[CHILD_LAYER_SECCOMP]);
    ck_assert(view.layers[CHILD_LAYER_NO_CAPABILITIES]);
    enclosed_deinit(&self);
}
END_TEST

START_TEST(the_view_from_inside) {
    static const char code[] =
        "def names(path): return sorted(os.listdir(path))\n"
        "numbers = {int(name) for name in names('/proc') if name.isdigit()}\n"
        "say('pid', os.getpid(), 'parent', os.getppid(), 'others', numbers - {1, os.getpid()})\n"
        "say('users', os.getresuid(), os.getresgid(), set(os.getgroups()) - {65534})\n"
        "say('host', *os.uname()[1:2])\n"
        "known = {'bin', 'dev', 'etc', 'lib', 'lib64', 'proc', 'usr', 'work'}\n"
        "say('root', set(names('/')) - known)\n"
        "say('dev', *names('/dev'))\n"
        "say('etc', *names('/etc'))\n"
        "say('bin', len(names('/usr/bin')))\n"
        "say('work', os.getcwd(), names('.'), oct(os.stat('.').st_mode), os.stat('.').st_uid)\n"
        "gone = '/home /root /run /var /sys /tmp /etc/passwd /etc/shadow /proc/net /proc/sys "
        "/dev/shm"
        " /usr/share /opt /srv /mnt'\n"
        "say('there', *filter(os.path.lexists, gone.split()))\n"
        "say('open', *[fd for fd in range(64) if call(%ld, fd, 1, 0) == 0])\n"
        "say('umask', oct(os.umask(0)))\n"
        "say('env', dict(os.environ))\n";
    static const char expected[] = "ready\n"
                                   "pid 2 parent 0 others set()\n"
                                   "users (1000, 1000, 1000) (1000, 1000, 1000) set()\n"
                                   "host sandbox\n"
                                   "root set()\n"
                                   "dev full null random urandom zero\n"
                                   "etc ld.so.cache\n"
                                   "bin 2\n"
                                   "work /work [] 0o40700 1000\n"
                                   "there\n"
                                   "open 0 1 2 3 4\n"
                                   "umask 0o77\n"
                                   "env {'LANG': 'C.UTF-8'}\n";
    char text[ENCLOSED_TEXT_BYTES];
    enclosed_init(&self, _i, "");
    snprintf(text, sizeof text, code, (long)SYS_fcntl);
    enclosed_run_to_end(&self, text);
    ck_assert_str_eq(enclosed_text(&self, CHILD_MARKER), expected);
    enclosed_deinit(&self);
}
END_TEST

START_TEST(nothing_is_written_but_in_work) {
    static const char code[] =
        "import errno\n"
        "denied = {errno.EROFS, errno.EACCES, errno.EPERM}\n"
        "def attempt(what, *args, **words):\n"
        "    try:\n"
        "        what(*args, **words)\n"
        "        return True\n"
        "    except OSError as error:\n"
        "        return error.errno not in denied and error\n"
        "for place in '/ /usr /usr/bin /usr/lib /etc /dev /proc /proc/2'.split():\n"
        "    path = place.rstrip('/') + '/escaped'\n"
        "    for what, args in ((os.mkdir, ()), (os.mkfifo, ()), (open, ('w',))):\n"
        "        if place.startswith('/proc'): denied.add(errno.ENOENT)\n"
        "        done = attempt(what, path, *args)\n"
        "        if done: say(what.__name__, place, done)\n"
        "denied.discard(errno.ENOENT)\n"
        "interpreter = os.path.realpath('/usr/bin/python3')\n"
        "for what, args in ((open, ('r+',)), (os.chmod, (0o777,)), (os.unlink, ()), (os.utime, "
        "()),\n"
        "                   (os.truncate, (0,)), (os.rename, ('/usr/bin/x',)), (os.chown, (0, "
        "0))):\n"
        "    done = attempt(what, interpreter, *args)\n"
        "    if done: say(what.__name__, done)\n"
        "for what, args in ((os.chmod, (0o777,)), (os.rmdir, ()), (os.rename, ('/work2',))):\n"
        "    done = attempt(what, '/dev', *args)\n"
        "    if done: say(what.__name__, done)\n"
        "open('/dev/null', 'w').write('x')\n"
        "open('/work/mine', 'w').write('x')\n"
        "os.mkdir('/work/d'); os.symlink('/etc', '/work/l'); os.rename('/work/mine', '/work/d/m')\n"
        "say('mine', *sorted(os.listdir('/work')), open('/work/d/m').read())\n";
    enclosed_init(&self, _i, "");
    enclosed_run_to_end(&self, code);
    ck_assert_str_eq(enclosed_text(&self, CHILD_MARKER), "ready\nmine d l x\n");
    enclosed_deinit(&self);
}
END_TEST

START_TEST(a_plan_is_followed_as_far_as_it_can_be) {
    enclosed_prepare(&self, _i);
    ck_assert_int_eq(text_list_append(&self.plan.paths, "/nonexistent/at/all"), 0);
    ck_assert_int_eq(text_list_append(&self.plan.paths, "/etc/hostname"), 0);
    ck_assert_int_eq(root_plan_add_link(&self.plan, "/data/link", "../etc/hostname"), 0);
    enclosed_enter(&self);
    enclosed_start(&self, "say(os.path.lexists('/nonexistent'), os.readlink('/data/link'),\n"
                          "    os.path.isfile('/data/link'), *sorted(os.listdir('/etc')))\n");
    ck_assert_str_eq(enclosed_text(&self, CHILD_MARKER),
                     "False ../etc/hostname True hostname ld.so.cache\nready\n");
    enclosed_deinit(&self);
}
END_TEST

/* ---- rights of the maker ---- */

/* The sets of a process in hex, as the kernel says: permitted, effective, bounding. */
static void read_rights(uint64_t sets[3]) {
    static const char *const names[] = {"\nCapPrm:", "\nCapEff:", "\nCapBnd:"};
    char path[64], text[4096];
    snprintf(path, sizeof path, "%d/status", (int)getpid());
    const int fd = openat(self.proc_fd, path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    ck_assert_int_gt(n, 0);
    text[n] = '\0';
    for (int i = 0; i < 3; i++) {
        const char *line = strstr(text, names[i]);
        ck_assert_ptr_nonnull(line);
        sets[i] = strtoull(line + strlen(names[i]), NULL, 16);
    }
}

static void expect_rights(uint64_t held) {
    uint64_t sets[3];
    read_rights(sets);
    ck_assert_uint_eq(sets[0], held);
    ck_assert_uint_eq(sets[1], held);
    ck_assert_uint_eq(sets[2], 0);
}

START_TEST(rights_are_given_up_one_after_the_other) {
    enclosed_init(&self, _i, "");
    ck_assert_int_eq(enclosure_seal(self.enclosure, 1 << 20), 0);
    expect_rights(UINT64_C(1) << CAP_SYS_PTRACE);
    ChildView view;
    ck_assert_int_eq(child_observe(self.child, &view), 0); /* looking still works */
    ck_assert(view.layers[CHILD_LAYER_DESCRIPTORS]);
    enclosed_reap(&self);
    expect_rights(0);
    ck_assert_int_eq(getuid(), 1000);
    ck_assert_int_eq(setuid(0), -1);
    ck_assert_int_eq(open("/etc/passwd", O_RDONLY | O_CLOEXEC), -1);
    ck_assert_int_eq(open("/escaped", O_WRONLY | O_CREAT | O_CLOEXEC, 0600), -1);
    enclosed_deinit(&self);
}
END_TEST

/* ---- the size of the work directory ---- */

#define WRITE_ALL                                                                                  \
    "n, file = 0, open('/work/big', 'wb', buffering=0)\n"                                          \
    "try:\n"                                                                                       \
    "    while True: n += file.write(bytes(1000))\n"                                               \
    "except OSError as error:\n"                                                                   \
    "    say('wrote', n, error.errno)\n"

START_TEST(it_is_full_when_so_many_bytes_are_written) {
    enclosed_init(&self, _i, "");
    /* Inputs lie beside what a job may write. */
    static char input[100000];
    ck_assert_int_eq(workdir_write(self.workdir, "your_data.csv", input, sizeof input), 0);
    ck_assert_int_eq(enclosure_seal(self.enclosure, 1 << 20), 0);
    ck_assert_int_eq(enclosure_full(self.enclosure), ENCLOSURE_HAS_ROOM);
    enclosed_send(&self,
                  WRITE_ALL "read_frame()\nfile.close()\nos.unlink('/work/big')\nsay('gone')\n");
    enclosed_expect(&self, "wrote 1048576 28\n"); /* ENOSPC */
    ck_assert_int_eq(enclosure_full(self.enclosure), ENCLOSURE_OUT_OF_BYTES);
    enclosed_send(&self, "");
    enclosed_expect(&self, "gone\n");
    ck_assert_int_eq(enclosure_full(self.enclosure), ENCLOSURE_HAS_ROOM);
    enclosed_deinit(&self);
}
END_TEST

START_TEST(a_full_one_is_full_when_all_are_dead) {
    enclosed_init(&self, _i, "");
    ck_assert_int_eq(enclosure_seal(self.enclosure, 64 << 10), 0);
    enclosed_run_to_end(&self, WRITE_ALL);
    ck_assert_str_eq(enclosed_text(&self, CHILD_MARKER), "ready\nwrote 65536 28\n");
    ck_assert_int_eq(enclosure_full(self.enclosure), ENCLOSURE_OUT_OF_BYTES);
    enclosed_deinit(&self);
}
END_TEST

START_TEST(it_is_full_when_there_are_so_many_files) {
    char expected[64];
    enclosed_init(&self, _i, "");
    ck_assert_int_eq(enclosure_seal(self.enclosure, 1 << 20), 0);
    enclosed_send(&self, "n = 0\n"
                         "try:\n"
                         "    while True:\n"
                         "        os.mknod(f'/work/{n}')\n"
                         "        n += 1\n"
                         "except OSError as error:\n"
                         "    say('made', n, error.errno)\n"
                         "read_frame()\n");
    snprintf(expected, sizeof expected, "made %llu 28\n",
             (unsigned long long)enclosure_max_files());
    enclosed_expect(&self, expected);
    ck_assert_int_eq(enclosure_full(self.enclosure), ENCLOSURE_OUT_OF_FILES);
    ck_assert_uint_eq(enclosure_max_files(), 16383);
    enclosed_deinit(&self);
}
END_TEST

/* ---- processes ---- */

static void expect_tasks(uint64_t expected) {
    uint64_t n_tasks;
    ck_assert_int_eq(enclosure_count_tasks(self.enclosure, &n_tasks), 0);
    ck_assert_uint_eq(n_tasks, expected);
}

START_TEST(tasks_are_counted) {
    enclosed_prepare(&self, _i);
    enclosed_enter(&self);
    expect_tasks(0);
    enclosed_start(&self, "");
    ck_assert_int_eq(enclosure_seal(self.enclosure, 1 << 20), 0);
    expect_tasks(1);
    enclosed_send(&self, "import threading\n"
                         "threading.Thread(target=threading.Event().wait).start()\n"
                         "threading.Thread(target=threading.Event().wait).start()\n"
                         "say('threads')\nread_frame()\n"
                         "if os.fork() == 0: signal.pause()\n"
                         "say('forked')\nread_frame()\n");
    enclosed_expect(&self, "threads\n");
    expect_tasks(3);
    enclosed_send(&self, "");
    enclosed_expect(&self, "forked\n");
    expect_tasks(4);
    enclosed_deinit(&self);
}
END_TEST

/* As far from its parents as a process can get, deaf to everything, and stopped. */
#define HIDE_A_GRANDCHILD                                                                          \
    "into, out = os.pipe()\n"                                                                      \
    "if os.fork() == 0:\n"                                                                         \
    "    os.setsid()\n"                                                                            \
    "    if os.fork() > 0: os._exit(0)\n"                                                          \
    "    for n in set(range(1, 65)) - {9, 19, 32, 33}: signal.signal(n, signal.SIG_IGN)\n"         \
    "    while os.getppid() != 1: os.sched_yield()\n"                                              \
    "    os.write(out, str(os.getpid()).encode())\n"                                               \
    "    while True: signal.pause()\n"                                                             \
    "os.wait()\n"                                                                                  \
    "os.kill(int(os.read(into, 9)), signal.SIGSTOP)\n"                                             \
    "say('hidden')\n"

START_TEST(killing_ends_all_that_is_inside) {
    EnclosedPids pids;
    enclosed_init(&self, _i, "");
    enclosed_send(&self, HIDE_A_GRANDCHILD "signal.pause()\n");
    enclosed_expect(&self, "hidden\n");
    expect_tasks(2);
    enclosed_pids_find(&pids, self.proc_fd, getpid());
    ck_assert_uint_eq(pids.n_items, 3); /* with the first process */
    ck_assert_int_eq(enclosure_reap(self.enclosure, 0, &self.usage), ENCLOSURE_E_ALIVE);
    enclosed_reap(&self);
    enclosed_pids_expect_gone(&pids, self.proc_fd);
    ck_assert_int_eq(self.exit.signal, SIGKILL);
    ck_assert_uint_gt(self.usage.peak_memory_bytes, 0);
    ck_assert_int_eq(enclosure_reap(self.enclosure, 0, &self.usage), 0); /* there is none */
    enclosed_deinit(&self);
}
END_TEST

START_TEST(what_a_dead_interpreter_leaves_is_ended_too) {
    EnclosedPids pids;
    enclosed_init(&self, _i, "");
    enclosed_send(&self, HIDE_A_GRANDCHILD);
    ck_assert_int_eq(enclosed_wait(&self, NULL).kind, CHILD_EXITED);
    enclosed_pids_find(&pids, self.proc_fd, getpid());
    ck_assert_uint_eq(pids.n_items, 3);
    enclosed_reap(&self);
    enclosed_pids_expect_gone(&pids, self.proc_fd);
    ck_assert_int_eq(self.exit.code, 3);
    enclosed_deinit(&self);
}
END_TEST

START_TEST(being_freed_is_being_killed) {
    EnclosedPids pids;
    enclosed_init(&self, _i, "");
    enclosed_pids_find(&pids, self.proc_fd, getpid());
    ck_assert_uint_eq(pids.n_items, 2);
    const int proc_fd = dup(self.proc_fd);
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    enclosed_free(&self);
    while (waitpid(-1, NULL, 0) > 0) continue;
    enclosed_pids_expect_gone(&pids, proc_fd);
}
END_TEST

/* ---- the death of the maker ---- */

/* The maker: encloses itself, says so, and never ends. */
static _Noreturn void run_maker(int user, int out) {
    enclosed_init(&self, user, "");
    enclosed_send(&self, HIDE_A_GRANDCHILD "signal.pause()\n");
    enclosed_expect(&self, "hidden\n");
    if (write(out, "x", 1) != 1) _exit(1);
    for (;;) pause();
}

static uid_t host_user(int proc_fd, pid_t pid) {
    ProcRights rights;
    ck_assert_int_eq(proc_rights(proc_fd, pid, &rights), 0);
    return (uid_t)rights.user;
}

START_TEST(the_death_of_the_maker_ends_all) {
    const int user = _i;
    const bool was_root = geteuid() == 0;
    const uid_t expected = was_root ? user == ENCLOSED_AS_USER ? ENCLOSED_NOBODY : ENCLOSED_UID
                                    : geteuid();
    EnclosedPids pids;
    int ends[2];
    char word;
    const int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t maker = fork();
    ck_assert_int_ge(maker, 0);
    if (maker == 0) run_maker(user, ends[1]);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &word, 1), 1);
    enclosed_pids_find(&pids, proc_fd, maker);
    ck_assert_uint_eq(pids.n_items, 3); /* first process, interpreter, grandchild */
    for (size_t i = 0; i < pids.n_items; i++)
        ck_assert_uint_eq(host_user(proc_fd, pids.items[i].pid), expected);
    ck_assert_uint_eq(host_user(proc_fd, maker), expected);
    ck_assert_int_eq(kill(maker, SIGKILL), 0);
    /* We inherit them: this ends only when every one is dead. */
    while (waitpid(-1, NULL, 0) > 0) continue;
    ck_assert_int_eq(errno, ECHILD);
    enclosed_pids_expect_gone(&pids, proc_fd);
    close(ends[0]);
    close(proc_fd);
}
END_TEST

static Suite *make_suite(void) {
    const TTest *const each_user[] = {
        every_layer_is_observed,
        what_is_given_up_is_observed,
        the_view_from_inside,
        nothing_is_written_but_in_work,
        a_plan_is_followed_as_far_as_it_can_be,
        rights_are_given_up_one_after_the_other,
        it_is_full_when_so_many_bytes_are_written,
        a_full_one_is_full_when_all_are_dead,
        it_is_full_when_there_are_so_many_files,
        tasks_are_counted,
        killing_ends_all_that_is_inside,
        what_a_dead_interpreter_leaves_is_ended_too,
        being_freed_is_being_killed,
        the_death_of_the_maker_ends_all,
    };
    Suite *suite = suite_create("enclosure");
    TCase *tests = tcase_create("enclosure");
    /* Who is no root is an ordinary user either way. */
    const int first = geteuid() == 0 ? ENCLOSED_AS_WE_ARE : ENCLOSED_AS_USER;
    for (size_t i = 0; i < sizeof each_user / sizeof *each_user; i++)
        tcase_add_loop_test(tests, each_user[i], first, ENCLOSED_USERS);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    setenv("CK_DEFAULT_TIMEOUT", "60", 0);
    SRunner *runner = srunner_create(make_suite());
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
