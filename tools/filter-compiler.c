/* filter-compiler: turns daemon/platform/linux/filter_table.h into a program for the kernel, at
 * build time, so that no environment pays for it and the daemon needs no libseccomp. Prints C: the
 * instructions, and the names of the calls that are reported. */
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <seccomp.h>

#include "platform/linux/filter.h"
#include "platform/linux/filter_table.h"

/* personality(2): asks, and changes nothing. */
#define PERSONALITY_QUERY 0xffffffffU

static uint32_t action_of(const FilterGroup *group) {
    switch (group->action) {
    case FILTER_ALLOW:
        return SCMP_ACT_ALLOW;
    case FILTER_REFUSE:
        return SCMP_ACT_ERRNO((unsigned)group->error);
    case FILTER_REPORT:
        break;
    }
    return SCMP_ACT_NOTIFY;
}

static int add_group(scmp_filter_ctx context, const FilterGroup *group) {
    for (const char *const *name = group->calls; *name; name++) {
        const int number = seccomp_syscall_resolve_name(*name);
        if (number == __NR_SCMP_ERROR) return -EINVAL;
        /* A negative number stands for a call of another architecture. */
        const int r = number < 0 ? 0 : seccomp_rule_add(context, action_of(group), number, 0);
        if (r < 0) return r;
    }
    return 0;
}

/* Calls that are one thing or another by their arguments. */
static int add_by_argument(scmp_filter_ctx context) {
    static const struct {
        int number;
        uint32_t action;
        struct scmp_arg_cmp when;
    } rules[] = {
        {SCMP_SYS(mmap), SCMP_ACT_ALLOW, {1, SCMP_CMP_LT, FILTER_REPORTED_BYTES, 0}},
        {SCMP_SYS(mmap), SCMP_ACT_NOTIFY, {1, SCMP_CMP_GE, FILTER_REPORTED_BYTES, 0}},
        {SCMP_SYS(mremap), SCMP_ACT_ALLOW, {2, SCMP_CMP_LT, FILTER_REPORTED_BYTES, 0}},
        {SCMP_SYS(mremap), SCMP_ACT_NOTIFY, {2, SCMP_CMP_GE, FILTER_REPORTED_BYTES, 0}},
        {SCMP_SYS(prlimit64), SCMP_ACT_ALLOW, {0, SCMP_CMP_EQ, 0, 0}},
        {SCMP_SYS(personality), SCMP_ACT_ALLOW, {0, SCMP_CMP_EQ, PERSONALITY_QUERY, 0}},
        {SCMP_SYS(prctl), SCMP_ACT_ALLOW, {0, SCMP_CMP_EQ, PR_SET_NAME, 0}},
        {SCMP_SYS(prctl), SCMP_ACT_ALLOW, {0, SCMP_CMP_EQ, PR_GET_NAME, 0}},
        {SCMP_SYS(prctl), SCMP_ACT_ALLOW, {0, SCMP_CMP_EQ, PR_SET_DUMPABLE, 0}},
        {SCMP_SYS(prctl), SCMP_ACT_ALLOW, {0, SCMP_CMP_EQ, PR_GET_DUMPABLE, 0}},
        /* No locks, leases and notices: two jobs see the same library's files. */
        {SCMP_SYS(fcntl), SCMP_ACT_ALLOW, {1, SCMP_CMP_EQ, F_DUPFD, 0}},
        {SCMP_SYS(fcntl), SCMP_ACT_ALLOW, {1, SCMP_CMP_EQ, F_DUPFD_CLOEXEC, 0}},
        {SCMP_SYS(fcntl), SCMP_ACT_ALLOW, {1, SCMP_CMP_EQ, F_GETFD, 0}},
        {SCMP_SYS(fcntl), SCMP_ACT_ALLOW, {1, SCMP_CMP_EQ, F_SETFD, 0}},
        {SCMP_SYS(fcntl), SCMP_ACT_ALLOW, {1, SCMP_CMP_EQ, F_GETFL, 0}},
        {SCMP_SYS(fcntl), SCMP_ACT_ALLOW, {1, SCMP_CMP_EQ, F_SETFL, 0}},
        {SCMP_SYS(fcntl), SCMP_ACT_ALLOW, {1, SCMP_CMP_EQ, F_GETPIPE_SZ, 0}},
        {SCMP_SYS(fcntl), SCMP_ACT_ALLOW, {1, SCMP_CMP_EQ, F_SETPIPE_SZ, 0}},
        {SCMP_SYS(ioctl), SCMP_ACT_ALLOW, {1, SCMP_CMP_EQ, TCGETS, 0}},
        {SCMP_SYS(ioctl), SCMP_ACT_ALLOW, {1, SCMP_CMP_EQ, FIONREAD, 0}},
        {SCMP_SYS(ioctl), SCMP_ACT_ALLOW, {1, SCMP_CMP_EQ, FIONBIO, 0}},
        {SCMP_SYS(ioctl), SCMP_ACT_ALLOW, {1, SCMP_CMP_EQ, FIOCLEX, 0}},
        {SCMP_SYS(ioctl), SCMP_ACT_ALLOW, {1, SCMP_CMP_EQ, FIONCLEX, 0}},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const int r = seccomp_rule_add_array(context, rules[i].action, rules[i].number, 1,
                                             &rules[i].when);
        if (r < 0) return r;
    }
    return 0;
}

/* A call of another ABI of the machine is reported, whatever its number stands for there. */
static int make_context(scmp_filter_ctx context) {
    int r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_NOTIFY);
    /* A binary search: calls far down the list cost no more than the others. */
    if (r == 0) r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    for (size_t i = 0; r == 0 && i < sizeof filter_groups / sizeof *filter_groups; i++)
        r = add_group(context, &filter_groups[i]);
    if (r == 0) r = add_by_argument(context);
    return r;
}

/* The instructions, as libseccomp writes them. */
static int print_code(scmp_filter_ctx context) {
    FILE *file = tmpfile();
    struct sock_filter instruction;
    if (!file) return -errno;
    const int r = seccomp_export_bpf(context, fileno(file));
    if (r < 0) return r;
    rewind(file);
    puts("const struct sock_filter filter_code[] = {");
    while (fread(&instruction, sizeof instruction, 1, file) == 1)
        printf("    {0x%02x, %u, %u, 0x%08x},\n", instruction.code, instruction.jt, instruction.jf,
               instruction.k);
    puts("};\nconst unsigned short filter_n_instructions = sizeof filter_code / sizeof "
         "*filter_code;");
    fclose(file);
    return 0;
}

static void print_names(void) {
    puts("const FilterName filter_names[] = {");
    for (size_t i = 0; i < sizeof filter_groups / sizeof *filter_groups; i++) {
        if (filter_groups[i].action != FILTER_REPORT) continue;
        for (const char *const *name = filter_groups[i].calls; *name; name++) {
            const int number = seccomp_syscall_resolve_name(*name);
            if (number >= 0) printf("    {%d, \"%s\"},\n", number, *name);
        }
    }
    puts("};\nconst unsigned filter_n_names = sizeof filter_names / sizeof *filter_names;");
}

int main(void) {
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    int r = context ? make_context(context) : -ENOMEM;
    puts("#include \"platform/linux/filter_code.h\"\n");
    if (r == 0) r = print_code(context);
    if (r < 0) {
        fprintf(stderr, "filter-compiler: error %d\n", -r);
        return EXIT_FAILURE;
    }
    printf("const unsigned filter_architecture = 0x%08x;\n", seccomp_arch_native());
    print_names();
    seccomp_release(context);
    return ferror(stdout) || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
