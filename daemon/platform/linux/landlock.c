#include "platform/linux/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/landlock.h>

#include "base/cleanup.h"

/* Of later versions than Debian's headers tell of: 3 truncation, 4 TCP, 5 devices, 6 scopes. */
enum {
    ACCESS_TRUNCATE = 1 << 14,
    ACCESS_IOCTL_DEVICE = 1 << 15,
    NET_BIND_AND_CONNECT = 3,
    SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 3,
};

/* The kernel's struct as of version 6; an older kernel takes its own, shorter part of it. */
typedef struct RulesetAttr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
} RulesetAttr;

#define READING                                                                                    \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITING                                                                                    \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                               \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |  \
     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM)
#define NEVER                                                                                      \
    (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SOCK)

static long version(void) {
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

bool landlock_is_there(void) {
    return version() >= 1;
}

static int allow(int ruleset, int directory, uint64_t access) {
    const struct landlock_path_beneath_attr rule = {.allowed_access = access,
                                                    .parent_fd = directory};
    return (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static int allow_path(int ruleset, const char *path, uint64_t access) {
    CLEANUP(closep) int fd = open(path, O_PATH | O_CLOEXEC);
    return fd < 0 ? -1 : allow(ruleset, fd, access);
}

/* What this version can keep watch over, features by version, as landlock(7) lists them. */
static void probe(long abi, RulesetAttr *ret_attr, size_t *ret_bytes, uint64_t *ret_writing) {
    RulesetAttr attr = {.handled_access_fs = READING | WRITING | NEVER};
    uint64_t writing = WRITING;
    if (abi >= 2) writing |= LANDLOCK_ACCESS_FS_REFER;
    if (abi >= 3) writing |= ACCESS_TRUNCATE;
    attr.handled_access_fs |= writing;
    if (abi >= 5) attr.handled_access_fs |= ACCESS_IOCTL_DEVICE;
    if (abi >= 4) attr.handled_access_net = NET_BIND_AND_CONNECT;
    if (abi >= 6) attr.scoped = SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS;
    *ret_attr = attr;
    *ret_bytes = (abi >= 6 ? 3 : abi >= 4 ? 2 : 1) * sizeof(uint64_t);
    *ret_writing = writing;
}

int landlock_enter(int work_fd) {
    RulesetAttr attr;
    size_t attr_bytes;
    uint64_t writing;
    const long abi = version();
    if (abi < 1) return -1;
    probe(abi, &attr, &attr_bytes, &writing);
    CLEANUP(closep)
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, attr_bytes, 0);
    if (ruleset < 0 || allow_path(ruleset, "/", READING) != 0 ||
        allow_path(ruleset, "/dev", LANDLOCK_ACCESS_FS_WRITE_FILE) != 0 ||
        allow(ruleset, work_fd, READING | writing) != 0)
        return -1;
    return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}
