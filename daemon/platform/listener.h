/* Listener: the daemon's end of the address that clients connect to. Never accepts by itself. */
#pragma once

/* Documented results. */
enum {
    LISTENER_E_IN_USE = 1,   /* another daemon answers there */
    LISTENER_E_NOT_OURS = 2, /* something that is no socket stands at the path */
};

/* Makes the address (and its directory, 0755, when missing), replacing a dead daemon's socket, and
 * listens without blocking. The caller calls listener_remove, then closes it.
 * 0, a documented result, or -errno. */
int listener_open(const char *address, unsigned mode, int *ret_fd);

/* Removes the address when it is still this process that listens there. Call it before the
 * descriptor is closed. */
void listener_remove(const char *address);
