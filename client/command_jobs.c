/* Command jobs: lists jobs, newest first. */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "complain.h"
#include "parts.h"
#include "render_json.h"
#include "render_text.h"
#include "time_text.h"

enum { MAX_LISTED = 1000 };

typedef struct Settings {
    const char *state;
    const char *verdict;
    const char *since;
    TextList labels;
    uint32_t max_jobs; /* 0: the daemon's default */
} Settings;

static const Option options[] = {
    {"state", OPTION_TEXT, offsetof(Settings, state), "S", "queued, running or finished", 0, 0,
     NULL},
    {"verdict", OPTION_TEXT, offsetof(Settings, verdict), "V",
     "passed, failed or infrastructure_failure", 0, 0, NULL},
    {"label", OPTION_TEXTS, offsetof(Settings, labels), "K=V", "having this label; all of several",
     0, 0, NULL},
    {"since", OPTION_TEXT, offsetof(Settings, since), "WHEN",
     "submitted since: 90s, 15m, 2h, 7d ago, or a time", 0, 0, NULL},
    {"max", OPTION_COUNT, offsetof(Settings, max_jobs), "N", "at most N jobs", 1, MAX_LISTED, NULL},
    {NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0, NULL},
};

typedef struct Choice {
    const char *name;
    int value;
} Choice;

static const Choice states[] = {
    {"queued", TB__JOB_STATE__QUEUED},
    {"running", TB__JOB_STATE__RUNNING},
    {"finished", TB__JOB_STATE__FINISHED},
    {NULL, 0},
};
static const Choice verdicts[] = {
    {"passed", TB__VERDICT_KIND__PASSED},
    {"failed", TB__VERDICT_KIND__FAILED},
    {"infrastructure_failure", TB__VERDICT_KIND__INFRASTRUCTURE_FAILURE},
    {NULL, 0},
};

/* 0 for NULL, which leaves the choice open. */
static bool choose(const Choice *choices, const char *name, int *ret_value) {
    if (!name) return true;
    for (; choices->name; choices++) {
        if (strcmp(choices->name, name) != 0) continue;
        *ret_value = choices->value;
        return true;
    }
    return false;
}

/* Sets the filter's label to the parts of `word`, cut in place. */
static bool set_label(char *word, Tb__Label *label) {
    char *equals = strchr(word, '=');
    if (!equals || equals == word) return false;
    *equals = '\0';
    *label = (Tb__Label)TB__LABEL__INIT;
    label->key = word;
    label->value = equals + 1;
    return true;
}

static int build_labels(const Settings *settings, Arena *arena, Tb__List *list) {
    const size_t n_labels = settings->labels.n_items;
    list->labels = arena_take(arena, n_labels, sizeof(Tb__Label *));
    Tb__Label *labels = arena_take(arena, n_labels, sizeof *labels);
    if (!list->labels || !labels) return error_origin(-ENOMEM);
    for (size_t i = 0; i < n_labels; i++) {
        char *word = parts_text(arena, settings->labels.items[i]);
        if (!word) return error_origin(-ENOMEM);
        if (!set_label(word, &labels[i]))
            return complain_usage(command_jobs.name, "--label takes K=V, not '%s'", word);
        list->labels[list->n_labels++] = &labels[i];
    }
    return 0;
}

static int build(const Settings *settings, Arena *arena, Tb__List *list) {
    int state = 0, verdict = 0;
    if (!choose(states, settings->state, &state))
        return complain_usage(command_jobs.name,
                              "--state takes queued, running or finished, not '%s'",
                              settings->state);
    if (!choose(verdicts, settings->verdict, &verdict))
        return complain_usage(command_jobs.name,
                              "--verdict takes passed, failed or infrastructure_failure, not '%s'",
                              settings->verdict);
    if (settings->since &&
        !time_text_parse_since(settings->since, clock_wall_ms(), &list->since_ms))
        return complain_usage(command_jobs.name,
                              "--since takes 90s, 15m, 2h, 7d or 2030-01-31T12:00:00Z, not '%s'",
                              settings->since);
    list->state = (Tb__JobState)state;
    list->verdict = (Tb__VerdictKind)verdict;
    list->max_jobs = settings->max_jobs;
    return build_labels(settings, arena, list);
}

static int print(const Common *common, const Tb__JobList *jobs) {
    int r = 0;
    if (!common->json) render_jobs(stdout, render_style_for(stdout, false), jobs);
    for (size_t i = 0; common->json && r == 0 && i < jobs->n_jobs; i++)
        r = render_json_line(stdout, NULL, &jobs->jobs[i]->base);
    if (jobs->more) fputs("tbclient: there are more jobs; --max shows more\n", stderr);
    return r;
}

static int run(const Invocation *invocation) {
    CLEANUP(arena_deinit) Arena arena = {0};
    Tb__List list = TB__LIST__INIT;
    int r = build(invocation->settings, &arena, &list);
    if (r) return r;
    Tb__Envelope request = TB__ENVELOPE__INIT;
    request.body_case = TB__ENVELOPE__BODY_LIST;
    request.list = &list;
    CLEANUP(link_message_freep) Tb__Envelope *reply = NULL;
    r = ask_once(&invocation->common, &request, TB__ENVELOPE__BODY_JOBS, &reply);
    return r ? r : print(&invocation->common, reply->jobs);
}

const Command command_jobs = {
    .name = "jobs",
    .operands = "",
    .summary = "list jobs, newest first",
    .notes = "Times are UTC: 2030-01-31, 2030-01-31T12:00 or 2030-01-31T12:00:00Z.\n",
    .options = options,
    .settings_bytes = sizeof(Settings),
    .max_operands = 0,
    .wait_ms = 30000,
    .run = run,
};
