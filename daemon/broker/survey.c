#include "broker/survey.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "platform/child_layer.h"

void survey_deinit(Survey *survey) {
    root_plan_deinit(&survey->plan);
    text_list_deinit(&survey->missing);
    text_list_deinit(&survey->reasons);
}

static bool has_special(const TextList *layers) {
    for (size_t i = 0; i < layers->n_items; i++)
        if (!child_layer_is_basic(child_layer_from_name(layers->items[i]))) return true;
    return false;
}

bool survey_is_needed(const Profile *profile) {
    return has_special(&profile->required_layers) || has_special(&profile->optional_layers);
}

/* Why a layer cannot be had, or NULL. */
static const char *reason_against(const Survey *survey, const char *layer) {
    for (size_t i = 0; i < survey->missing.n_items; i++)
        if (strcmp(survey->missing.items[i], layer) == 0) return survey->reasons.items[i];
    return NULL;
}

int survey_add_missing(Survey *survey, const char *layer, const char *reason) {
    int r = text_list_append(&survey->missing, layer);
    if (r == 0) r = text_list_append(&survey->reasons, reason ? reason : "not looked for");
    return r < 0 ? error_fold(r) : 0;
}

int survey_keep_wanted(Survey *survey, const Profile *profile) {
    CLEANUP(text_list_deinit) TextList missing = {0};
    CLEANUP(text_list_deinit) TextList reasons = {0};
    for (size_t i = 0; i < survey->missing.n_items; i++) {
        const char *layer = survey->missing.items[i];
        if (!text_list_contains(&profile->required_layers, layer) &&
            !text_list_contains(&profile->optional_layers, layer))
            continue;
        int r = text_list_append(&missing, layer);
        if (r == 0) r = text_list_append(&reasons, survey->reasons.items[i]);
        if (r < 0) return error_fold(r);
    }
    text_list_deinit(&survey->missing);
    text_list_deinit(&survey->reasons);
    survey->missing = missing;
    survey->reasons = reasons;
    missing = reasons = (TextList){0};
    return 0;
}

int survey_choose(const Survey *survey, const Profile *profile, TextList *ret_layers,
                  char **ret_reason) {
    CLEANUP(text_list_deinit) TextList layers = {0};
    for (size_t i = 0; i < profile->required_layers.n_items; i++) {
        const char *layer = profile->required_layers.items[i];
        const char *reason = reason_against(survey, layer);
        int r = reason ? text_format(ret_reason, "the required layer %s cannot be had: %s", layer,
                                     reason)
                       : text_list_append(&layers, layer);
        if (r < 0) return error_fold(r);
        if (reason) return SURVEY_E_MISSING;
    }
    for (size_t i = 0; i < profile->optional_layers.n_items; i++) {
        const char *layer = profile->optional_layers.items[i];
        const int r = reason_against(survey, layer) ? 0 : text_list_append(&layers, layer);
        if (r < 0) return error_fold(r);
    }
    *ret_layers = layers;
    layers = (TextList){0};
    return 0;
}
