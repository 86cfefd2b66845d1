/* Config table: every key of the file with its place, bounds and rules, and the parts that making a
 * config takes. Private to config/. */
#pragma once

#include "config/config.h"
#include "config/field.h"

enum { CONFIG_MAX_PROFILES = 64, CONFIG_MAX_NAME_BYTES = 64 };

/* Of Config; `profiles` lies elsewhere. */
extern const Field config_fields[];
/* Of Profile; its name is the key it stands under. */
extern const Field profile_fields[];

/* The isolation layers that this version has; NULL ends it. */
extern const char *const config_layers[];
/* Those of them that come together; NULL ends it. */
extern const char *const config_enclosure_layers[];

/* What a profile of this name starts from: the built-in one of that name, otherwise the built-in
 * `stdlib` without preload. 0 or -ENOMEM. */
int profile_init_default(Profile *ret_profile, const char *name);
void profile_deinit(Profile *profile);
/* Frees the profiles; the config has none then. */
void config_drop_profiles(Config *config);

/* Rules between keys, held against a config that was read from `root`. Adds problems. */
void config_check(const Config *config, const Node *root, ProblemList *problems);
void profile_check(const Profile *profile, const Node *node, const char *path,
                   ProblemList *problems);
