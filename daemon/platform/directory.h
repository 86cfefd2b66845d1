/* Directory: the daemon's own directories, made private and held by one daemon at a time. */
#pragma once

/* Documented results. */
enum {
    DIRECTORY_E_LOCKED = 1, /* another daemon holds it */
    DIRECTORY_E_UNSAFE = 2, /* somebody else owns it or may write to it */
};

/* Makes `path` with `mode` and missing parents with 0755, and checks that nobody else owns it or
 * may write to it. 0, DIRECTORY_E_UNSAFE, or -errno. */
int directory_make(const char *path, unsigned mode);

/* Takes the daemon's lock in `path`; it holds until *ret_fd is closed, by death too.
 * 0, DIRECTORY_E_LOCKED, or -errno. */
int directory_lock(const char *path, int *ret_fd);

/* Reads the small file `name` in `path`, or makes it of `n_bytes` random bytes when it is missing,
 * so that it is whole or absent whenever we are killed. 0 or -errno (-EBADMSG: wrong size or kind).
 */
int directory_load_secret(const char *path, const char *name, unsigned char *ret_bytes,
                          unsigned long n_bytes);
