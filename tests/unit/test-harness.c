#include "warden/harness.h"

#include <string.h>

#include "base/cleanup.h"
#include "suite.h"

#define NONCE "00112233445566778899aabbccddeeff"
#define MARK(name) "{\"marker\":\"" name "\",\"nonce\":\"" NONCE "\"}"
#define READY                                                                                      \
    "{\"marker\":\"ready\",\"version\":\"3.11.2\",\"implementation\":\"cpython\",\"pid\":7,"       \
    "\"hash_randomization\":1,\"hash_sample\":\"00ff00000000000a\",\"urandom\":true,"              \
    "\"environ\":{\"A\":\"x\",\"B\":\"\"},\"directory\":\"/w\",\"entries\":[],\"writable\":true,"  \
    "\"isolated\":true,\"imports\":[\"json\"],\"system_root\":\"\"}"

static int parse(const char *line, HarnessMarker *marker) {
    return harness_parse(line, strlen(line), NONCE, marker);
}

START_TEST(ready_is_read) {
    CLEANUP(harness_marker_deinit) HarnessMarker marker = {0};
    ck_assert_int_eq(parse(READY, &marker), 0);
    ck_assert_int_eq(marker.kind, HARNESS_READY);
    const HarnessReady *ready = &marker.ready;
    ck_assert_str_eq(ready->version, "3.11.2");
    ck_assert_str_eq(ready->directory, "/w");
    ck_assert(ready->hash_randomization && ready->has_hash_sample && ready->has_urandom);
    ck_assert(ready->is_isolated && ready->is_writable);
    ck_assert_uint_eq(ready->hash_sample, UINT64_C(0x00ff00000000000a));
    ck_assert_uint_eq(ready->n_entries, 0);
    ck_assert_uint_eq(ready->environment.n_items, 2);
    ck_assert_uint_eq(ready->imports.n_items, 1);
}
END_TEST

START_TEST(every_marker_is_read) {
    static const struct {
        const char *line;
        HarnessKind kind;
    } lines[] = {
        {MARK("received"), HARNESS_RECEIVED},
        {MARK("parsed"), HARNESS_PARSED},
        {MARK("allowed"), HARNESS_ALLOWED},
        {MARK("compiled"), HARNESS_COMPILED},
        {MARK("held"), HARNESS_HELD},
        {MARK("started"), HARNESS_STARTED},
        {MARK("ended"), HARNESS_ENDED},
        {"{\"marker\":\"unfit\",\"step\":\"import x\",\"error\":\"E: no\"}", HARNESS_UNFIT},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        CLEANUP(harness_marker_deinit) HarnessMarker marker = {0};
        ck_assert_int_eq(parse(lines[i].line, &marker), 0);
        ck_assert_int_eq(marker.kind, lines[i].kind);
    }
}
END_TEST

START_TEST(rejections_are_read) {
    CLEANUP(harness_marker_deinit) HarnessMarker marker = {0};
    ck_assert_int_eq(parse("{\"marker\":\"rejected\",\"nonce\":\"" NONCE "\",\"failures\":["
                           "{\"code\":\"forbidden_import\",\"subject\":\"socket\",\"line\":3,"
                           "\"message\":\"no\"},"
                           "{\"code\":\"does_not_parse\",\"subject\":\"\",\"line\":0,"
                           "\"message\":\"bad\\u0000\"}]}",
                           &marker),
                     0);
    ck_assert_int_eq(marker.kind, HARNESS_REJECTED);
    ck_assert_uint_eq(marker.failures.n_items, 2);
    ck_assert_int_eq(marker.failures.items[0].code, CODE_FORBIDDEN_IMPORT);
    ck_assert_str_eq(marker.failures.items[0].subject, "socket");
    ck_assert_uint_eq(marker.failures.items[0].line, 3);
    ck_assert_int_eq(marker.failures.items[1].code, CODE_DOES_NOT_PARSE);
}
END_TEST

#define SURVEYED(rest) "{\"marker\":\"surveyed\"," rest "}"

START_TEST(a_survey_is_read) {
    CLEANUP(harness_marker_deinit) HarnessMarker marker = {0};
    ck_assert_int_eq(parse(SURVEYED("\"paths\":[\"/usr/bin/p\",\"/lib/x\"],"
                                    "\"links\":[[\"/lib\",\"usr/lib\"],[\"/a/b\",\"/c\"]]"),
                           &marker),
                     0);
    ck_assert_int_eq(marker.kind, HARNESS_SURVEYED);
    ck_assert_uint_eq(marker.plan.paths.n_items, 2);
    ck_assert_str_eq(marker.plan.paths.items[0], "/usr/bin/p");
    ck_assert_str_eq(marker.plan.paths.items[1], "/lib/x");
    ck_assert_uint_eq(marker.plan.n_links, 2);
    ck_assert_str_eq(marker.plan.links[0].path, "/lib");
    ck_assert_str_eq(marker.plan.links[0].target, "usr/lib");
    ck_assert_str_eq(marker.plan.links[1].path, "/a/b");
    ck_assert_str_eq(marker.plan.links[1].target, "/c");
}
END_TEST

