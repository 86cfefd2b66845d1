/* Idle: the least that an environment can hold, in the interpreter's place. Linked statically, so
 * that a root with this one file is enough; hides its memory and says so, as the harness does; then
 * waits for a job that never comes. */
#include <sys/prctl.h>
#include <unistd.h>

enum { JOB_FD = 3, MARKER_FD = 4 };

int main(void) {
    char byte = 'r';
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return 1;
    if (write(MARKER_FD, &byte, 1) != 1) return 1;
    while (read(JOB_FD, &byte, 1) > 0) continue;
    return 0;
}
