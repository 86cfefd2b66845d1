/* Enclosure: the walls around one environment, which its warden makes before the interpreter starts
 * and then stands in itself: a user that owns nothing, namespaces, a root of its own with nothing
 * but what the interpreter needs. What is started afterwards cannot name a process, a file or a
 * socket outside. Never looks at what is done inside. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "platform/root_plan.h"
#include "platform/step.h"
#include "platform/tree.h"

/* Where the work directory is, seen from inside. */
#define ENCLOSURE_WORK "/work"

/* Borrowed during enclosure_enter only. */
typedef struct EnclosureSpec {
    uint32_t uid;         /* of the user that owns nothing, taken when we are root */
    const RootPlan *root; /* NULL: the file system stays as it is */
    uint64_t disk_bytes;  /* of the work directory; enclosure_seal makes it exact */
} EnclosureSpec;

typedef struct Enclosure Enclosure;

/* Documented results. */
enum {
    ENCLOSURE_E_REFUSED = 1, /* the system does not let us; *ret_failure says what */
    ENCLOSURE_E_ALIVE = 1,   /* something inside does not die */
};

/* Encloses the calling process, for ever, and everything it starts from now on. The caller must
 * hold every descriptor to the outside that it will need. After ENCLOSURE_E_REFUSED it is fit for
 * nothing but to say so. 0, ENCLOSURE_E_REFUSED, or -errno. */
int enclosure_enter(const EnclosureSpec *spec, StepFailure *ret_failure, Enclosure **ret_enclosure);
/* Kills what is inside, waits for nothing. Takes NULL, returns NULL. */
Enclosure *enclosure_free(Enclosure *enclosure);

/* What there is to use and to compare with; descriptors stay the enclosure's. */
int enclosure_work_fd(const Enclosure *enclosure);
int enclosure_root_fd(const Enclosure *enclosure);

/* Bounds the work directory, beside what lies there already, and gives up every right that making
 * the enclosure took, but for looking at the processes inside: called when the last thing before a
 * job is done. 0 or -errno. */
int enclosure_seal(Enclosure *enclosure, uint64_t disk_bytes);

/* Why nothing more can be written to the work directory. */
typedef enum EnclosureFull {
    ENCLOSURE_HAS_ROOM,
    ENCLOSURE_OUT_OF_BYTES,
    ENCLOSURE_OUT_OF_FILES,
} EnclosureFull;

EnclosureFull enclosure_full(const Enclosure *enclosure);
/* How many files and directories the work directory may hold. */
uint64_t enclosure_max_files(void);

/* Tasks that live inside, those of its own first process not among them. 0 or -errno. */
int enclosure_count_tasks(const Enclosure *enclosure, uint64_t *ret_n_tasks);

/* Kills every process inside but the caller, at once, whatever they do. */
void enclosure_kill(Enclosure *enclosure);
/* Waits for the death of all that is inside, at most limit_ms; the caller's own children must be
 * reaped first. Gives up the last rights. Adds what they used to *usage. 0, ENCLOSURE_E_ALIVE, or
 * -errno. */
int enclosure_reap(Enclosure *enclosure, uint64_t limit_ms, TreeUsage *usage);

static inline void enclosure_freep(Enclosure **enclosure) {
    enclosure_free(*enclosure);
}
