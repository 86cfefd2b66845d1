/* List: an intrusive doubly linked list. Owns nothing; a link is in at most one list at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct List {
    struct List *next;
    struct List *prev;
} List;

#define LIST_INIT(name)                                                                            \
    { &(name), &(name) }
#define list_entry(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))
/* Safe against removal of the current link only. */
#define list_each(cursor, list)                                                                    \
    for (List *cursor = (list)->next, *cursor##_next = cursor->next; cursor != (list);             \
         cursor = cursor##_next, cursor##_next = cursor->next)

static inline void list_init(List *list) {
    list->next = list;
    list->prev = list;
}

static inline bool list_empty(const List *list) {
    return list->next == list;
}

static inline void list_append(List *list, List *link) {
    link->prev = list->prev;
    link->next = list;
    list->prev->next = link;
    list->prev = link;
}

static inline void list_prepend(List *list, List *link) {
    list_append(list->next, link);
}

/* Unlinks; harmless on a link that is in no list but was initialised. */
static inline void list_remove(List *link) {
    link->prev->next = link->next;
    link->next->prev = link->prev;
    list_init(link);
}

/* First link or NULL. */
static inline List *list_first(const List *list) {
    return list_empty(list) ? NULL : list->next;
}
