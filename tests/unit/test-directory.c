#include "platform/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "scratch.h"
#include "suite.h"

static Scratch scratch;

static unsigned mode_of(const char *path) {
    struct stat st;
    ck_assert_int_eq(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

START_TEST(makes_it_with_its_parents_whatever_the_umask) {
    scratch_init(&scratch);
    umask(0);
    ck_assert_int_eq(directory_make(in_scratch(&scratch, "a/b/c"), 0700), 0);
    ck_assert_uint_eq(mode_of(in_scratch(&scratch, "a")), 0755);
    ck_assert_uint_eq(mode_of(in_scratch(&scratch, "a/b/c")), 0700);
    umask(0077);
    ck_assert_int_eq(directory_make(in_scratch(&scratch, "open"), 0755), 0);
    ck_assert_uint_eq(mode_of(in_scratch(&scratch, "open")), 0755);
    scratch_deinit(&scratch);
}
END_TEST

START_TEST(takes_one_that_is_there_and_leaves_its_mode) {
    scratch_init(&scratch);
    const char *path = in_scratch(&scratch, "d");
    ck_assert_int_eq(mkdir(path, 0750), 0);
    ck_assert_int_eq(directory_make(path, 0700), 0);
    ck_assert_uint_eq(mode_of(path), 0750);
    scratch_deinit(&scratch);
}
END_TEST

START_TEST(one_that_others_may_write_to_is_unsafe) {
    scratch_init(&scratch);
    const char *path = in_scratch(&scratch, "d");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(chmod(path, 0720), 0);
    ck_assert_int_eq(directory_make(path, 0700), DIRECTORY_E_UNSAFE);
    ck_assert_int_eq(chmod(path, 0702), 0);
    ck_assert_int_eq(directory_make(path, 0700), DIRECTORY_E_UNSAFE);
    scratch_deinit(&scratch);
}
END_TEST

START_TEST(one_of_somebody_else_is_unsafe) {
    if (geteuid() == 0) {
        scratch_init(&scratch);
        const char *path = in_scratch(&scratch, "d");
        ck_assert_int_eq(mkdir(path, 0700), 0);
        ck_assert_int_eq(chown(path, 65534, 65534), 0);
        ck_assert_int_eq(directory_make(path, 0700), DIRECTORY_E_UNSAFE);
        scratch_deinit(&scratch);
    } else {
        ck_assert_int_eq(directory_make("/", 0700), DIRECTORY_E_UNSAFE);
    }
}
END_TEST

START_TEST(links_and_files_are_refused) {
    scratch_init(&scratch);
    ck_assert_int_eq(mkdir(in_scratch(&scratch, "d"), 0700), 0);
    ck_assert_int_eq(symlink("d", in_scratch(&scratch, "link")), 0);
    scratch_write(in_scratch(&scratch, "file"), "x");
    ck_assert_int_lt(directory_make(in_scratch(&scratch, "link"), 0700), 0);
    ck_assert_int_eq(directory_make(in_scratch(&scratch, "file"), 0700), -ENOTDIR);
    ck_assert_int_eq(directory_make(in_scratch(&scratch, "file/below"), 0700), -ENOTDIR);
    scratch_deinit(&scratch);
}
END_TEST

START_TEST(a_lock_is_held_by_one) {
    scratch_init(&scratch);
    int fd = -1, other = -7;
    ck_assert_int_eq(directory_lock(scratch.path, &fd), 0);
    ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    ck_assert_int_eq(directory_lock(scratch.path, &other), DIRECTORY_E_LOCKED);
    ck_assert_int_eq(other, -7);
    close(fd);
    ck_assert_int_eq(directory_lock(scratch.path, &other), 0);
    close(other);
    ck_assert_int_eq(directory_lock(in_scratch(&scratch, "none"), &fd), -ENOENT);
    scratch_deinit(&scratch);
}
END_TEST

START_TEST(a_secret_is_made_once_and_stays) {
    unsigned char first[32] = {0}, again[32] = {0}, zero[32] = {0};
    scratch_init(&scratch);
    umask(0);
    ck_assert_int_eq(directory_load_secret(scratch.path, "key", first, sizeof first), 0);
    ck_assert_mem_ne(first, zero, sizeof first);
    ck_assert_uint_eq(mode_of(in_scratch(&scratch, "key")), 0600);
    ck_assert_int_ne(access(in_scratch(&scratch, "key.new"), F_OK), 0);
    ck_assert_int_eq(directory_load_secret(scratch.path, "key", again, sizeof again), 0);
    ck_assert_mem_eq(first, again, sizeof first);
    scratch_deinit(&scratch);
}
END_TEST

START_TEST(what_a_killed_daemon_left_does_not_stop_it) {
    unsigned char secret[32];
    scratch_init(&scratch);
    scratch_write(in_scratch(&scratch, "key.new"), "half a sec");
    ck_assert_int_eq(directory_load_secret(scratch.path, "key", secret, sizeof secret), 0);
    scratch_deinit(&scratch);
}
END_TEST

START_TEST(a_secret_of_another_kind_is_refused) {
    unsigned char secret[32];
    scratch_init(&scratch);
    scratch_write(in_scratch(&scratch, "short"), "short");
    ck_assert_int_eq(directory_load_secret(scratch.path, "short", secret, sizeof secret), -EBADMSG);
    ck_assert_int_eq(mkfifo(in_scratch(&scratch, "fifo"), 0600), 0);
    ck_assert_int_eq(directory_load_secret(scratch.path, "fifo", secret, sizeof secret), -EBADMSG);
    ck_assert_int_eq(mkdir(in_scratch(&scratch, "dir"), 0700), 0);
    ck_assert_int_eq(directory_load_secret(scratch.path, "dir", secret, sizeof secret), -EBADMSG);
    ck_assert_int_eq(symlink("short", in_scratch(&scratch, "link")), 0);
    ck_assert_int_eq(directory_load_secret(scratch.path, "link", secret, sizeof secret), -ELOOP);
    scratch_deinit(&scratch);
}
END_TEST

SUITE_MAIN("directory", makes_it_with_its_parents_whatever_the_umask,
           takes_one_that_is_there_and_leaves_its_mode, one_that_others_may_write_to_is_unsafe,
           one_of_somebody_else_is_unsafe, links_and_files_are_refused, a_lock_is_held_by_one,
           a_secret_is_made_once_and_stays, what_a_killed_daemon_left_does_not_stop_it,
           a_secret_of_another_kind_is_refused)
