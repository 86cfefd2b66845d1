/* Doctor's programs: known code with known verdicts, in Python that needs no import, so that they
 * fit every profile. Those that must do what the static rules refuse reach it through a frame's
 * builtins: the rules are hygiene, and here it serves to prove what stands behind them. */
#pragma once

#include "verdict/verdict.h"

typedef struct DoctorProgram {
    const char *name;
    const char *code;
    VerdictKind kind;
    Code failure;  /* CODE_NONE when it passes */
    int exit_code; /* for CODE_EXITED */
    unsigned native_crashes;
    const char *evidence; /* must be part of the failure's message or of stdout; may be NULL */
    bool needs_poison;    /* %s in the code is the profile's first poisoned module */
    unsigned wall_ms;     /* 0: the profile's own limit */
} DoctorProgram;

/* The reversed text is printed forwards by the leaking program. */
#define DOCTOR_CANARY "tbsandbox-doctor-canary-5d0f"
#define DOCTOR_CANARY_REVERSED "f0d5-yranac-rotcod-xobdnasbt"
#define DOCTOR_INPUT_NAME "your_data.csv"
#define DOCTOR_INPUT "a,b\n1,x\n"

extern const DoctorProgram doctor_programs[];
extern const unsigned doctor_n_programs;
