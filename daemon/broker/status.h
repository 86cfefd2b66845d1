/* Status: what the daemon says of itself, as plain data for the codec. Borrows every text. */
#pragma once

#include "broker/doctor.h"
#include "broker/scheduler.h"

typedef struct StatusReport {
    const Scheduler *scheduler;
    uint64_t uptime_ms;
    uint64_t now_ms; /* monotonic */
    unsigned n_connections;
    uint64_t config_generation;
} StatusReport;

/* What the doctor found out about one profile. */
typedef struct ProfileReport {
    char *profile; /* owned, as are the other texts and the checks */
    char *diagnosis;
    char *interpreter;
    char *version;
    TextList enforced;
    TextList missing; /* layers ... */
    TextList reasons; /* ... and why they cannot be had */
    bool healthy;
    DoctorCheck *checks;
    size_t n_checks;
} ProfileReport;
