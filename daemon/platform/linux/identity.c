#include "platform/linux/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { MAP_BYTES = 48, CAPABILITY_WORDS = _LINUX_CAPABILITY_U32S_3 };

/* No C library wraps the two calls. */
static int set_capabilities(const struct __user_cap_data_struct words[CAPABILITY_WORDS]) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return (int)syscall(SYS_capset, &header, words);
}

static int raise_permitted(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct words[CAPABILITY_WORDS];
    if (syscall(SYS_capget, &header, words) != 0) return -1;
    for (int i = 0; i < CAPABILITY_WORDS; i++) words[i].effective = words[i].permitted;
    return set_capabilities(words);
}

/* Keeps root's rights until the namespace is made: some systems let nobody else make one. */
static int leave_root(uint32_t uid) {
    if (setgroups(0, NULL) != 0 || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) return -1;
    if (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0) return -1;
    return raise_permitted();
}

static int write_file(const char *path, const char *text) {
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* user_namespaces(7): one may map oneself alone, and groups only once setgroups is given up. */
static int map_self(uid_t uid, gid_t gid) {
    char line[MAP_BYTES];
    if (write_file("/proc/self/setgroups", "deny") != 0) return -1;
    snprintf(line, sizeof line, "%d %u 1\n", IDENTITY_INSIDE, (unsigned)uid);
    if (write_file("/proc/self/uid_map", line) != 0) return -1;
    snprintf(line, sizeof line, "%d %u 1\n", IDENTITY_INSIDE, (unsigned)gid);
    return write_file("/proc/self/gid_map", line);
}

static int refuse(const char *step, StepFailure *ret_failure) {
    *ret_failure = (StepFailure){step, errno};
    return 1;
}

int identity_enclose(uint32_t uid, StepFailure *ret_failure) {
    enum {
        NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                     CLONE_NEWCGROUP
    };
    int death_signal;
    const pid_t parent = getppid();
    if (prctl(PR_GET_PDEATHSIG, &death_signal, 0, 0, 0) != 0)
        return refuse("tell its death signal", ret_failure);
    if (geteuid() == 0 && leave_root(uid) != 0)
        return refuse("take a user of its own", ret_failure);
    const uid_t own_uid = geteuid();
    const gid_t own_gid = getegid();
    /* The files to write are root's as long as we hide from debuggers. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) return refuse("open its own maps", ret_failure);
    if (unshare(NAMESPACES) != 0) return refuse("make namespaces", ret_failure);
    if (map_self(own_uid, own_gid) != 0) return refuse("map its user", ret_failure);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return refuse("hide its memory", ret_failure);
    /* prctl(2): whoever changes who it is loses it. */
    if (prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0 || getppid() != parent)
        return refuse("keep its death signal", ret_failure);
    return 0;
}

/* Needs CAP_SETPCAP; one that has dropped it has nothing left to lock. */
static int lock_down(void) {
    enum {
        NO_ROOT = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED
    };
    if (prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) == NO_ROOT) return 0;
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) return -1;
    if (prctl(PR_SET_SECUREBITS, NO_ROOT, 0, 0, 0) != 0) return -1;
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

int identity_drop(IdentityRights rights) {
    struct __user_cap_data_struct words[CAPABILITY_WORDS] = {0};
    if (lock_down() != 0) return -1;
    if (rights == IDENTITY_MAY_LOOK_INSIDE)
        words[0].permitted = words[0].effective = 1U << CAP_SYS_PTRACE;
    return set_capabilities(words);
}
