/* Workdir on POSIX: what its files and the spawning of a child share. Not a contract. */
#pragma once

#include "platform/workdir.h"

struct Workdir {
    char *real_path; /* of work/ */
    int work_fd;
};

/* Looks at one name in an open directory, as workdir_open does. 0 or -errno. */
int workdir_open_at(int directory_fd, const char *name, WorkdirFile *ret_file);
/* Opens a directory in an open one for reading, giving its owner the right to first when that is
 * missing. *ret_fd is the caller's. 0 or -errno. */
int workdir_enter(int directory_fd, const char *name, int *ret_fd);
