#include "platform/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

static const char warden_name[] = "tbwarden";
static const char installed_warden[] = TBSANDBOX_LIBEXEC "/tbwarden";

/* The warden lies beside the daemon in the build tree and in libexec when installed. */
static int find_warden(char **ret_path) {
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return error_origin(-errno);
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    if (!slash) return error_origin(-ENOENT);
    CLEANUP(freep) char *path = NULL;
    const int r = text_format(&path, "%.*s/%s", (int)(slash - self), self, warden_name);
    if (r < 0) return error_fold(r);
    if (access(path, X_OK) != 0) {
        free(path);
        path = strdup(installed_warden);
        if (!path) return error_origin(-ENOMEM);
    }
    *ret_path = TAKE(path);
    return 0;
}

/* The client takes a relative address as it is: it means the same to both. */
static int make_absolute(const char *path, char **ret_path) {
    CLEANUP(freep) char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (path[0] != '/' && !here) return error_origin(-errno);
    const int r = text_format(ret_path, "%s%s%s", here ? here : "", here ? "/" : "", path);
    return r < 0 ? error_fold(r) : 0;
}

static int user_paths(Paths *paths) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int r;
    if (runtime && runtime[0] == '/')
        r = text_format(&paths->runtime_directory, "%s/tbsandboxd", runtime);
    else
        r = text_format(&paths->runtime_directory, "/tmp/tbsandboxd-%u", (unsigned)getuid());
    if (r < 0) return error_fold(r);
    if (state && state[0] == '/')
        r = text_format(&paths->state_directory, "%s/tbsandboxd", state);
    else if (home && home[0] == '/')
        r = text_format(&paths->state_directory, "%s/.local/state/tbsandboxd", home);
    else
        r = text_format(&paths->state_directory, "%s/state", paths->runtime_directory);
    return r < 0 ? error_fold(r) : 0;
}

static int system_paths(Paths *paths) {
    paths->runtime_directory = strdup("/run/tbsandboxd");
    paths->state_directory = strdup("/var/lib/tbsandboxd");
    return paths->runtime_directory && paths->state_directory ? 0 : error_origin(-ENOMEM);
}

int paths_init(Paths *ret_paths) {
    Paths paths = {0};
    int r = getuid() == 0 ? system_paths(&paths) : user_paths(&paths);
    if (r == 0) r = find_warden(&paths.warden_path);
    const char *socket = getenv("TBSANDBOX_SOCKET");
    if (r == 0 && socket && socket[0])
        r = make_absolute(socket, &paths.socket_path);
    else if (r == 0)
        r = text_format(&paths.socket_path, "%s/tbsandboxd.sock", paths.runtime_directory);
    if (r < 0) {
        paths_deinit(&paths);
        return error_fold(r);
    }
    *ret_paths = paths;
    return 0;
}

void paths_deinit(Paths *paths) {
    free(paths->socket_path);
    free(paths->runtime_directory);
    free(paths->state_directory);
    free(paths->warden_path);
    *paths = (Paths){0};
}

ConfigPlaces paths_places(const Paths *paths) {
    return (ConfigPlaces){
        .socket_path = paths->socket_path,
        .runtime_directory = paths->runtime_directory,
        .state_directory = paths->state_directory,
        .warden_path = paths->warden_path,
    };
}
