#include "config/config_table.h"

#include <stdlib.h>
#include <string.h>

Config *config_ref(Config *config) {
    config->n_refs++;
    return config;
}

void config_drop_profiles(Config *config) {
    for (size_t i = 0; i < config->n_profiles; i++) profile_deinit(&config->profiles[i]);
    free(config->profiles);
    config->profiles = NULL;
    config->n_profiles = 0;
}

Config *config_unref(Config *config) {
    if (!config || --config->n_refs) return NULL;
    config_drop_profiles(config);
    fields_deinit(config_fields, config);
    free(config->file);
    free(config);
    return NULL;
}

void profile_deinit(Profile *profile) {
    fields_deinit(profile_fields, profile);
    free(profile->name);
    profile->name = NULL;
}

const Profile *config_profile(const Config *config, const char *name) {
    for (size_t i = 0; i < config->n_profiles; i++)
        if (strcmp(config->profiles[i].name, name) == 0) return &config->profiles[i];
    return NULL;
}

void config_print(const Config *config, FILE *stream) {
    fields_print(config_fields, config, 0, stream);
    fputs("profiles:\n", stream);
    for (size_t i = 0; i < config->n_profiles; i++) {
        fputs("  ", stream);
        field_print_quoted(config->profiles[i].name, stream);
        fputs(":\n", stream);
        fields_print(profile_fields, &config->profiles[i], 4, stream);
    }
}
