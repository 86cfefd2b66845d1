#include "platform/linux/proof.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { ENTRIES_BYTES = 4096 };

/* --- Attempts: true when it succeeded ------------------------------------------------------ */

static bool opens(const char *path, int flags) {
    const int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    close(fd);
    return true;
}

static bool makes_socket(int family, int type) {
    const int fd = socket(family, type | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    close(fd);
    return true;
}

static bool reaches_network(void) {
    return makes_socket(AF_INET, SOCK_STREAM) || makes_socket(AF_INET6, SOCK_DGRAM);
}

static bool makes_local_socket(void) {
    return makes_socket(AF_UNIX, SOCK_STREAM) || makes_socket(AF_VSOCK, SOCK_STREAM) ||
           makes_socket(AF_NETLINK, SOCK_RAW);
}

/* The kernel's own layout of what getdents64 returns; the C library's reader would allocate. */
typedef struct Entry {
    uint64_t inode;
    int64_t offset;
    unsigned short record_bytes;
    unsigned char type;
    char name[];
} Entry;

static bool is_foreign_process(const char *name) {
    char *end;
    const long pid = strtol(name, &end, 10);
    return end != name && *end == '\0' && pid != 1 && pid != getpid();
}

static bool sees_other_processes(void) {
    static _Alignas(Entry) char entries[ENTRIES_BYTES];
    CLEANUP(closep) int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return false;
    for (;;) {
        const long n_bytes = syscall(SYS_getdents64, fd, entries, sizeof entries);
        if (n_bytes <= 0) return false;
        for (long at = 0; at < n_bytes;) {
            const Entry *entry = (const Entry *)(entries + at);
            if (is_foreign_process(entry->name)) return true;
            at += entry->record_bytes;
        }
    }
}

static bool reads_secrets(void) {
    return opens("/etc/shadow", O_RDONLY) || opens("/etc/passwd", O_RDONLY) ||
           opens("/root", O_RDONLY | O_DIRECTORY) || opens("/home", O_RDONLY | O_DIRECTORY) ||
           opens("/run", O_RDONLY | O_DIRECTORY) || opens("/dev/shm", O_RDONLY | O_DIRECTORY) ||
           opens("/sys", O_RDONLY | O_DIRECTORY);
}

static bool writes_outside(void) {
    return opens("/escaped", O_WRONLY | O_CREAT) || opens("/usr/escaped", O_WRONLY | O_CREAT) ||
           opens("/proc/escaped", O_WRONLY | O_CREAT) || mkdir("/dev/escaped", 0700) == 0;
}

static bool makes_device(void) {
    return mknod(".device", S_IFCHR | 0600, 0x0103) == 0;
}

static bool makes_socket_file(void) {
    return mknod(".socket", S_IFSOCK | 0600, 0) == 0;
}

static bool gains_capability(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct all[_LINUX_CAPABILITY_U32S_3] = {{~0U, ~0U, ~0U},
                                                                         {~0U, ~0U, ~0U}};
    return syscall(SYS_capset, &header, all) == 0;
}

static bool becomes_root(void) {
    return setresuid(0, 0, 0) == 0 || setresgid(0, 0, 0) == 0;
}

static bool raises_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
    limit.rlim_max++;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static bool traces(void) {
    return ptrace(PTRACE_ATTACH, 1, NULL, NULL) == 0 || ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}

static bool reads_memory(void) {
    char byte;
    const struct {
        void *at;
        size_t n;
    } here = {&byte, 1};
    return syscall(SYS_process_vm_readv, 1, &here, 1, &here, 1, 0) >= 0;
}

static bool uses_keyring(void) {
    return syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -3, 0, 0, 0) >= 0 ||
           syscall(SYS_add_key, "user", "tbsandboxd", "x", 1, -3) >= 0;
}

static bool makes_ring(void) {
    char params[256] = {0};
    return syscall(SYS_io_uring_setup, 1, params) >= 0;
}

