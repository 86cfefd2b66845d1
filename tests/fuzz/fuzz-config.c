/* Any bytes as a config file: what is accepted prints as a file that reads back to the same config,
 * and what is refused has a reason. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ConfigPlaces places = {"/run/s", "/run/d", "/var/d", "/w"};
static const ConfigPlaces other_places = {"/a", "/b", "/c", "/d"};

static void require(bool condition) {
    if (!condition) abort();
}

static Config *parse(const void *bytes, size_t n_bytes, const ConfigPlaces *where) {
    ProblemList problems;
    Config *config = NULL;
    require(problem_list_init(&problems, "fuzz") == 0);
    const int r = config_parse(bytes, n_bytes, where, &problems, &config);
    require((r == 0) == (config != NULL));
    require((r == 1) == !problem_list_empty(&problems));
    problem_list_deinit(&problems);
    return config;
}

static void require_equal(const Config *a, const Config *b) {
    require(fields_equal(config_fields, a, b));
    require(a->n_profiles == b->n_profiles);
    for (size_t i = 0; i < a->n_profiles; i++) {
        require(profile_equal(&a->profiles[i], &b->profiles[i]));
        require(fields_equal(profile_fields, &a->profiles[i], &b->profiles[i]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Config *config = parse(data, size, &places);
    if (!config) return 0;
    char *text = NULL;
    size_t n_bytes;
    FILE *stream = open_memstream(&text, &n_bytes);
    require(stream != NULL);
    config_print(config, stream);
    fclose(stream);
    Config *again = parse(text, n_bytes, &other_places);
    require(again != NULL);
    require_equal(config, again);
    config_unref(again);
    config_unref(config);
    free(text);
    return 0;
}
