/* Filter table: which system calls generated code may make, and why; the only place that says so.
 * What is in no group does not exist for it (ENOSYS), so that libraries fall back as they do on an
 * old kernel. Names are libseccomp's; one that an architecture lacks is skipped. */
#pragma once

#include <errno.h>

typedef enum FilterAction {
    FILTER_ALLOW,
    FILTER_REFUSE, /* fails with `error`, because libraries expect just that */
    FILTER_REPORT, /* the warden is asked before it happens */
} FilterAction;

typedef struct FilterGroup {
    const char *why;
    FilterAction action;
    int error;
    const char *const *calls; /* NULL ends it */
} FilterGroup;

#define CALLS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const FilterGroup filter_groups[] = {
    {"files: reached only below a root that holds nothing but the interpreter and work/; no locks, "
     "by "
     "which jobs could talk over files that both see",
     FILTER_ALLOW, 0,
     CALLS("access", "chdir", "chmod", "close", "close_range", "copy_file_range", "creat", "dup",
           "dup2", "dup3", "faccessat", "faccessat2", "fadvise64", "fchdir", "fchmod", "fchmodat",
           "fdatasync", "fstat", "fstatfs", "fsync", "ftruncate", "getcwd", "getdents",
           "getdents64", "link", "linkat", "lseek", "lstat", "mkdir", "mkdirat", "mknod", "mknodat",
           "newfstatat", "open", "openat", "openat2", "pread64", "preadv", "preadv2", "pwrite64",
           "pwritev", "pwritev2", "read", "readahead", "readlink", "readlinkat", "readv", "rename",
           "renameat", "renameat2", "rmdir", "sendfile", "stat", "statfs", "statx", "symlink",
           "symlinkat", "sync", "syncfs", "truncate", "umask", "unlink", "unlinkat", "utime",
           "utimensat", "utimes", "futimesat", "write", "writev")},
    {"memory: bounded by the address space; large requests are reported, see filter.c",
     FILTER_ALLOW, 0,
     CALLS("brk", "madvise", "mincore", "mlock", "mprotect", "msync", "munlock", "munmap",
           "membarrier")},
    {"how the child hands its warden the filter's listener; without a socket it is nothing",
     FILTER_ALLOW, 0, CALLS("sendmsg")},
    {"waiting and passing bytes within the job", FILTER_ALLOW, 0,
     CALLS("epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2",
           "epoll_wait", "eventfd", "eventfd2", "pipe", "pipe2", "poll", "ppoll", "pselect6",
           "select", "signalfd", "signalfd4")},
    {"time: read and waited for, never set", FILTER_ALLOW, 0,
     CALLS("alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "getitimer", "gettimeofday",
           "nanosleep", "setitimer", "time", "timer_create", "timer_delete", "timer_getoverrun",
           "timer_gettime", "timer_settime", "timerfd_create", "timerfd_gettime", "timerfd_settime",
           "times")},
    {"signals: to processes of the job, since no other has a number here", FILTER_ALLOW, 0,
     CALLS("kill", "pause", "restart_syscall", "rt_sigaction", "rt_sigpending", "rt_sigprocmask",
           "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "sigaltstack", "sigreturn", "tgkill",
           "tkill")},
    {"threads and processes: what exists already; new ones are reported", FILTER_ALLOW, 0,
     CALLS("arch_prctl", "capget", "exit", "futex", "futex_waitv", "get_robust_list", "getcpu",
           "getegid", "geteuid", "getgid", "getgroups", "getpgid", "getpgrp", "getpid", "getppid",
           "getpriority", "getresgid", "getresuid", "getrlimit", "getrusage", "getsid", "gettid",
           "getuid", "rseq", "sched_get_priority_max", "sched_get_priority_min",
           "sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_rr_get_interval",
           "sched_setaffinity", "sched_yield", "set_robust_list", "set_tid_address", "setpgid",
           "setpriority", "setrlimit", "setsid", "wait4", "waitid", "waitpid")},
    {"what the system is, and random bytes", FILTER_ALLOW, 0,
     CALLS("getrandom", "sysinfo", "uname")},

    {"copying a file tries to copy its attributes and owner, and lives with this answer",
     FILTER_REFUSE, EOPNOTSUPP,
     CALLS("fgetxattr", "flistxattr", "fremovexattr", "fsetxattr", "getxattr", "lgetxattr",
           "listxattr", "llistxattr", "lremovexattr", "lsetxattr", "removexattr", "setxattr")},
    {"the C library writes the bytes instead, and a full disk shows", FILTER_REFUSE, EOPNOTSUPP,
     CALLS("fallocate")},
    {"nobody has another user to become or to give a file to", FILTER_REFUSE, EPERM,
     CALLS("chown", "fchown", "fchownat", "lchown", "setfsgid", "setfsuid", "setgid", "setgroups",
           "setregid", "setresgid", "setresuid", "setreuid", "setuid", "capset", "sethostname",
           "setdomainname")},

    {"new tasks: counted", FILTER_REPORT, 0, CALLS("clone", "fork", "vfork")},
    {"the last moment at which a process can be looked at", FILTER_REPORT, 0, CALLS("exit_group")},
    {"another program: none is in its root, and none is needed once the interpreter runs",
     FILTER_REPORT, 0, CALLS("execve", "execveat")},
    {"the network, and sockets of every family, by which descriptors and orders travel",
     FILTER_REPORT, 0,
     CALLS("accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt",
           "listen", "recvfrom", "recvmmsg", "recvmsg", "sendmmsg", "sendto", "setsockopt",
           "shutdown", "socket", "socketpair")},
    {"other processes' memory, descriptors and registers", FILTER_REPORT, 0,
     CALLS("kcmp", "pidfd_getfd", "process_madvise", "process_vm_readv", "process_vm_writev",
           "ptrace")},
    {"namespaces, mounts and roots", FILTER_REPORT, 0,
     CALLS("chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr",
           "move_mount", "open_tree", "pivot_root", "setns", "umount", "umount2", "unshare")},
    {"memory of the kernel and of users that outlives a job", FILTER_REPORT, 0,
     CALLS("add_key", "keyctl", "request_key", "mq_open", "mq_unlink", "msgget", "semget", "shmat",
           "shmget")},
    {"large parts of the kernel that data code has no use for and attackers love", FILTER_REPORT, 0,
     CALLS("bpf", "fanotify_init", "io_uring_enter", "io_uring_register", "io_uring_setup",
           "name_to_handle_at", "open_by_handle_at", "perf_event_open", "seccomp", "userfaultfd",
           "modify_ldt", "vmsplice")},
    {"the machine's administration", FILTER_REPORT, 0,
     CALLS("acct", "adjtimex", "clock_adjtime", "clock_settime", "delete_module", "finit_module",
           "init_module", "ioperm", "iopl", "kexec_file_load", "kexec_load", "quotactl", "reboot",
           "settimeofday", "swapoff", "swapon", "syslog", "vhangup")},
};

#undef CALLS
