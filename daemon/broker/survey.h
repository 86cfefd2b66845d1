/* Survey: what was found out about a profile's interpreter and this system before any environment
 * is made: which files the interpreter needs, and which layers cannot be had. Decides which layers
 * the environments get; never starts anything. */
#pragma once

#include "config/config.h"
#include "platform/root_plan.h"

typedef struct Survey {
    RootPlan plan;
    TextList missing; /* names of layers ... */
    TextList reasons; /* ... and as many reasons */
} Survey;

void survey_deinit(Survey *survey);

/* True when the profile wants a layer that not every system has. */
bool survey_is_needed(const Profile *profile);

/* One more that cannot be had. 0 or -ENOMEM. */
int survey_add_missing(Survey *survey, const char *layer, const char *reason);
/* Drops what the profile does not ask for. 0 or -ENOMEM. */
int survey_keep_wanted(Survey *survey, const Profile *profile);

/* Documented result of survey_choose. */
enum { SURVEY_E_MISSING = 1 };

/* The layers that environments of the profile get: every required one, and the optional ones that
 * there are. SURVEY_E_MISSING when a required one cannot be had: *ret_reason, the caller's, says
 * which and why. 0, SURVEY_E_MISSING, or -ENOMEM. */
int survey_choose(const Survey *survey, const Profile *profile, TextList *ret_layers,
                  char **ret_reason);
