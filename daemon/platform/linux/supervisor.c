#include "platform/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/error.h"
#include "platform/process.h"

static int forget_terminal(void) {
    /* A leader of its group cannot make a session, and needs none if it leads one. */
    return setsid() >= 0 || getsid(0) == getpid() ? 0 : error_origin(-errno);
}

int supervisor_enter(long broker_pid) {
    if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) != 0) return error_origin(-errno);
    /* It may have died before the line above. */
    if (getppid() != (pid_t)broker_pid) return SUPERVISOR_E_ORPHAN;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return error_origin(-errno);
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) return error_origin(-errno);
    int r = process_become_reaper();
    if (r == 0) r = forget_terminal();
    return r < 0 ? error_fold(r) : 0;
}
