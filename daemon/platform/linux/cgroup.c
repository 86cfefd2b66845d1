#include "platform/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

enum { FILE_BYTES = 16384, NUMBER_BYTES = 32, KILL_TRIES = 50, KILL_PAUSE_US = 2000 };

/* Ours, beside those of environments. */
static const char supervisor[] = "supervisor";

struct CgroupTree {
    int fd;
    char *path;
};

/* --- Small files --------------------------------------------------------------------------- */

/* NUL-terminated; what is longer is cut. */
static int read_file(int directory_fd, const char *name, char *buffer, size_t buffer_bytes) {
    CLEANUP(closep) int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -errno;
    const ssize_t n = pread(fd, buffer, buffer_bytes - 1, 0);
    if (n < 0) return -errno;
    buffer[n] = '\0';
    return 0;
}

static int write_text(int fd, const char *text) {
    const ssize_t n = pwrite(fd, text, strlen(text), 0);
    return n == (ssize_t)strlen(text) ? 0 : n < 0 ? -errno : -EIO;
}

static int write_file(int directory_fd, const char *name, const char *text) {
    CLEANUP(closep) int fd = openat(directory_fd, name, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -errno : write_text(fd, text);
}

static bool has_word(const char *text, const char *word) {
    const size_t n = strlen(word);
    for (const char *p = text; (p = strstr(p, word)); p += n)
        if ((p == text || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\n' || p[n] == '\0'))
            return true;
    return false;
}

/* --- Finding the delegated group ----------------------------------------------------------- */

/* Where version 2 is mounted; proc_pid_mountinfo(5). */
static int find_mount(char **ret_path) {
    CLEANUP(fclosep) FILE *file = fopen("/proc/self/mountinfo", "re");
    CLEANUP(freep) char *line = NULL;
    size_t line_bytes = 0;
    while (file && getline(&line, &line_bytes, file) > 0) {
        char root[256], place[256];
        const char *type = strstr(line, " - ");
        if (!type || strncmp(type, " - cgroup2 ", strlen(" - cgroup2 ")) != 0) continue;
        if (sscanf(line, "%*s %*s %*s %255s %255s", root, place) != 2 || strcmp(root, "/") != 0)
            continue;
        *ret_path = strdup(place);
        return *ret_path ? 0 : -ENOMEM;
    }
    return -ENOENT;
}

/* The group of this process, from its mount on; cgroups(7). */
static int find_own(char **ret_path) {
    char text[FILE_BYTES];
    CLEANUP(freep) char *mount_path = NULL;
    int r = find_mount(&mount_path);
    if (r == 0) r = read_file(AT_FDCWD, "/proc/self/cgroup", text, sizeof text);
    if (r < 0) return r;
    char *own = strstr(text, "0::");
    if (!own || (own != text && own[-1] != '\n')) return -ENOENT;
    own += strlen("0::");
    own[strcspn(own, "\n")] = '\0';
    /* A daemon that was started anew in place is where it moved itself. */
    char *last = strrchr(own, '/');
    if (last && strcmp(last + 1, supervisor) == 0) *last = '\0';
    return text_format(ret_path, "%s%s", mount_path, own);
}

/* systemd says so on the group itself. */
static bool is_delegated(const char *path) {
    char value[2] = {0};
    return (getxattr(path, "trusted.delegate", value, 1) == 1 ||
            getxattr(path, "user.delegate", value, 1) == 1) &&
           value[0] == '1';
}

/* --- The tree ------------------------------------------------------------------------------ */

static void closedirp(DIR **directory) {
    if (*directory) closedir(*directory);
}

static void remove_left(const CgroupTree *tree) {
    const int fd = openat(tree->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(closedirp) DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        if (strncmp(entry->d_name, "e-", 2) == 0) (void)cgroup_tree_remove(tree, entry->d_name);
}

/* No group with processes of its own may hand its controllers on. */
static int take_over(const CgroupTree *tree) {
    char own[64];
    if (mkdirat(tree->fd, supervisor, 0755) != 0 && errno != EEXIST) return -errno;
    snprintf(own, sizeof own, "%s/cgroup.procs", supervisor);
    int r = write_file(tree->fd, own, "0");
    if (r == 0) r = write_file(tree->fd, "cgroup.subtree_control", "+memory +pids");
    return r;
}

static int say(char **ret_reason, const char *format, const char *detail) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    const int r = text_format(ret_reason, format, detail);
#pragma GCC diagnostic pop
    return r < 0 ? error_fold(r) : CGROUP_E_UNAVAILABLE;
}

int cgroup_tree_open(CgroupTree **ret_tree, char **ret_reason) {
    char controllers[FILE_BYTES];
    CLEANUP(freep) char *path = NULL;
    int r = find_own(&path);
    if (r == -ENOMEM) return error_origin(r);
    if (r < 0) return say(ret_reason, "no control groups of version 2: %s", strerror(-r));
    if (!is_delegated(path))
        return say(ret_reason, "the control group %s is not delegated to the daemon", path);
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return say(ret_reason, "cannot open its control group: %s", strerror(errno));
    r = read_file(fd, "cgroup.controllers", controllers, sizeof controllers);
    if (r == 0 && (!has_word(controllers, "memory") || !has_word(controllers, "pids")))
        return say(ret_reason, "its control group %s lacks memory or pids", path);
    CgroupTree *tree = malloc(sizeof *tree);
    if (!tree) return error_origin(-ENOMEM);
    *tree = (CgroupTree){take_fd(&fd), TAKE(path)};
    if (r == 0) r = take_over(tree);
    if (r < 0) {
        cgroup_tree_close(tree);
        return say(ret_reason, "cannot take over its control group: %s", strerror(-r));
    }
    remove_left(tree);
    *ret_tree = tree;
    return 0;
}

CgroupTree *cgroup_tree_close(CgroupTree *tree) {
    if (!tree) return NULL;
    close_fd(tree->fd);
    free(tree->path);
    free(tree);
    return NULL;
}

int cgroup_tree_add(const CgroupTree *tree, const char *name, char **ret_path) {
    if (mkdirat(tree->fd, name, 0755) != 0 && errno != EEXIST) return error_origin(-errno);
    const int r = text_format(ret_path, "%s/%s", tree->path, name);
    return r < 0 ? error_fold(r) : 0;
}

/* Of what is dead already there is nothing to kill; what is not is dead in a moment. */
int cgroup_tree_remove(const CgroupTree *tree, const char *name) {
    if (unlinkat(tree->fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
    char kill_file[256];
    snprintf(kill_file, sizeof kill_file, "%s/cgroup.kill", name);
    (void)write_file(tree->fd, kill_file, "1");
    for (int i = 0; i < KILL_TRIES; i++) {
        if (unlinkat(tree->fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
        usleep(KILL_PAUSE_US);
    }
    return error_origin(-errno);
}

/* --- One group, from inside ---------------------------------------------------------------- */

/* Opened before the rights to open them are given up. */
typedef enum CgroupFile {
    FILE_PROCS,
    FILE_MEMORY_NOW,
    FILE_MEMORY_MAX,
    FILE_MEMORY_EVENTS,
    FILE_MEMORY_STAT,
    FILE_PIDS_MAX,
    FILE_PIDS_EVENTS,
    FILE_COUNT,
} CgroupFile;

static const struct {
    const char *name;
    int flags;
} files[FILE_COUNT] = {
    [FILE_PROCS] = {"cgroup.procs", O_RDWR},
    [FILE_MEMORY_NOW] = {"memory.current", O_RDONLY},
    [FILE_MEMORY_MAX] = {"memory.max", O_RDWR},
    [FILE_MEMORY_EVENTS] = {"memory.events", O_RDONLY},
    [FILE_MEMORY_STAT] = {"memory.stat", O_RDONLY},
    [FILE_PIDS_MAX] = {"pids.max", O_RDWR},
    [FILE_PIDS_EVENTS] = {"pids.events", O_RDONLY},
};

struct Cgroup {
    int fds[FILE_COUNT];
    uint64_t base_bytes; /* all memory, and ... */
    uint64_t base_anon;  /* ... that of processes alone, when limits were set */
};

Cgroup *cgroup_free(Cgroup *cgroup) {
    if (!cgroup) return NULL;
    for (int i = 0; i < FILE_COUNT; i++) close_fd(cgroup->fds[i]);
    free(cgroup);
    return NULL;
}

static void cgroup_freep(Cgroup **cgroup) {
    cgroup_free(*cgroup);
}

int cgroup_enter(const char *path, Cgroup **ret_cgroup) {
    CLEANUP(cgroup_freep) Cgroup *cgroup = malloc(sizeof *cgroup);
    if (!cgroup) return error_origin(-ENOMEM);
    for (int i = 0; i < FILE_COUNT; i++) cgroup->fds[i] = -1;
    CLEANUP(closep) int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return error_origin(-errno);
    for (int i = 0; i < FILE_COUNT; i++) {
        cgroup->fds[i] = openat(directory, files[i].name, files[i].flags | O_CLOEXEC);
        if (cgroup->fds[i] < 0) return error_origin(-errno);
    }
    /* Where there is no swap accounting there is no such file. */
    (void)write_file(directory, "memory.swap.max", "0");
    const int r = write_text(cgroup->fds[FILE_PROCS], "0");
    if (r < 0) return error_origin(r);
    *ret_cgroup = TAKE(cgroup);
    return 0;
}

static int read_open(const Cgroup *cgroup, CgroupFile file, char text[FILE_BYTES]) {
    const ssize_t n = pread(cgroup->fds[file], text, FILE_BYTES - 1, 0);
    if (n < 0) return -errno;
    text[n] = '\0';
    return 0;
}

bool cgroup_holds(const Cgroup *cgroup, pid_t pid) {
    char text[FILE_BYTES];
    if (read_open(cgroup, FILE_PROCS, text) < 0) return false;
    for (char *line = text, *end; *line; line = end + strspn(end, "\n")) {
        const long number = strtol(line, &end, 10);
        if (end == line) break;
        if (number == (long)pid) return true;
    }
    return false;
}

/* A line "key NUMBER". */
static uint64_t count_of(const char *text, const char *key) {
    const size_t n = strlen(key);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (strncmp(line, key, n) == 0 && line[n] == ' ') return strtoull(line + n, NULL, 10);
    return 0;
}

int cgroup_limit(Cgroup *cgroup, uint64_t memory_bytes, uint32_t processes, uint32_t n_own) {
    char text[FILE_BYTES], number[NUMBER_BYTES];
    int r = read_open(cgroup, FILE_MEMORY_NOW, text);
    if (r < 0) return error_origin(r);
    cgroup->base_bytes = strtoull(text, NULL, 10);
    r = read_open(cgroup, FILE_MEMORY_STAT, text);
    if (r < 0) return error_origin(r);
    cgroup->base_anon = count_of(text, "anon");
    snprintf(number, sizeof number, "%" PRIu64, cgroup->base_bytes + memory_bytes);
    r = write_text(cgroup->fds[FILE_MEMORY_MAX], number);
    if (r < 0) return error_origin(r);
    snprintf(number, sizeof number, "%" PRIu64, (uint64_t)processes + n_own + 1);
    r = write_text(cgroup->fds[FILE_PIDS_MAX], number);
    return r < 0 ? error_origin(r) : 0;
}

CgroupEvents cgroup_events(const Cgroup *cgroup) {
    char text[FILE_BYTES];
    CgroupEvents events = {0};
    if (read_open(cgroup, FILE_MEMORY_EVENTS, text) == 0)
        events.memory_kills = count_of(text, "oom_kill");
    if (read_open(cgroup, FILE_PIDS_EVENTS, text) == 0)
        events.refused_tasks = count_of(text, "max");
    return events;
}

/* The whole is cheap to ask for, its parts are not. */
bool cgroup_is_over(const Cgroup *cgroup, uint64_t limit_bytes) {
    char text[FILE_BYTES];
    if (read_open(cgroup, FILE_MEMORY_NOW, text) < 0) return false;
    if (strtoull(text, NULL, 10) <= cgroup->base_bytes + limit_bytes) return false;
    return read_open(cgroup, FILE_MEMORY_STAT, text) == 0 &&
           count_of(text, "anon") > cgroup->base_anon + limit_bytes;
}
