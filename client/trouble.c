#include "trouble.h"

#include <stdarg.h>
#include <stdio.h>

int trouble_set(Trouble *trouble, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(trouble->text, sizeof trouble->text, format, args);
    va_end(args);
    return TROUBLE_E_TOLD;
}
