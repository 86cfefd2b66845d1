#include "verdict/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int copy_text(const char *text, char **ret_copy) {
    char *copy = NULL;
    if (text) {
        copy = strdup(text);
        if (!copy) return error_origin(-ENOMEM);
    }
    *ret_copy = copy;
    return 0;
}

int failure_copy(const Failure *failure, Failure *ret_copy) {
    Failure copy = {.code = failure->code, .line = failure->line, .offset = failure->offset};
    int r = copy_text(failure->subject, &copy.subject);
    if (r == 0) r = copy_text(failure->message, &copy.message);
    if (r == 0) r = copy_text(failure->sink, &copy.sink);
    if (r == 0) r = copy_text(failure->transform, &copy.transform);
    if (r < 0) {
        failure_deinit(&copy);
        return error_fold(r);
    }
    *ret_copy = copy;
    return 0;
}

void failure_deinit(Failure *failure) {
    free(failure->subject);
    free(failure->message);
    free(failure->sink);
    free(failure->transform);
    *failure = (Failure){0};
}

int failure_list_append(FailureList *list, const Failure *failure) {
    Failure *items = realloc(list->items, (list->n_items + 1) * sizeof *items);
    if (!items) return error_origin(-ENOMEM);
    list->items = items;
    const int r = failure_copy(failure, &items[list->n_items]);
    if (r < 0) return error_fold(r);
    list->n_items++;
    return 0;
}

void failure_list_deinit(FailureList *list) {
    for (size_t i = 0; i < list->n_items; i++) failure_deinit(&list->items[i]);
    free(list->items);
    *list = (FailureList){0};
}

static void drop_output(OutputFacts *output) {
    free(output->head);
    free(output->tail);
    *output = (OutputFacts){0};
}

static void drop_produced(Facts *facts) {
    for (size_t i = 0; i < facts->n_produced; i++) {
        free(facts->produced[i].name);
        free(facts->produced[i].note);
    }
    free(facts->produced);
    facts->produced = NULL;
    facts->n_produced = 0;
}

static void drop_text(char **text) {
    free(*text);
    *text = NULL;
}

void facts_drop_artifacts(Facts *facts) {
    failure_list_deinit(&facts->rejects);
    failure_list_deinit(&facts->findings);
    drop_output(&facts->out);
    drop_output(&facts->err);
    drop_produced(facts);
    drop_text(&facts->excerpt);
}

void facts_deinit(Facts *facts) {
    facts_drop_artifacts(facts);
    free(facts->limit_subject);
    free(facts->limit_detail);
    free(facts->fault_detail);
    free(facts->environment_id);
    *facts = (Facts){0};
}

Facts *facts_free(Facts *facts) {
    if (!facts) return NULL;
    facts_deinit(facts);
    free(facts);
    return NULL;
}
