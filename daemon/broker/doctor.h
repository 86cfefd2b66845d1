/* Doctor: runs known programs through the real path of a profile and says whether the sandbox tells
 * them apart. A profile that fails it serves no jobs. Uses no privilege that a client's job has
 * not. */
#pragma once

#include "broker/scheduler.h"

enum { DOCTOR_TEXT_BYTES = 256 };

typedef struct DoctorCheck {
    const char *name; /* static */
    char expected[DOCTOR_TEXT_BYTES];
    char seen[DOCTOR_TEXT_BYTES];
    bool ok;
} DoctorCheck;

/* What one run of the self-test showed. Owned by the pool; replaced by the next run. */
typedef struct DoctorRun DoctorRun;

/* Called once when the run is over; `checks` are borrowed during the call. */
typedef void (*DoctorDone)(Pool *pool, const DoctorCheck *checks, size_t n_checks, void *data);

/* Starts the self-test of the pool unless it runs already. 0 or -errno. */
int doctor_start(Scheduler *scheduler, Pool *pool);
/* Asks to be told when the pool's running self-test is over. 0 or -errno. */
int doctor_await(Pool *pool, DoctorDone done, void *data);
/* Withdraws what `data` asked for. */
void doctor_forget(Pool *pool, const void *data);