static bool mounts(void) {
    return mount("none", "/", "tmpfs", 0, NULL) == 0 || syscall(SYS_fsopen, "tmpfs", 0) >= 0;
}

static bool makes_namespace(void) {
    return unshare(CLONE_NEWUSER) == 0 || unshare(CLONE_NEWNET) == 0;
}

static bool changes_root(void) {
    return chroot(".") == 0;
}

static bool loads_program(void) {
    return syscall(SYS_bpf, 0, NULL, 0) >= 0;
}

static bool watches_events(void) {
    char attributes[128] = {0};
    return syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0) >= 0;
}

static bool handles_faults(void) {
    return syscall(SYS_userfaultfd, 1 /* user mode only */) >= 0;
}

static bool shares_memory(void) {
    return syscall(SYS_shmget, 0x7462, 4096, 01600) >= 0 || syscall(SYS_msgget, 0x7462, 01600) >= 0;
}

/* --- Which wall each of them runs against -------------------------------------------------- */

static const struct {
    ChildLayer layer; /* where it is on, the attempt fails */
    bool (*succeeds)(void);
    const char *what;
} attempts[] = {
    {CHILD_LAYER_SECCOMP, reaches_network, "a network socket can be made"},
    {CHILD_LAYER_SECCOMP, makes_local_socket, "a local socket can be made"},
    {CHILD_LAYER_SECCOMP, traces, "another process can be traced"},
    {CHILD_LAYER_SECCOMP, reads_memory, "another process's memory can be read"},
    {CHILD_LAYER_SECCOMP, uses_keyring, "the kernel's keyrings can be used"},
    {CHILD_LAYER_SECCOMP, makes_ring, "an io_uring can be made"},
    {CHILD_LAYER_SECCOMP, mounts, "a file system can be mounted"},
    {CHILD_LAYER_SECCOMP, makes_namespace, "a namespace can be made"},
    {CHILD_LAYER_SECCOMP, changes_root, "the root can be changed"},
    {CHILD_LAYER_SECCOMP, loads_program, "a program can be loaded into the kernel"},
    {CHILD_LAYER_SECCOMP, watches_events, "performance events can be watched"},
    {CHILD_LAYER_SECCOMP, handles_faults, "page faults can be handled"},
    {CHILD_LAYER_SECCOMP, shares_memory, "memory can be shared with other jobs"},
    {CHILD_LAYER_PID_NAMESPACE, sees_other_processes, "a process of the host can be seen"},
    {CHILD_LAYER_OWN_ROOT, reads_secrets, "the host's files can be read"},
    {CHILD_LAYER_OWN_ROOT, writes_outside, "a file outside the work directory can be written"},
    {CHILD_LAYER_NO_CAPABILITIES, gains_capability, "a capability can be gained"},
    {CHILD_LAYER_NO_CAPABILITIES, becomes_root, "another user can be become"},
    {CHILD_LAYER_NO_CAPABILITIES, makes_device, "a device can be made"},
    {CHILD_LAYER_NO_CAPABILITIES, raises_limit, "a limit can be raised"},
    {CHILD_LAYER_LANDLOCK, makes_socket_file, "Landlock lets a socket be made in a directory"},
};

enum { N_ATTEMPTS = sizeof attempts / sizeof *attempts };

int proof_find_hole(const bool layers[CHILD_LAYER_COUNT], const TextList *hidden) {
    for (int i = 0; i < N_ATTEMPTS; i++)
        if (layers[attempts[i].layer] && attempts[i].succeeds()) return i + 1;
    for (size_t i = 0; layers[CHILD_LAYER_OWN_ROOT] && i < hidden->n_items; i++)
        if (access(hidden->items[i], F_OK) == 0) return N_ATTEMPTS + 1;
    return 0;
}

const char *proof_hole_name(int hole) {
    return hole > 0 && hole <= N_ATTEMPTS ? attempts[hole - 1].what
                                          : "a path of the daemon can be seen";
}
