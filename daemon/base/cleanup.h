/* Cleanup: the cleanup attribute for locals and the hand-over of what they own. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* Hands the pointer over and nulls its source, so that the cleanup finds nothing. */
#define TAKE(ptr)                                                                                  \
    ({                                                                                             \
        __typeof__(ptr) *const take_src_ = &(ptr);                                                 \
        __typeof__(ptr) const take_val_ = *take_src_;                                              \
        *take_src_ = NULL;                                                                         \
        take_val_;                                                                                 \
    })

/* The same for a descriptor, whose empty value is -1. */
static inline int take_fd(int *fd) {
    const int value = *fd;
    *fd = -1;
    return value;
}

static inline void freep(void *pointer) {
    free(*(void **)pointer);
}

static inline void closep(const int *fd) {
    if (*fd >= 0) close(*fd);
}

static inline void fclosep(FILE **file) {
    if (*file) fclose(*file);
}

/* Closes and returns -1: `fd = close_fd(fd)`. Takes -1. */
static inline int close_fd(int fd) {
    if (fd >= 0) close(fd);
    return -1;
}
