#include "platform/probe.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "platform/linux/landlock.h"

enum { REAP_LIMIT_MS = 5000, DISK_BYTES = 1 << 20 };

static void try_enclosure(uint32_t uid, StepFailure missing[CHILD_LAYER_COUNT]) {
    const RootPlan nothing = {0};
    const EnclosureSpec spec = {.uid = uid, .root = &nothing, .disk_bytes = DISK_BYTES};
    StepFailure failure = {"make an enclosure", ENOMEM};
    Enclosure *enclosure = NULL;
    if (enclosure_enter(&spec, &failure, &enclosure) == 0) {
        TreeUsage unused = {0};
        enclosure_kill(enclosure);
        (void)enclosure_reap(enclosure, REAP_LIMIT_MS, &unused);
        return;
    }
    for (ChildLayer layer = 0; layer < CHILD_LAYER_COUNT; layer++)
        if (child_layer_is_enclosing(layer)) missing[layer] = failure;
}

/* seccomp(2): a kernel that reports calls to a listener tells the sizes of its reports. */
static void try_filter(StepFailure missing[CHILD_LAYER_COUNT]) {
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0)
        missing[CHILD_LAYER_SECCOMP] = (StepFailure){"filter system calls", errno};
    else if (sizes.seccomp_notif > sizeof(struct seccomp_notif))
        missing[CHILD_LAYER_SECCOMP] = (StepFailure){"read what the filter reports", EOVERFLOW};
}

/* The names of steps are at the same place on both sides of a fork. */
static _Noreturn void run(uint32_t uid, int out) {
    StepFailure missing[CHILD_LAYER_COUNT];
    memset(missing, 0, sizeof missing);
    if (!landlock_is_there()) missing[CHILD_LAYER_LANDLOCK] = (StepFailure){"use Landlock", errno};
    try_filter(missing);
    try_enclosure(uid, missing);
    _exit(write(out, missing, sizeof missing) == (ssize_t)sizeof missing ? 0 : 1);
}

int probe_layers(uint32_t uid, StepFailure ret_missing[CHILD_LAYER_COUNT]) {
    StepFailure missing[CHILD_LAYER_COUNT];
    int ends[2];
    if (pipe(ends) != 0) return error_origin(-errno);
    CLEANUP(closep) int in = ends[0];
    CLEANUP(closep) int out = ends[1];
    const pid_t pid = fork();
    if (pid < 0) return error_origin(-errno);
    if (pid == 0) run(uid, out);
    out = close_fd(out);
    ssize_t n;
    do n = read(in, missing, sizeof missing);
    while (n < 0 && errno == EINTR);
    waitpid(pid, NULL, 0);
    if (n != (ssize_t)sizeof missing) return error_origin(-ECHILD);
    memcpy(ret_missing, missing, sizeof missing);
    return 0;
}
