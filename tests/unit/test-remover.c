#include "broker/remover.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

#include "loop.h"
#include "stub_config.h"
#include "suite.h"

static bool has(const char *directory, const char *name) {
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return lstat(path, &st) == 0;
}

/* Started in the helper's place: what lies in the directory says how its removal goes. */
static int be_helper(int argc, char **argv) {
    if (argc < 3 || strcmp(argv[1], "--remove") != 0) return 95;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char *directory = argv[2];
    if (has(directory, "waits"))
        while (!has(directory, "go")) usleep(1000);
    if (has(directory, "fails")) return 1;
    if (has(directory, "dies")) kill(getpid(), SIGKILL);
    if (has(directory, "dies-once")) {
        char path[256];
        snprintf(path, sizeof path, "%s/dies-once", directory);
        unlink(path);
        kill(getpid(), SIGKILL);
    }
    return workdir_remove(directory) == 0 ? 0 : 1;
}

/* ---- the broker's side ---- */

static struct {
    Loop loop;
    Places places;
    Config *config;
    struct event *children;
    Remover *remover;
    unsigned n_exits;
} self;

static void on_child(evutil_socket_t number, short what, void *data) {
    (void)number;
    (void)what;
    (void)data;
    ProcessExit exit;
    while (process_reap(&exit)) {
        const ProcessExit other = {.pid = exit.pid + 1};
        ck_assert(!remover_exited(self.remover, &other));
        ck_assert(remover_exited(self.remover, &exit));
        self.n_exits++;
    }
}