START_TEST(a_survey_may_find_nothing) {
    CLEANUP(harness_marker_deinit) HarnessMarker marker = {0};
    ck_assert_int_eq(parse(SURVEYED("\"paths\":[],\"links\":[]"), &marker), 0);
    ck_assert_uint_eq(marker.plan.paths.n_items, 0);
    ck_assert_uint_eq(marker.plan.n_links, 0);
}
END_TEST

START_TEST(anything_else_is_malformed) {
    static const char *const lines[] = {
        "",
        "x",
        "[]",
        "{}",
        "{\"marker\":\"received\"}",
        "{\"marker\":\"received\",\"nonce\":\"\"}",
        "{\"marker\":\"received\",\"nonce\":\"0" NONCE "\"}",
        "{\"marker\":\"unknown\",\"nonce\":\"" NONCE "\"}",
        MARK("received") "x",
        "{\"marker\":\"rejected\",\"nonce\":\"" NONCE "\"}",
        "{\"marker\":\"rejected\",\"nonce\":\"" NONCE "\",\"failures\":[]}",
        "{\"marker\":\"rejected\",\"nonce\":\"" NONCE "\",\"failures\":[7]}",
        "{\"marker\":\"rejected\",\"nonce\":\"" NONCE "\",\"failures\":[{\"code\":\"timeout\","
        "\"subject\":\"\",\"line\":0,\"message\":\"\"}]}",
        "{\"marker\":\"ready\"}",
        "{\"marker\":\"unfit\",\"step\":\"x\"}",
        "{\"marker\":\"surveyed\"}",
        SURVEYED("\"paths\":[]"),
        SURVEYED("\"links\":[]"),
        SURVEYED("\"paths\":\"/a\",\"links\":[]"),
        SURVEYED("\"paths\":[7],\"links\":[]"),
        SURVEYED("\"paths\":[\"/a\",null],\"links\":[]"),
        SURVEYED("\"paths\":[],\"links\":{\"/a\":\"b\"}"),
        SURVEYED("\"paths\":[],\"links\":[7]"),
        SURVEYED("\"paths\":[],\"links\":[[]]"),
        SURVEYED("\"paths\":[],\"links\":[[\"/a\"]]"),
        SURVEYED("\"paths\":[],\"links\":[[\"/a\",\"b\"],[\"/c\",0]]"),
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        HarnessMarker marker;
        ck_assert_msg(parse(lines[i], &marker) == HARNESS_E_MALFORMED, "%s", lines[i]);
    }
    HarnessMarker marker;
    ck_assert_int_eq(harness_parse(MARK("received"), strlen(MARK("received")), "", &marker),
                     HARNESS_E_MALFORMED);
}
END_TEST

static void start(HarnessReader *reader) {
    ck_assert_int_eq(harness_reader_init(reader), 0);
    strcpy(reader->nonce, NONCE);
}

/* Feeds a text in pieces and writes the kinds that come, by letter; the last result. */
static int feed(HarnessReader *reader, const char *text, size_t step, char *kinds) {
    static const char letters[] = "YUrpacjhseS"; /* as in HarnessKind */
    const size_t n = strlen(text);
    int r = HARNESS_E_MORE;
    for (size_t i = 0; i < n && r != HARNESS_E_MALFORMED; i += step) {
        HarnessMarker marker;
        harness_feed(reader, (const uint8_t *)text + i, step < n - i ? step : n - i);
        while ((r = harness_next(reader, &marker)) == 0) {
            *kinds++ = letters[marker.kind];
            harness_marker_deinit(&marker);
        }
    }
    *kinds = '\0';
    return r;
}

START_TEST(lines_are_assembled) {
    static const char text[] =
        MARK("received") "\n" MARK("parsed") "\n" MARK("allowed") "\n" MARK("compiled") "\n" MARK(
            "started") "\nprint me\n" MARK("received") "\n" MARK("ended") "x\n x" MARK("ended") "\n" MARK("ended") "\n";
    for (size_t step = 1; step < sizeof text; step++) {
        HarnessReader reader;
        char kinds[32];
        start(&reader);
        ck_assert_int_eq(feed(&reader, text, step, kinds), HARNESS_E_MORE);
        ck_assert_str_eq(kinds, "rpacse");
        harness_reader_deinit(&reader);
    }
}
END_TEST

START_TEST(long_lines_break_trust_only) {
    static char text[3 * HARNESS_LINE_MAX_BYTES];
    char kinds[8];
    HarnessReader reader;
    memset(text, 'x', sizeof text - 1);
    start(&reader);
    ck_assert_int_eq(feed(&reader, text, 1000, kinds), HARNESS_E_MALFORMED);
    harness_reader_deinit(&reader);
    start(&reader);
    ck_assert_int_eq(feed(&reader, MARK("started") "\n", 99, kinds), HARNESS_E_MORE);
    ck_assert_int_eq(feed(&reader, text, 1000, kinds), HARNESS_E_MORE);
    ck_assert_str_eq(kinds, "");
    ck_assert_int_eq(feed(&reader, "\n" MARK("ended") "\n", 99, kinds), HARNESS_E_MORE);
    ck_assert_str_eq(kinds, "e");
    harness_reader_deinit(&reader);
}
END_TEST

SUITE_MAIN("harness", ready_is_read, every_marker_is_read, rejections_are_read, a_survey_is_read,
           a_survey_may_find_nothing, anything_else_is_malformed, lines_are_assembled,
           long_lines_break_trust_only)
