#include "platform/paths.h"

#include <stdlib.h>
#include <unistd.h>

#include "suite.h"

static Paths paths;

static void clear_environment(void) {
    unsetenv("TBSANDBOX_SOCKET");
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
}

/* The system's places are root's alone. */
static void become_ordinary(void) {
    clear_environment();
    if (getuid() == 0) ck_assert_int_eq(setuid(65534), 0);
}

static void expect_paths(const char *socket, const char *runtime, const char *state) {
    ck_assert_int_eq(paths_init(&paths), 0);
    ck_assert_str_eq(paths.socket_path, socket);
    ck_assert_str_eq(paths.runtime_directory, runtime);
    ck_assert_str_eq(paths.state_directory, state);
    paths_deinit(&paths);
    ck_assert_ptr_null(paths.socket_path);
}

START_TEST(root_has_the_systems_places) {
    if (getuid() != 0) return;
    clear_environment();
    setenv("XDG_RUNTIME_DIR", "/run/user/0", 1);
    setenv("HOME", "/root", 1);
    expect_paths("/run/tbsandboxd/tbsandboxd.sock", "/run/tbsandboxd", "/var/lib/tbsandboxd");
}
END_TEST

START_TEST(a_user_has_places_of_his_own) {
    become_ordinary();
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    setenv("XDG_STATE_HOME", "/state", 1);
    setenv("HOME", "/home/u", 1);
    expect_paths("/run/user/7/tbsandboxd/tbsandboxd.sock", "/run/user/7/tbsandboxd",
                 "/state/tbsandboxd");
    unsetenv("XDG_STATE_HOME");
    expect_paths("/run/user/7/tbsandboxd/tbsandboxd.sock", "/run/user/7/tbsandboxd",
                 "/home/u/.local/state/tbsandboxd");
}
END_TEST

START_TEST(a_relative_socket_is_where_the_client_looks) {
    become_ordinary();
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    setenv("HOME", "/home/u", 1);
    setenv("TBSANDBOX_SOCKET", "socket", 1);
    ck_assert_int_eq(chdir("/tmp"), 0);
    expect_paths("/tmp/socket", "/run/user/7/tbsandboxd", "/home/u/.local/state/tbsandboxd");
}
END_TEST

START_TEST(relative_places_do_not_count) {
    become_ordinary();
    setenv("XDG_RUNTIME_DIR", "run", 1);
    setenv("XDG_STATE_HOME", "state", 1);
    setenv("HOME", "", 1);
    char runtime[64], socket[96], state[96];
    snprintf(runtime, sizeof runtime, "/tmp/tbsandboxd-%u", (unsigned)getuid());
    snprintf(socket, sizeof socket, "%s/tbsandboxd.sock", runtime);
    snprintf(state, sizeof state, "%s/state", runtime);
    expect_paths(socket, runtime, state);
}
END_TEST

START_TEST(the_socket_may_be_named) {
    become_ordinary();
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    setenv("HOME", "/home/u", 1);
    setenv("TBSANDBOX_SOCKET", "/elsewhere/s", 1);
    expect_paths("/elsewhere/s", "/run/user/7/tbsandboxd", "/home/u/.local/state/tbsandboxd");
}
END_TEST

START_TEST(the_config_borrows_them) {
    ck_assert_int_eq(paths_init(&paths), 0);
    const ConfigPlaces places = paths_places(&paths);
    ck_assert_ptr_eq(places.socket_path, paths.socket_path);
    ck_assert_ptr_eq(places.runtime_directory, paths.runtime_directory);
    ck_assert_ptr_eq(places.state_directory, paths.state_directory);
    ck_assert_ptr_eq(places.warden_path, paths.warden_path);
    /* No warden lies beside this program. */
    ck_assert_str_eq(paths.warden_path, "/usr/local/libexec/tbsandboxd/tbwarden");
    paths_deinit(&paths);
}
END_TEST

SUITE_MAIN("paths", root_has_the_systems_places, a_user_has_places_of_his_own,
           relative_places_do_not_count, a_relative_socket_is_where_the_client_looks,
           the_socket_may_be_named, the_config_borrows_them)
