/* Listener: the daemon's end of the address that clients connect to. Never accepts by itself. */
#pragma once

/* Documented results. */
enum {
    LISTENER_E_IN_USE = 1,   /* another daemon answers there */
    LISTENER_E_NOT_OURS = 2, /* something that is no socket stands at the path */
};

/* Makes the address (and its directory, 0755, when missing), replacing a dead daemon's socket, and
 * listens without blocking. The caller closes the descriptor and calls listener_remove.
 * 0, a documented result, or -errno. */
int listener_open(const char *address, unsigned mode, int *ret_fd);

/* Removes the address when it is still the one that `fd` listens on. */
void listener_remove(const char *address, int fd);
