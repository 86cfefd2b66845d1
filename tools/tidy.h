/* Tidy: included before every file that clang-tidy reads, and by nothing else. Tells its analyser
 * that an error that is marked stays the error it was, and that it is negative. */
#include "base/error.h"

#undef error_origin
#undef error_fold
#define error_origin(code)                                                                         \
    ({                                                                                             \
        const int error_ = (code);                                                                 \
        if (error_ >= 0) __builtin_unreachable();                                                  \
        error_;                                                                                    \
    })
#define error_fold(code) error_origin(code)
