#include "platform/linux/root.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { NUMBER_BYTES = 24, NAME_BYTES = 256 };

/* What is anywhere: mounted over in our own namespace until it becomes the root. */
static const char mount_point[] = "/proc";

static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                      "/dev/urandom"};

static int refuse(const char *step, StepFailure *ret_failure) {
    *ret_failure = (StepFailure){step, errno};
    return 1;
}

/* --- Mounts, by the calls that need no path to what they mount -------------------------------- */

typedef struct MountOption {
    const char *key;
    const char *value;
} MountOption;

/* Returns the mount, not yet attached anywhere, or -1. */
static int make_mount(const char *type, const MountOption *options, unsigned attributes) {
    CLEANUP(closep) int fs = fsopen(type, FSOPEN_CLOEXEC);
    if (fs < 0) return -1;
    for (; options->key; options++)
        if (fsconfig(fs, FSCONFIG_SET_STRING, options->key, options->value, 0) != 0) return -1;
    if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0) return -1;
    return fsmount(fs, FSMOUNT_CLOEXEC, attributes);
}

static int make_tmpfs(uint64_t bytes, unsigned files, const char *mode) {
    char size[NUMBER_BYTES], n_files[NUMBER_BYTES];
    snprintf(size, sizeof size, "%" PRIu64, bytes);
    snprintf(n_files, sizeof n_files, "%u", files);
    const MountOption options[] = {
        {"size", size}, {"nr_inodes", n_files}, {"mode", mode}, {NULL, NULL}};
    return make_mount("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

static int attach(int mount_fd, int root_fd, const char *path) {
    return move_mount(mount_fd, "", root_fd, path, MOVE_MOUNT_F_EMPTY_PATH);
}

/* --- Places in the new root --------------------------------------------------------------------
 */

/* Opens the directory of `path`, making what is missing of it. *ret_name is its last component. */
static int open_parent(int root_fd, const char *path, const char **ret_name) {
    int fd = dup(root_fd);
    for (;;) {
        char name[NAME_BYTES];
        path += strspn(path, "/");
        const size_t n = strcspn(path, "/");
        *ret_name = path;
        if (fd < 0 || path[n] == '\0') return fd;
        if (n >= sizeof name) {
            errno = ENAMETOOLONG;
            return close_fd(fd);
        }
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        if (mkdirat(fd, name, 0755) != 0 && errno != EEXIST) return close_fd(fd);
        const int next = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(fd);
        fd = next;
        path += n;
    }
}

static int make_place(int parent_fd, const char *name, bool is_directory) {
    if (is_directory) return mkdirat(parent_fd, name, 0755) == 0 || errno == EEXIST ? 0 : -1;
    CLEANUP(closep) int fd = openat(parent_fd, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0);
    return fd >= 0 || errno == EEXIST ? 0 : -1;
}

/* Shows what is at `path` at the same place. Locked flags of the old mount stay as they are. */
static int show(int root_fd, const char *path, unsigned attributes) {
    CLEANUP(closep)
    int tree = open_tree(AT_FDCWD, path,
                         OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
    struct mount_attr attr = {.attr_set = attributes};
    struct stat st;
    if (tree < 0 || fstat(tree, &st) != 0) return -1;
    if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) != 0) return -1;
    const char *name;
    CLEANUP(closep) int parent = open_parent(root_fd, path, &name);
    if (parent < 0 || make_place(parent, name, S_ISDIR(st.st_mode)) != 0) return -1;
    return attach(tree, parent, name);
}

static int make_link(int root_fd, const RootLink *link) {
    const char *name;
    CLEANUP(closep) int parent = open_parent(root_fd, link->path, &name);
    if (parent < 0) return -1;
    return symlinkat(link->target, parent, name) == 0 || errno == EEXIST ? 0 : -1;
}

/* --- The whole ----------------------------------------------------------------------------- */

static int fill(const RootPlan *plan, int root_fd, StepFailure *ret_failure) {
    for (size_t i = 0; i < plan->n_links; i++)
        if (make_link(root_fd, &plan->links[i]) != 0)
            return refuse("make the links of its root", ret_failure);
    for (size_t i = 0; i < plan->paths.n_items; i++)
        if (show(root_fd, plan->paths.items[i],
                 MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV) != 0 &&
            errno != ENOENT)
            return refuse("show the interpreter's files in its root", ret_failure);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (show(root_fd, devices[i], MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC) !=
            0)
            return refuse("show harmless devices in its root", ret_failure);
    return 0;
}

static int make_work(Root *root, uint64_t disk_bytes) {
    root->work_fd = make_tmpfs(disk_bytes, ROOT_WORK_FILES, "0700");
    if (root->work_fd < 0 || mkdirat(root->root_fd, "work", 0755) != 0 ||
        attach(root->work_fd, root->root_fd, "work") != 0)
        return -1;
    /* A mount's own descriptor is one of paths only. */
    close(root->work_fd);
    root->work_fd = openat(root->root_fd, "work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return root->work_fd < 0 ? -1 : 0;
}

int root_build(const RootPlan *plan, uint64_t disk_bytes, Root *ret_root,
               StepFailure *ret_failure) {
    enum { ROOT_BYTES = 4 << 20, ROOT_FILES = 4096 };
    CLEANUP(root_deinit) Root root = {-1, -1};
    root.root_fd = make_tmpfs(ROOT_BYTES, ROOT_FILES, "0755");
    if (root.root_fd < 0 || attach(root.root_fd, AT_FDCWD, mount_point) != 0)
        return refuse("mount its root", ret_failure);
    if (fill(plan, root.root_fd, ret_failure) != 0) return 1;
    if (make_work(&root, disk_bytes) != 0) return refuse("mount its work directory", ret_failure);
    if (mkdirat(root.root_fd, "proc", 0755) != 0) return refuse("make proc/", ret_failure);
    *ret_root = root;
    root = (Root){-1, -1};
    return 0;
}

int root_mount_proc(const Root *root) {
    static const MountOption options[] = {
        {"hidepid", "invisible"}, {"subset", "pid"}, {NULL, NULL}};
    CLEANUP(closep)
    int fd = make_mount("proc", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    return fd < 0 ? -1 : attach(fd, root->root_fd, "proc");
}

/* pivot_root(2): with both paths ".", the old root lies on top of the new one and can be let go. */
int root_enter(const Root *root, StepFailure *ret_failure) {
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    if (fchdir(root->root_fd) != 0 || syscall(SYS_pivot_root, ".", ".") != 0)
        return refuse("enter its root", ret_failure);
    if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
        return refuse("leave the old root", ret_failure);
    if (mount_setattr(root->root_fd, "", AT_EMPTY_PATH, &attr, sizeof attr) != 0)
        return refuse("make its root read-only", ret_failure);
    return 0;
}

int root_resize_work(const Root *root, uint64_t disk_bytes) {
    char size[NUMBER_BYTES];
    snprintf(size, sizeof size, "%" PRIu64, disk_bytes);
    CLEANUP(closep) int fs = fspick(root->work_fd, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);
    if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "size", size, 0) != 0) return -1;
    return fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0);
}

void root_deinit(Root *root) {
    root->root_fd = close_fd(root->root_fd);
    root->work_fd = close_fd(root->work_fd);
}
