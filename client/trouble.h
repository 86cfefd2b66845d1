/* Trouble: why something did not work, in one line for a person. Carries text only; the caller
 * decides what it means. The results below are shared by all that talks to the daemon. */
#pragma once

enum {
    TROUBLE_E_TOLD = 1,        /* the Trouble says what is wrong */
    TROUBLE_E_TIMEOUT = 2,     /* the deadline passed */
    TROUBLE_E_INTERRUPTED = 3, /* the user, or the system, asked us to end */
};

enum { TROUBLE_BYTES = 1024 };

typedef struct Trouble {
    char text[TROUBLE_BYTES]; /* may hold bytes that a terminal must not see */
} Trouble;

/* Sets the text, cut at its bound. Returns TROUBLE_E_TOLD, so that it can be returned at once. */
int trouble_set(Trouble *trouble, const char *format, ...) __attribute__((format(printf, 2, 3)));
