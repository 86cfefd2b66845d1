#include "exit_status.h"

ExitStatus exit_status_worse(ExitStatus a, ExitStatus b) {
    return a > b ? a : b;
}

ExitStatus exit_status_of_kind(Tb__VerdictKind kind) {
    switch (kind) {
    case TB__VERDICT_KIND__PASSED:
        return EXIT_STATUS_PASSED;
    case TB__VERDICT_KIND__FAILED:
        return EXIT_STATUS_FAILED;
    default:
        return EXIT_STATUS_INFRASTRUCTURE;
    }
}
