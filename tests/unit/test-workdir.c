#include "platform/workdir.h"

#include <errno.h>

#include "suite.h"
#include "workdir_maker.h"

static bool exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

START_TEST(it_is_private_and_new) {
    WorkdirMaker maker;
    Workdir *second = NULL;
    struct stat st;
    bool is_empty = false;
    workdir_maker_init(&maker);
    ck_assert_int_eq(stat(maker.directory, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0700);
    ck_assert_int_eq(stat(workdir_real_path(maker.workdir), &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0700);
    ck_assert_int_eq(workdir_make(maker.directory, &second), -EEXIST);
    ck_assert_ptr_null(second);
    ck_assert_int_eq(workdir_is_empty(maker.workdir, &is_empty), 0);
    ck_assert(is_empty);
    put(".hidden", "");
    ck_assert_int_eq(workdir_is_empty(maker.workdir, &is_empty), 0);
    ck_assert(!is_empty);
    workdir_maker_deinit(&maker);
    ck_assert(!exists(maker.directory));
}
END_TEST

START_TEST(nothing_is_left_of_a_failure) {
    Workdir *workdir = NULL;
    ck_assert_int_eq(workdir_make("/nonexistent/e-1", &workdir), -ENOENT);
    ck_assert_ptr_null(workdir);
}
END_TEST

START_TEST(files_are_new_and_private) {
    WorkdirMaker maker;
    struct stat st;
    char bytes[8];
    size_t n = 99;
    WorkdirFile file;
    workdir_maker_init(&maker);
    ck_assert_int_eq(workdir_write(maker.workdir, "data", "hello", 5), 0);
    ck_assert_int_eq(stat("data", &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(workdir_write(maker.workdir, "data", "other", 5), -EEXIST);
    ck_assert_int_eq(workdir_open(maker.workdir, "data", &file), 0);
    ck_assert_int_eq(file.kind, WORKDIR_REGULAR);
    ck_assert_uint_eq(file.size_bytes, 5);
    ck_assert_uint_eq(file.n_links, 1);
    ck_assert_int_eq(workdir_read(&file, bytes, sizeof bytes, &n), 0);
    ck_assert_uint_eq(n, 5);
    ck_assert(memcmp(bytes, "hello", 5) == 0);
    ck_assert_int_eq(workdir_read(&file, bytes, sizeof bytes, &n), 0);
    ck_assert_uint_eq(n, 0);
    workdir_file_deinit(&file);
    ck_assert_int_eq(workdir_open(maker.workdir, "absent", &file), 0);
    ck_assert_int_eq(file.kind, WORKDIR_MISSING);
    workdir_maker_deinit(&maker);
}
END_TEST

START_TEST(only_regular_files_are_opened) {
    static const struct {
        const char *name;
        WorkdirKind kind;
    } others[] = {
        {"link", WORKDIR_SYMLINK}, {"pipe", WORKDIR_FIFO}, {"directory", WORKDIR_DIRECTORY}};
    WorkdirMaker maker;
    workdir_maker_init(&maker);
    put("target", "x");
    ck_assert_int_eq(symlink("target", "link"), 0);
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    ck_assert_int_eq(mkdir("directory", 0700), 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        WorkdirFile file;
        ck_assert_int_eq(workdir_open(maker.workdir, others[i].name, &file), 0);
        ck_assert_int_eq(file.kind, others[i].kind);
        ck_assert_int_eq(file.fd, -1);
    }
    workdir_maker_deinit(&maker);
}
END_TEST

enum { PATHS_BYTES = 512 };

/* Walks and joins the paths by '|'; the result of the last step. */
static int walk(const Workdir *workdir, size_t max_entries, char paths[PATHS_BYTES]) {
    WorkdirWalk *pass;
    WorkdirEntry entry;
    int r;
    size_t n = 0;
    paths[0] = '\0';
    ck_assert_int_eq(workdir_walk_new(workdir, max_entries, &pass), 0);
    while ((r = workdir_walk_next(pass, &entry)) == 0) {
        n += (size_t)snprintf(paths + n, PATHS_BYTES - n, "%s%s", n ? "|" : "", entry.path);
        ck_assert_str_eq(entry.path + strlen(entry.path) - strlen(entry.name), entry.name);
        if (entry.file.kind == WORKDIR_SYMLINK) ck_assert_str_eq(entry.target, "/");
        workdir_file_deinit(&entry.file);
    }
    workdir_walk_free(pass);
    return r;
}

START_TEST(a_walk_sees_everything_once) {
    WorkdirMaker maker;
    char paths[PATHS_BYTES];
    workdir_maker_init(&maker);
    ck_assert_int_eq(walk(maker.workdir, 10, paths), WORKDIR_E_END);
    ck_assert_str_eq(paths, "");
    ck_assert_int_eq(mkdir("a", 0700), 0);
    ck_assert_int_eq(mkdir("a/b", 0700), 0);
    put("a/b/c", "");
    put("z", "");
    ck_assert_int_eq(symlink("/", "root"), 0);
    ck_assert_int_eq(walk(maker.workdir, 5, paths), WORKDIR_E_END);
    ck_assert_str_eq(paths, "a|root|z|a/b|a/b/c");
    ck_assert_int_eq(walk(maker.workdir, 4, paths), WORKDIR_E_CUT);
    ck_assert_str_eq(paths, "a|root|z|a/b");
    workdir_maker_deinit(&maker);
}
END_TEST

/* A tree that was built to stay. */
START_TEST(any_tree_is_removed) {
    enum { DEPTH = 3000 };
    WorkdirMaker maker;
    char outside[96];
    workdir_maker_init(&maker);
    snprintf(outside, sizeof outside, "%s/outside", maker.root);
    put(outside, "kept");
    for (int i = 0; i < DEPTH; i++) {
        ck_assert_int_eq(mkdir("removed-0", 0700), 0);
        put("removed-1", "");
        ck_assert_int_eq(chdir("removed-0"), 0);
    }
    ck_assert_int_eq(chdir(workdir_real_path(maker.workdir)), 0);
    ck_assert_int_eq(mkdir("closed", 0700), 0);
    put("closed/file", "");
    ck_assert_int_eq(mkdir("closed/inner", 0700), 0);
    put("closed/inner/file", "");
    ck_assert_int_eq(chmod("closed/inner", 0), 0);
    ck_assert_int_eq(chmod("closed", 0), 0);
    ck_assert_int_eq(symlink(maker.root, "out"), 0);
    ck_assert_int_eq(symlink(outside, "out-file"), 0);
    ck_assert_int_eq(mkfifo("pipe", 0), 0);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(workdir_remove(maker.directory), 0);
    ck_assert(!exists(maker.directory));
    ck_assert(exists(outside));
    ck_assert_int_eq(workdir_remove(maker.directory), 0); /* again: there is none */
    ck_assert_int_eq(unlink(outside), 0);
    workdir_maker_deinit(&maker);
}
END_TEST

START_TEST(removal_may_be_bounded_in_time) {
    WorkdirMaker maker;
    workdir_maker_init(&maker);
    ck_assert_int_eq(mkdir("full", 0700), 0);
    put("full/file", "");
    ck_assert_int_eq(workdir_remove_within(maker.directory, 0), WORKDIR_E_LATE);
    ck_assert(exists("full/file"));
    ck_assert_int_eq(workdir_remove_within(maker.directory, 60000), 0);
    ck_assert(!exists(maker.directory));
    workdir_maker_deinit(&maker);
}
END_TEST

START_TEST(what_took_its_place_is_removed) {
    WorkdirMaker maker;
    char moved[96];
    workdir_maker_init(&maker);
    snprintf(moved, sizeof moved, "%s/moved", maker.root);
    ck_assert_int_eq(rename(maker.directory, moved), 0);
    ck_assert_int_eq(symlink(moved, maker.directory), 0);
    ck_assert_int_eq(workdir_remove(maker.directory), 0);
    ck_assert(!exists(maker.directory));
    ck_assert(exists(moved));
    put(maker.directory, "");
    ck_assert_int_eq(workdir_remove(maker.directory), 0);
    ck_assert(!exists(maker.directory));
    ck_assert_int_eq(workdir_remove(moved), 0);
    workdir_maker_deinit(&maker);
}
END_TEST

START_TEST(it_is_set_aside_whatever_its_mode) {
    WorkdirMaker maker;
    char shelf[96], aside[112], taken[112];
    workdir_maker_init(&maker);
    put("file", "");
    snprintf(shelf, sizeof shelf, "%s/shelf", maker.root);
    snprintf(aside, sizeof aside, "%s/aside", shelf);
    snprintf(taken, sizeof taken, "%s/taken", shelf);
    ck_assert_int_eq(mkdir(shelf, 0700), 0);
    put(taken, "");
    ck_assert_int_eq(chmod(maker.directory, 0), 0);
    ck_assert_int_eq(workdir_set_aside(maker.directory, taken), WORKDIR_E_TAKEN);
    ck_assert_int_eq(workdir_set_aside(maker.directory, shelf), WORKDIR_E_TAKEN);
    ck_assert_int_eq(workdir_set_aside(maker.directory, aside), 0);
    ck_assert(!exists(maker.directory));
    ck_assert(exists(aside));
    ck_assert_int_eq(workdir_set_aside(maker.directory, aside), -ENOENT);
    ck_assert_int_eq(workdir_remove(shelf), 0);
    workdir_maker_deinit(&maker);
}
END_TEST

SUITE_MAIN("workdir", it_is_private_and_new, nothing_is_left_of_a_failure,
           files_are_new_and_private, only_regular_files_are_opened, a_walk_sees_everything_once,
           any_tree_is_removed, removal_may_be_bounded_in_time, what_took_its_place_is_removed,
           it_is_set_aside_whatever_its_mode)
