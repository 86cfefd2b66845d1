/* Consult: one client's Doctor request: the self-tests of the profiles it asked about, until the
 * last report is there. Runs no program itself. */
#pragma once

#include "broker/status.h"

typedef struct Consult Consult;
typedef void (*Consulted)(Consult *consult, void *data);

struct Consult {
    List link; /* among those of its session */
    uint64_t request_id;
    ProfileReport *reports;
    size_t n_reports;
    size_t n_open;
    struct ConsultEntry *entries;
    Consulted done;
    void *data;
};

/* Starts (or joins) the self-test of `profile`, or of every one when NULL; an unhealthy profile is
 * reported with its diagnosis at once. `done` frees the consult. 0 or -errno. */
int consult_start(Scheduler *scheduler, const char *profile, uint64_t request_id, List *consults,
                  Consulted done, void *data);
/* Takes NULL, returns NULL. */
Consult *consult_free(Consult *consult);
/* Frees every one of the list; what they asked for is withdrawn. */
void consult_forget_all(List *consults);
