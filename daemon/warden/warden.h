/* Warden: the life of one environment, from the broker's set-up to the last report: filled, idle,
 * run, checked, removed. Knows nothing of other environments. */
#pragma once

#include "warden/channel.h"

/* Serves the broker at the other end of the channel until the environment is spent or the broker is
 * gone; nothing of the environment is left then. 0, CELL_E_LATE when its directory takes long to
 * remove: the rest is the broker's to do, or -errno. */
int warden_serve(WardenChannel *channel);
