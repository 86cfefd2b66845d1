#include "platform/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/un.h>
#include <unistd.h>

#include "scratch.h"
#include "suite.h"

static Scratch scratch;

static int listen_at(const char *path) {
    int fd = -1;
    ck_assert_int_eq(listener_open(path, 0600, &fd), 0);
    ck_assert_int_ge(fd, 0);
    return fd;
}

/* 0 or the errno. */
static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int error = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
    close(fd);
    return error;
}

START_TEST(answers_with_the_mode_asked_for) {
    scratch_init(&scratch);
    const char *path = in_scratch(&scratch, "socket");
    int fd = -1;
    umask(0077);
    ck_assert_int_eq(listener_open(path, 0666, &fd), 0);
    struct stat st;
    ck_assert_int_eq(lstat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode, S_IFSOCK | 0666);
    ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
    ck_assert_uint_eq(umask(0), 0077); /* as it was */
    ck_assert_int_eq(connect_to(path), 0);
    listener_remove(path);
    ck_assert_int_ne(lstat(path, &st), 0);
    close(fd);
    scratch_deinit(&scratch);
}
END_TEST

START_TEST(makes_the_directory) {
    scratch_init(&scratch);
    const char *path = in_scratch(&scratch, "a/b/socket");
    umask(0077);
    const int fd = listen_at(path);
    struct stat st;
    ck_assert_int_eq(stat(in_scratch(&scratch, "a/b"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0755);
    ck_assert_int_eq(connect_to(path), 0);
    close(fd);
    scratch_deinit(&scratch);
}
END_TEST

START_TEST(a_living_daemon_is_left_alone) {
    scratch_init(&scratch);
    const char *path = in_scratch(&scratch, "socket");
    const int fd = listen_at(path);
    int other = -7;
    ck_assert_int_eq(listener_open(path, 0600, &other), LISTENER_E_IN_USE);
    ck_assert_int_eq(other, -7);
    ck_assert_int_eq(connect_to(path), 0);
    close(fd);
    scratch_deinit(&scratch);
}
END_TEST

START_TEST(a_dead_daemons_socket_is_replaced) {
    scratch_init(&scratch);
    const char *path = in_scratch(&scratch, "socket");
    close(listen_at(path));
    ck_assert_int_eq(connect_to(path), ECONNREFUSED);
    const int fd = listen_at(path);
    ck_assert_int_eq(connect_to(path), 0);
    close(fd);
    scratch_deinit(&scratch);
}
END_TEST

START_TEST(what_is_no_socket_is_left_alone) {
    scratch_init(&scratch);
    const char *file = in_scratch(&scratch, "file"), *link = in_scratch(&scratch, "link");
    int fd = -7;
    struct stat st;
    scratch_write(file, "x");
    ck_assert_int_eq(listener_open(file, 0600, &fd), LISTENER_E_NOT_OURS);
    /* A link to a dead socket is a link. */
    const char *target = in_scratch(&scratch, "target");
    close(listen_at(target));
    ck_assert_int_eq(symlink(target, link), 0);
    ck_assert_int_eq(listener_open(link, 0600, &fd), LISTENER_E_NOT_OURS);
    ck_assert_int_eq(fd, -7);
    ck_assert_int_eq(lstat(file, &st), 0);
    ck_assert_int_eq(lstat(link, &st), 0);
    scratch_deinit(&scratch);
}
END_TEST

START_TEST(a_path_that_is_too_long_is_an_error) {
    char path[200];
    int fd = -7;
    memset(path, 'p', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(listener_open(path, 0600, &fd), -ENAMETOOLONG);
    ck_assert_int_eq(fd, -7);
}
END_TEST

/* Another process that has taken the address over; it listens until it is killed. */
static pid_t take_over(const char *path) {
    ck_assert_int_eq(unlink(path), 0);
    int ready[2];
    ck_assert_int_eq(pipe(ready), 0);
    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        listen_at(path);
        if (write(ready[1], "", 1) == 1) pause();
        _exit(1);
    }
    char byte;
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

START_TEST(removes_its_own_address_only) {
    scratch_init(&scratch);
    const char *path = in_scratch(&scratch, "socket");
    const int fd = listen_at(path);
    const pid_t other = take_over(path);
    struct stat st;
    listener_remove(path);
    ck_assert_int_eq(lstat(path, &st), 0);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    close(fd);
    scratch_deinit(&scratch);
}
END_TEST

SUITE_MAIN("listener", answers_with_the_mode_asked_for, makes_the_directory,
           a_living_daemon_is_left_alone, a_dead_daemons_socket_is_replaced,
           what_is_no_socket_is_left_alone, a_path_that_is_too_long_is_an_error,
           removes_its_own_address_only)
