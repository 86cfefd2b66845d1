/* Filter code: the compiled filter_table.h; the build makes the definitions. */
#pragma once

#include <linux/filter.h>

typedef struct FilterName {
    int number;
    const char *name;
} FilterName;

extern const struct sock_filter filter_code[];
extern const unsigned short filter_n_instructions;

/* As the kernel names it in its reports (linux/audit.h). */
extern const unsigned filter_architecture;

/* Of the calls that are reported. */
extern const FilterName filter_names[];
extern const unsigned filter_n_names;
