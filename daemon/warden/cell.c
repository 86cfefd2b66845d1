#include "warden/cell.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"

enum {
    REAP_LIMIT_MS = 5000,
    REMOVE_LIMIT_MS = 2000, /* with the killing less than the broker waits before it kills us */
};

int cell_init(Cell *cell, WardenChannel *channel, Setup *setup) {
    *cell = (Cell){.setup = *setup, .channel = channel, .proc_fd = -1};
    *setup = (Setup){0};
    ledger_init(&cell->ledger, &cell->facts);
    const int r = harness_reader_init(&cell->reader);
    return r < 0 ? error_fold(r) : 0;
}

static int reap_descendants(Cell *cell) {
    const int r = cell->enclosure ? enclosure_reap(cell->enclosure, REAP_LIMIT_MS, &cell->usage)
                                  : tree_kill(NULL, 0, REAP_LIMIT_MS, &cell->usage);
    _Static_assert((int)ENCLOSURE_E_ALIVE == (int)TREE_E_LEFT, "one result for both");
    return r == TREE_E_LEFT ? CELL_E_LEFT : r;
}

int cell_reap(Cell *cell) {
    if (cell->is_reaped) return 0;
    if (cell->enclosure) enclosure_kill(cell->enclosure);
    child_kill(cell->child);
    int r = child_reap(cell->child, REAP_LIMIT_MS, &cell->exit);
    if (r == CHILD_E_ALIVE) return CELL_E_LEFT;
    if (r < 0) return error_fold(r);
    r = reap_descendants(cell);
    if (r != 0) return r < 0 ? error_fold(r) : r;
    /* Whoever reads hostile files next needs to see no process. */
    cell->proc_fd = close_fd(cell->proc_fd);
    cell->is_reaped = true;
    return 0;
}

/* What is left afterwards is the broker's to find: it inherits it, and our exit status tells. */
int cell_deinit(Cell *cell) {
    const LogContext context = {NULL, cell->setup.environment_id};
    int r = cell->child ? cell_reap(cell) : 0;
    int left = r > 0 ? -EBUSY : r;
    if (r != 0)
        log_write(LOG_LEVEL_ERROR, context, r < 0 ? r : 0, "not every process could be ended");
    child_free(cell->child);
    workdir_free(cell->workdir);
    enclosure_free(cell->enclosure);
    cgroup_free(cell->cgroup);
    close_fd(cell->proc_fd);
    r = cell->is_made ? workdir_remove_within(cell->setup.directory, REMOVE_LIMIT_MS) : 0;
    if (r == WORKDIR_E_LATE && left == 0) left = CELL_E_LATE;
    if (r < 0) {
        log_write(LOG_LEVEL_ERROR, context, r, "cannot remove %s", cell->setup.directory);
        left = r;
    }
    harness_reader_deinit(&cell->reader);
    facts_deinit(&cell->facts);
    setup_deinit(&cell->setup);
    return left;
}
