/* Service: a daemon of the benchmark's own, and one client's conversation with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct Service Service;

/* Starts `build`/tbsandboxd in a directory of its own with two profiles that are equal but for
 * their layers: `on` has the default ones, `off` none. Waits until both serve. 0 or -errno, said on
 * standard error. */
int service_start(const char *build, Service **ret_service);
/* Ends it. Takes NULL, returns NULL. */
Service *service_stop(Service *service);

/* Waits until `profile` has an environment ready, then submits `code` and waits for its verdict,
 * which must be passed. 0 or -errno. */
int service_run(Service *service, const char *profile, const char *code, uint64_t *ret_us);
/* A cold run of the code as harnesses do it. The same. */
int service_run_cold(const char *code, uint64_t *ret_us);
