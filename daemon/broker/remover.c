#include "broker/remover.h"

#include <errno.h>
#include <stdlib.h>

#include <event2/event.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "broker/timer.h"
#include "platform/directory.h"
#include "platform/workdir.h"

enum {
    RETRY_MS = 1000,
    MAX_STARTS = 3,  /* helpers that were killed over one directory */
    MAX_NAMES = 100, /* names in the way, which only a job can have put there */
};

/* What waits is called .trash-N in the work directory, N from `first` to before `next`. */
struct Remover {
    Config *config; /* a reference of its own */
    char *work;
    struct event *retry;
    unsigned long first, next;
    unsigned n_starts; /* of helpers for the first one */
    pid_t pid;         /* the helper's, or 0 */
    bool is_stuck;     /* no helper can be started at present; was logged */
};

static int name_trash(const char *work, unsigned long number, char **ret_path) {
    const int r = text_format(ret_path, "%s/.trash-%lu", work, number);
    return r < 0 ? error_fold(r) : 0;
}

/* Moves it to the next free name in `work`. 0, -ENOENT when there is none, or -errno. */
static int set_aside(Remover *remover, const char *directory, const char *work) {
    for (int i = 0; i < MAX_NAMES; i++) {
        CLEANUP(freep) char *trash = NULL;
        int r = name_trash(work, remover->next, &trash);
        if (r == 0) r = workdir_set_aside(directory, trash);
        if (r < 0) return error_fold(r);
        remover->next++;
        if (r == 0) {
            log_debug("%s is %s from now on", directory, trash);
            return 0;
        }
    }
    return error_origin(-EEXIST);
}

/* ---- the helper ---- */

static void next_one(Remover *remover) {
    remover->first++;
    remover->n_starts = 0;
}

static int start_helper(Remover *remover) {
    CLEANUP(freep) char *trash = NULL;
    int r = name_trash(remover->work, remover->first, &trash);
    if (r < 0) return error_fold(r);
    const Config *config = remover->config;
    r = process_spawn_remover(config->warden_path, trash, config->log_level, config->log_format,
                              &remover->pid);
    if (r < 0) return error_fold(r);
    remover->n_starts++;
    return 0;
}

static void go_on(Remover *remover) {
    if (remover->pid != 0 || remover->first == remover->next) return;
    const int r = start_helper(remover);
    if (r < 0 && !remover->is_stuck)
        log_error(r, "%s cannot be started to remove %s/.trash-%lu", remover->config->warden_path,
                  remover->work, remover->first);
    remover->is_stuck = r < 0;
    if (remover->is_stuck) timer_arm(remover->retry, RETRY_MS);
}

static void on_retry(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    go_on(data);
}

/* One that exits with an error has logged it, and why. */
bool remover_exited(Remover *remover, const ProcessExit *exit) {
    if (remover->pid == 0 || exit->pid != remover->pid) return false;
    remover->pid = 0;
    const bool was_killed = exit->signal != 0;
    if (was_killed && remover->n_starts >= MAX_STARTS)
        log_error(0, "%s/.trash-%lu stays until the next start: its removal was killed %u times",
                  remover->work, remover->first, remover->n_starts);
    if (!was_killed || remover->n_starts >= MAX_STARTS) next_one(remover);
    go_on(remover);
    return true;
}

/* ---- what it is told ---- */

void remover_take(Remover *remover, const char *directory) {
    const int r = set_aside(remover, directory, remover->work);
    if (r < 0 && r != -ENOENT) log_error(r, "cannot move %s away to remove it", directory);
    go_on(remover);
}

void remover_configure(Remover *remover, Config *config) {
    if (!remover) return;
    Config *old = remover->config;
    remover->config = config_ref(config);
    config_unref(old);
}

pid_t remover_pid(const Remover *remover) {
    return remover->pid;
}

bool remover_is_idle(const Remover *remover) {
    return remover->pid == 0 && (remover->first == remover->next || remover->is_stuck);
}

/* ---- life ---- */

static int make_private(const char *path) {
    const int r = directory_make(path, 0700);
    return r == DIRECTORY_E_UNSAFE ? error_origin(-EPERM) : r;
}

/* The old work directory moves into a new one, which then takes its name: after a death between any
 * two steps the next start finds both. */
static int renew_work(Remover *remover) {
    CLEANUP(freep) char *fresh = NULL;
    int r = text_format(&fresh, "%s.new", remover->work);
    if (r == 0) r = make_private(fresh);
    if (r == 0) r = set_aside(remover, remover->work, fresh);
    if (r == -ENOENT) r = 0;
    if (r == 0) r = workdir_set_aside(fresh, remover->work);
    if (r == WORKDIR_E_TAKEN) return error_origin(-EEXIST);
    if (r < 0) return error_fold(r);
    if (remover->next == 0) remover->next = 1; /* of such a start; there need not be one */
    return 0;
}

static int init(Remover *remover, struct event_base *base, Config *config) {
    remover->config = config_ref(config);
    remover->retry = evtimer_new(base, on_retry, remover);
    if (!remover->retry) return error_origin(-ENOMEM);
    int r = text_format(&remover->work, "%s/work", config->runtime_directory);
    if (r == 0) r = renew_work(remover);
    return r < 0 ? error_fold(r) : 0;
}

int remover_new(struct event_base *base, Config *config, Remover **ret_remover) {
    Remover *remover = calloc(1, sizeof *remover);
    if (!remover) return error_origin(-ENOMEM);
    const int r = init(remover, base, config);
    if (r < 0) {
        log_error(r, "cannot make %s anew", remover->work ? remover->work : "the work directory");
        remover_free(remover);
        return error_fold(r);
    }
    go_on(remover);
    *ret_remover = remover;
    return 0;
}

Remover *remover_free(Remover *remover) {
    if (!remover) return NULL;
    process_kill(remover->pid);
    if (remover->first != remover->next)
        log_warning(0, "not everything in %s could be removed: the next start does it",
                    remover->work);
    if (remover->retry) event_free(remover->retry);
    config_unref(remover->config);
    free(remover->work);
    free(remover);
    return NULL;
}
