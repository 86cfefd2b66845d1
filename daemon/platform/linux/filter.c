#include "platform/linux/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/linux/filter_code.h"

/* Only Debian's newer headers have it (Linux 5.19). */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

int filter_load(void) {
    const struct sock_fprog program = {filter_n_instructions, (struct sock_filter *)filter_code};
    const unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    /* Else a storm of signals could keep a reported call from ever being answered. */
    const unsigned long steady = flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, steady, &program);
    if (fd < 0 && errno == EINVAL)
        fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    return (int)fd;
}

/* x32 shares the architecture of x86_64 and marks its numbers: asm/unistd.h, __X32_SYSCALL_BIT. */
bool filter_is_foreign(unsigned architecture, int number) {
    enum { X32_BIT = 0x40000000 };
    return architecture != filter_architecture || (number & X32_BIT) != 0;
}

void filter_call_name(int number, char *buffer, size_t buffer_bytes) {
    for (unsigned i = 0; i < filter_n_names; i++) {
        if (filter_names[i].number != number) continue;
        snprintf(buffer, buffer_bytes, "%s", filter_names[i].name);
        return;
    }
    snprintf(buffer, buffer_bytes, "number %d", number);
}