static void prepare(void) {
    log_setup("test", LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
    places_init(&self.places);
    self.config = make_stub_config(&self.places, "ready");
    loop_init(&self.loop);
    self.children = evsignal_new(self.loop.base, SIGCHLD, on_child, NULL);
    event_add(self.children, NULL);
}

static void start(void) {
    ck_assert_int_eq(remover_new(self.loop.base, self.config, &self.remover), 0);
}

static void await_idle(void) {
    loop_until(&self.loop, remover_is_idle(self.remover));
}

static void set_up(void) {
    prepare();
    start();
    await_idle();
    self.n_exits = 0;
}

static void tear_down(void) {
    self.remover = remover_free(self.remover);
    event_free(self.children);
    loop_deinit(&self.loop);
    ck_assert_uint_eq(self.config->n_refs, 1);
    config_unref(self.config);
    places_deinit(&self.places);
}

/* A path in the work directory; valid until the fourth one after it. */
static const char *in_work(const char *name) {
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", self.places.work, name);
    return path;
}

static void make_file(const char *directory, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

/* A warden's directory with one file in it. */
static void make_directory(const char *name, const char *file) {
    ck_assert_int_eq(mkdir(in_work(name), 0700), 0);
    make_file(in_work(name), file);
}

static void leave(const char *name, const char *file) {
    make_directory(name, file);
    remover_take(self.remover, in_work(name));
    ck_assert(!has(self.places.work, name)); /* whatever comes of it, it is out of the way */
}

static int n_in_work(void) {
    DIR *directory = opendir(self.places.work);
    ck_assert_ptr_nonnull(directory);
    int n = -2; /* "." and ".." */
    while (readdir(directory)) n++;
    closedir(directory);
    return n;
}

START_TEST(what_is_left_is_removed_by_a_helper) {
    set_up();
    ck_assert_int_eq(n_in_work(), 0);
    ck_assert_int_eq(remover_pid(self.remover), 0);
    leave("e-1", "waits");
    ck_assert_int_gt(remover_pid(self.remover), 0);
    ck_assert(!remover_is_idle(self.remover));
    make_file(in_work(".trash-1"), "go");
    await_idle();
    ck_assert_int_eq(n_in_work(), 0);
    remover_take(self.remover, in_work("e-2")); /* its warden had removed it after all */
    ck_assert(remover_is_idle(self.remover));
    tear_down();
}
END_TEST

START_TEST(there_is_one_helper_at_a_time) {
    set_up();
    leave("e-1", "waits");
    const pid_t first = remover_pid(self.remover);
    leave("e-2", "file");
    leave("e-3", "file");
    loop_idle(&self.loop);
    ck_assert_int_eq(remover_pid(self.remover), first);
    ck_assert_int_eq(n_in_work(), 3);
    make_file(in_work(".trash-1"), "go");
    await_idle();
    ck_assert_int_eq(n_in_work(), 0);
    ck_assert_uint_eq(self.n_exits, 3);
    tear_down();
}
END_TEST

START_TEST(what_cannot_be_removed_holds_up_nothing) {
    set_up();
    leave("e-1", "fails");
    leave("e-2", "dies");
    leave("e-3", "file");
    await_idle();
    ck_assert(has(self.places.work, ".trash-1"));
    ck_assert(has(self.places.work, ".trash-2"));
    ck_assert_int_eq(n_in_work(), 2);
    ck_assert_uint_eq(self.n_exits, 1 + 3 + 1); /* who was killed is tried again, not for ever */
    tear_down();
}
END_TEST

START_TEST(a_killed_helper_is_started_again) {
    set_up();
    leave("e-1", "dies-once");
    await_idle();
    ck_assert_int_eq(n_in_work(), 0);
    ck_assert_uint_eq(self.n_exits, 2);
    tear_down();
}
END_TEST

START_TEST(names_in_the_way_are_passed_over) {
    set_up();
    make_directory(".trash-1", "file");
    make_file(self.places.work, ".trash-2");
    leave("e-1", "file");
    await_idle();
    ck_assert_int_eq(n_in_work(), 0); /* and removed as well */
    tear_down();
}
END_TEST

START_TEST(the_start_does_not_wait_for_what_was_left) {
    prepare();
    make_file(self.places.work, "waits");
    make_directory("e-1", "file");
    make_directory(".trash-0", "file");
    start();
    ck_assert_int_eq(n_in_work(), 1);
    ck_assert(has(in_work(".trash-0"), ".trash-0"));
    leave("e-1", "file"); /* the name is free at once */
    make_file(in_work(".trash-0"), "go");
    await_idle();
    ck_assert_int_eq(n_in_work(), 0);
    tear_down();
}
END_TEST

START_TEST(a_start_that_was_killed_is_made_good) {
    char fresh[128], trash[160];
    prepare();
    /* Between the two renames: the old directory lies in the new one, which has no name yet. */
    snprintf(fresh, sizeof fresh, "%s.new", self.places.work);
    snprintf(trash, sizeof trash, "%s/.trash-0", fresh);
    ck_assert_int_eq(mkdir(fresh, 0700), 0);
    ck_assert_int_eq(rename(self.places.work, trash), 0);
    make_file(trash, "file");
    start();
    ck_assert(!has(self.places.directory, "work.new"));
    await_idle();
    ck_assert_int_eq(n_in_work(), 0);
    tear_down();
}
END_TEST

START_TEST(a_first_start_has_nothing_to_remove) {
    prepare();
    ck_assert_int_eq(rmdir(self.places.work), 0);
    start();
    await_idle();
    ck_assert_int_eq(n_in_work(), 0);
    tear_down();
}
END_TEST

START_TEST(without_a_helper_nothing_is_waited_for) {
    set_up();
    Config *broken = make_stub_config(&self.places, "ready");
    set_text(&broken->warden_path, "/nonexistent/tbwarden");
    remover_configure(self.remover, broken);
    leave("e-1", "file");
    ck_assert(remover_is_idle(self.remover));
    ck_assert_int_eq(n_in_work(), 1);
    remover_configure(self.remover, self.config);
    ck_assert_uint_eq(broken->n_refs, 1);
    config_unref(broken);
    loop_until(&self.loop, self.n_exits == 1); /* it is tried again */
    ck_assert_int_eq(n_in_work(), 0);
    tear_down();
}
END_TEST

START_TEST(the_end_kills_the_helper) {
    set_up();
    leave("e-1", "waits");
    const pid_t pid = remover_pid(self.remover);
    event_del(self.children);
    self.remover = remover_free(self.remover);
    ProcessExit exit = {0};
    loop_until(&self.loop, process_reap(&exit));
    ck_assert_int_eq(exit.pid, pid);
    ck_assert_int_eq(exit.signal, SIGKILL);
    tear_down();
}
END_TEST

SUITE_MAIN_OR(be_helper, "remover", what_is_left_is_removed_by_a_helper,
              there_is_one_helper_at_a_time, what_cannot_be_removed_holds_up_nothing,
              a_killed_helper_is_started_again, names_in_the_way_are_passed_over,
              the_start_does_not_wait_for_what_was_left, a_start_that_was_killed_is_made_good,
              a_first_start_has_nothing_to_remove, without_a_helper_nothing_is_waited_for,
              the_end_kills_the_helper)
