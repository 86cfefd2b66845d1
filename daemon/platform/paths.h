/* Paths: where the daemon keeps its things when the config does not say: the system's places for
 * root, the user's own otherwise. Makes no directory. */
#pragma once

#include "config/config.h"

typedef struct Paths {
    char *socket_path;
    char *runtime_directory;
    char *state_directory;
    char *warden_path;
} Paths;

/* 0 or -errno. The caller calls paths_deinit. */
int paths_init(Paths *ret_paths);
void paths_deinit(Paths *paths);
/* Borrows from `paths`. */
ConfigPlaces paths_places(const Paths *paths);
