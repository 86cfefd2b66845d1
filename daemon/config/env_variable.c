/* Env variable: lists of variables for a child, and the names that are not for profiles. Never
 * looks at the environment of this process. */
#include "config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/error.h"

int env_variable_list_append(EnvVariableList *list, const char *name, const char *value) {
    CLEANUP(freep) char *name_copy = strdup(name);
    CLEANUP(freep) char *value_copy = strdup(value);
    if (!name_copy || !value_copy) return error_origin(-ENOMEM);
    EnvVariable *items = realloc(list->items, (list->n_items + 1) * sizeof *items);
    if (!items) return error_origin(-ENOMEM);
    list->items = items;
    list->items[list->n_items++] = (EnvVariable){TAKE(name_copy), TAKE(value_copy)};
    return 0;
}

void env_variable_list_deinit(EnvVariableList *list) {
    for (size_t i = 0; i < list->n_items; i++) {
        free(list->items[i].name);
        free(list->items[i].value);
    }
    free(list->items);
    *list = (EnvVariableList){0};
}

/* Windows takes no notice of case, and one config file serves both families. */
bool config_env_name_is_reserved(const char *name) {
    static const char *const reserved[] = {
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONNOUSERSITE",
        "HOME",
        "TMPDIR",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "POLARS_MAX_THREADS",
        "RAYON_NUM_THREADS",
        "LANG",
        "SystemRoot",
    };
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcasecmp(reserved[i], name) == 0) return true;
    return false;
}
