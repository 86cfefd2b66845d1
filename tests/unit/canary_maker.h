/* Canaries for tests: up to eight from texts, with the markers <0>, <1>, … */
#pragma once

#include <stdio.h>
#include <string.h>

#include <check.h>

#include "warden/scan.h"

enum { MAKER_MAX_CANARIES = 8 };

typedef struct CanaryMaker {
    Canary items[MAKER_MAX_CANARIES];
    char ids[MAKER_MAX_CANARIES][8];
    char markers[MAKER_MAX_CANARIES][8];
    CanaryList list;
    Scanner *scanner;
} CanaryMaker;

/* `values` ends with NULL. */
static inline void canary_maker_init(CanaryMaker *maker, const char *const *values) {
    *maker = (CanaryMaker){.list = {.items = maker->items}};
    for (size_t i = 0; values[i]; i++) {
        snprintf(maker->ids[i], sizeof maker->ids[i], "c-%zu", i);
        snprintf(maker->markers[i], sizeof maker->markers[i], "<%zu>", i);
        maker->items[i] = (Canary){
            .id = maker->ids[i],
            .value = {(uint8_t *)values[i], strlen(values[i])},
            .marker = maker->markers[i],
        };
        maker->list.n_items++;
    }
    ck_assert_int_eq(scanner_new(&maker->list, &maker->scanner), 0);
}

static inline void canary_maker_deinit(CanaryMaker *maker) {
    scanner_free(maker->scanner);
}
