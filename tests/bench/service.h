/* Service: a daemon of the bench's own, with a directory of its own, as tests/lib/daemon.sh makes
 * them for scripts. Its end leaves nothing. Signals no process but the one it started. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "client/trouble.h"

typedef struct Service Service;

typedef enum ServiceLibraries { SERVICE_STDLIB, SERVICE_PANDAS } ServiceLibraries;

typedef struct ServiceProfile {
    const char *name;
    ServiceLibraries libraries;
    bool is_bare; /* equal in everything but that no layer is used */
    unsigned min_ready;
    unsigned max;
} ServiceProfile;

/* Starts build/tbsandboxd and waits until it answers; environments may still be starting.
 * 0 or TROUBLE_E_TOLD. */
int service_start(const char *build, const ServiceProfile *profiles, size_t n_profiles,
                  Trouble *trouble, Service **ret_service);
/* Ends it, and shows its last words if it did not end as it should. Takes NULL, returns NULL. */
Service *service_stop(Service *service);

const char *service_socket(const Service *service);
pid_t service_pid(const Service *service);
/* Its runtime and state directories lie below. */
const char *service_directory(const Service *service);

static inline void service_stopp(Service **service) {
    service_stop(*service);
}
