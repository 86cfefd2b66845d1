/* Cell: the one environment a warden holds: its directory, its interpreter, what is known of them.
 * Sees to it that nothing of it is left. Never judges. */
#pragma once

#include "platform/cgroup.h"
#include "platform/child.h"
#include "platform/tree.h"
#include "platform/workdir.h"
#include "verdict/facts.h"
#include "warden/channel.h"
#include "warden/harness.h"
#include "warden/invalid.h"
#include "warden/keep.h"
#include "warden/ledger.h"
#include "warden/order.h"

/* Documented results of what is done with a cell. */
enum {
    CELL_E_INVALID = INVALID_E_REPORTED, /* an InvalidReport says why */
    CELL_E_STOPPED = 2,                  /* the broker is gone, or we were told to end */
    CELL_E_LEFT = 3,                     /* processes are left that do not die */
    CELL_E_LATE = 4,                     /* the rest of the directory is the broker's to remove */
};

typedef struct Cell {
    Setup setup;
    WardenChannel *channel; /* borrowed */
    int proc_fd;            /* the host's processes; -1 once nothing of the cell lives */
    Enclosure *enclosure;   /* NULL: none was ordered */
    Cgroup *cgroup;         /* NULL: none was ordered */
    Workdir *workdir;
    Child *child;
    HarnessReader reader;
    Ledger ledger;
    Facts facts;
    bool is_made;   /* the directory is ours to remove */
    bool is_reaped; /* `exit` and `usage` are set */
    ChildExit exit;
    TreeUsage usage; /* of the interpreter's descendants */
} Cell;

/* Takes over *setup. The caller calls cell_deinit, on failure too. 0 or -ENOMEM. */
int cell_init(Cell *cell, WardenChannel *channel, Setup *setup);
/* Kills what lives, removes the directory, frees the rest. 0, CELL_E_LATE, or -errno when something
 * is left. */
int cell_deinit(Cell *cell);

/* Kills every process of the cell that still lives and takes the interpreter's status.
 * 0, CELL_E_LEFT, or -errno. */
int cell_reap(Cell *cell);
