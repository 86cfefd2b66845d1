/* Makes configs whose wardens are stubs, in directories of their own below /tmp. */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <check.h>

#include "config/config.h"
#include "platform/workdir.h"
#include "warden_stub.h"

typedef struct Places {
    char directory[64];
    char work[80];
    char socket[80];
} Places;

static inline void places_init(Places *places) {
    strcpy(places->directory, "/tmp/tbsandbox-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(places->directory));
    snprintf(places->work, sizeof places->work, "%s/work", places->directory);
    snprintf(places->socket, sizeof places->socket, "%s/socket", places->directory);
    ck_assert_int_eq(mkdir(places->work, 0700), 0);
}

/* Every environment must have taken its directory along. */
static inline void places_expect_clean(const Places *places) {
    DIR *directory = opendir(places->work);
    ck_assert_ptr_nonnull(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        ck_assert_msg(entry->d_name[0] == '.', "%s was left behind", entry->d_name);
    closedir(directory);
}

static inline void places_deinit(const Places *places) {
    ck_assert_int_eq(workdir_remove(places->directory), 0);
}

static inline void set_text(char **text, const char *value) {
    free(*text);
    *text = strdup(value);
    ck_assert_ptr_nonnull(*text);
}

/* The built-in profiles with one environment ready each: `stdlib` starts as `script` says, `pandas`
 * always well. The circuit's pauses are short. */
static inline Config *make_stub_config(const Places *places, const char *script) {
    const ConfigPlaces config_places = {
        .socket_path = places->socket,
        .runtime_directory = places->directory,
        .state_directory = places->directory,
        .warden_path = STUB_PATH,
    };
    Config *config;
    ck_assert_int_eq(config_new_default(&config_places, &config), 0);
    config->log_level = LOG_LEVEL_ERROR;
    config->circuit_backoff_min_ms = 20;
    config->circuit_backoff_max_ms = 80;
    for (size_t i = 0; i < config->n_profiles; i++) {
        set_text(&config->profiles[i].interpreter, i == 0 ? script : "ready");
        set_text(&config->profiles[i].warmup, "");
        config->profiles[i].min_ready = 1;
        /* Layers that every system has: nothing to survey. */
        text_list_deinit(&config->profiles[i].required_layers);
        text_list_deinit(&config->profiles[i].optional_layers);
        ck_assert_int_eq(text_list_append(&config->profiles[i].required_layers, "session"), 0);
    }
    return config;
}
