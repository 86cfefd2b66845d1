#include "warden/checks/produced.h"

#include "base/cleanup.h"
#include "canary_maker.h"
#include "suite.h"
#include "workdir_maker.h"

enum { DISK_BYTES = 10000 };

static const char *const canaries[] = {"secret", "other", NULL};
static OrderInput inputs[] = {
    {(char *)"same.csv", {(uint8_t *)"x", 1}},
    {(char *)"changed.csv", {(uint8_t *)"holds other", 11}},
};
static const bool unchanged[] = {true, false};
static const Order order = {.inputs = inputs, .n_inputs = 2, .limits = {.disk_bytes = DISK_BYTES}};

static void check(const WorkdirMaker *maker, const CanaryMaker *secrets, Facts *ret_facts) {
    *ret_facts = (Facts){0};
    ck_assert_int_eq(produced_check(&order, maker->workdir, secrets->scanner, unchanged, ret_facts),
                     0);
}

static const ProducedFile *find(const Facts *facts, const char *name) {
    for (size_t i = 0; i < facts->n_produced; i++)
        if (strcmp((const char *)facts->produced[i].name, name) == 0) return &facts->produced[i];
    ck_abort_msg("no %s", name);
}

static void expect_note(const Facts *facts, const char *name, const char *note) {
    const ProducedFile *file = find(facts, name);
    ck_assert_uint_eq(file->name_bytes, strlen(name));
    if (note)
        ck_assert_str_eq(file->note, note);
    else
        ck_assert_ptr_null(file->note);
    ck_assert_int_eq(file->has_sha256, !note);
}

START_TEST(everything_is_listed) {
    WorkdirMaker maker;
    CanaryMaker secrets;
    Facts facts;
    workdir_maker_init(&maker);
    canary_maker_init(&secrets, canaries);
    put("same.csv", "x");
    put("changed.csv", "changed");
    ck_assert_int_eq(mkdir("d", 0700), 0);
    put("d/deep.txt", "hello\n");
    ck_assert_int_eq(symlink("/etc/passwd", "link"), 0);
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    put("empty", "");
    put("bad\xff\nname", "");
    ck_assert_int_eq(chmod("empty", 0), 0);
    ck_assert_int_eq(chmod("d", 0), 0);
    check(&maker, &secrets, &facts);
    ck_assert_uint_eq(facts.n_produced, 7);
    expect_note(&facts, "changed.csv", NULL);
    expect_note(&facts, "d", "directory");
    expect_note(&facts, "d/deep.txt", NULL);
    expect_note(&facts, "link", "symbolic link");
    expect_note(&facts, "pipe", "FIFO");
    expect_note(&facts, "empty", NULL);
    expect_note(&facts, "bad\xff\nname", NULL);
    ck_assert_uint_eq(find(&facts, "d/deep.txt")->size_bytes, 6);
    ck_assert_uint_eq(find(&facts, "d/deep.txt")->sha256[0], 0x58); /* printf 'hello\n' */
    ck_assert_uint_eq(facts.disk_bytes, 13);
    ck_assert_uint_eq(facts.findings.n_items, 0);
    facts_deinit(&facts);
    canary_maker_deinit(&secrets);
    workdir_maker_deinit(&maker);
}
END_TEST

static void expect_leak(const Failure *leak, const char *id, const char *sink, uint64_t offset) {
    ck_assert_int_eq(leak->code, CODE_CANARY_LEAK);
    ck_assert_str_eq(leak->subject, id);
    ck_assert_str_eq(leak->sink, sink);
    ck_assert_str_eq(leak->transform, "literal");
    ck_assert_uint_eq(leak->offset, offset);
    ck_assert_ptr_null(strstr(leak->message, "secret"));
}

START_TEST(leaks_are_found) {
    WorkdirMaker maker;
    CanaryMaker secrets;
    Facts facts;
    workdir_maker_init(&maker);
    canary_maker_init(&secrets, canaries);
    ck_assert_int_eq(mkdir("a-secret", 0700), 0);
    put("a-secret/in", "a secret and a secret");
    ck_assert_int_eq(symlink("secret", "b"), 0);
    put("changed.csv", "other is here before, secret is not");
    check(&maker, &secrets, &facts);
    ck_assert_uint_eq(facts.findings.n_items, 4);
    expect_leak(&facts.findings.items[0], "c-0", "file_name", 2);
    expect_leak(&facts.findings.items[1], "c-0", "file", 0);
    expect_leak(&facts.findings.items[2], "c-0", "file", 22);
    expect_leak(&facts.findings.items[3], "c-0", "file", 2);
    expect_note(&facts, "a-<0>", "directory");
    expect_note(&facts, "a-<0>/in", NULL);
    facts_deinit(&facts);
    canary_maker_deinit(&secrets);
    workdir_maker_deinit(&maker);
}
END_TEST

START_TEST(too_much_is_a_finding) {
    WorkdirMaker maker;
    CanaryMaker secrets;
    Facts facts;
    char text[6001];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    workdir_maker_init(&maker);
    canary_maker_init(&secrets, canaries);
    put("1", text);
    check(&maker, &secrets, &facts);
    ck_assert_uint_eq(facts.findings.n_items, 0);
    facts_deinit(&facts);
    put("2", text);
    check(&maker, &secrets, &facts);
    ck_assert_uint_eq(facts.disk_bytes, 12000);
    ck_assert_uint_eq(facts.findings.n_items, 1);
    ck_assert_int_eq(facts.findings.items[0].code, CODE_DISK_LIMIT);
    ck_assert_str_eq(facts.findings.items[0].message,
                     "the job's files hold 12000 bytes, 10000 are allowed");
    expect_note(&facts, "1", NULL);
    expect_note(&facts, "2", "not read: over the disk limit");
    facts_deinit(&facts);
    ck_assert_int_eq(truncate("1", 0), 0);
    ck_assert_int_eq(truncate("2", DISK_BYTES), 0);
    check(&maker, &secrets, &facts);
    ck_assert_uint_eq(facts.findings.n_items, 1);
    ck_assert_int_eq(facts.findings.items[0].code, CODE_DISK_LIMIT);
    facts_deinit(&facts);
    canary_maker_deinit(&secrets);
    workdir_maker_deinit(&maker);
}
END_TEST

START_TEST(more_entries_than_are_searched_are_a_finding) {
    WorkdirMaker maker;
    CanaryMaker secrets;
    Facts facts;
    char name[32];
    workdir_maker_init(&maker);
    canary_maker_init(&secrets, canaries);
    put("same.csv", "x");
    put("changed.csv", "y");
    for (int i = 1; i < PRODUCED_MAX_ENTRIES; i++) {
        snprintf(name, sizeof name, "f%d", i);
        put(name, "");
    }
    check(&maker, &secrets, &facts);
    ck_assert_uint_eq(facts.n_produced, PRODUCED_MAX_ENTRIES);
    ck_assert_uint_eq(facts.findings.n_items, 0);
    facts_deinit(&facts);
    put("one-more", "");
    put("two-more", "");
    check(&maker, &secrets, &facts);
    ck_assert_uint_eq(facts.findings.n_items, 1);
    ck_assert_int_eq(facts.findings.items[0].code, CODE_DISK_LIMIT);
    facts_deinit(&facts);
    canary_maker_deinit(&secrets);
    workdir_maker_deinit(&maker);
}
END_TEST

/* Deeper than a path can be long. */
START_TEST(depth_is_no_bound) {
    enum { DEPTH = 400 };
    WorkdirMaker maker;
    CanaryMaker secrets;
    Facts facts;
    char name[201];
    memset(name, 'd', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    workdir_maker_init(&maker);
    canary_maker_init(&secrets, canaries);
    for (int i = 0; i < DEPTH; i++) {
        ck_assert_int_eq(mkdir(name, 0700), 0);
        ck_assert_int_eq(chdir(name), 0);
    }
    put("leak", "secret");
    check(&maker, &secrets, &facts);
    ck_assert_uint_eq(facts.n_produced, DEPTH + 1);
    ck_assert_uint_eq(facts.produced[DEPTH].name_bytes, PRODUCED_MAX_NAME_BYTES);
    ck_assert_uint_eq(facts.findings.n_items, 1);
    expect_leak(&facts.findings.items[0], "c-0", "file", 0);
    facts_deinit(&facts);
    canary_maker_deinit(&secrets);
    workdir_maker_deinit(&maker);
}
END_TEST

/* Long names are cut; what a finding calls a file is well-formed first. */
START_TEST(names_are_cut_after_redaction) {
    static const char *const secret[] = {"first\\x01second", "leak", NULL};
    WorkdirMaker maker;
    CanaryMaker secrets;
    Facts facts;
    workdir_maker_init(&maker);
    canary_maker_init(&secrets, secret);
    char name[201];
    memset(name, 'd', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(mkdir(name, 0700), 0);
        ck_assert_int_eq(chdir(name), 0);
    }
    /* 1005 bytes of directories; the marker would stand at 1022. */
    put("12345678901234567leak", "leak");
    put("b-first\x01second", "leak");
    check(&maker, &secrets, &facts);
    ck_assert_uint_eq(facts.n_produced, 7);
    ck_assert_uint_eq(facts.findings.n_items, 3);
    for (size_t i = 0; i < facts.n_produced; i++)
        ck_assert_ptr_null(strpbrk((const char *)facts.produced[i].name, "<>"));
    for (size_t i = 0; i < facts.findings.n_items; i++) {
        const char *message = facts.findings.items[i].message;
        ck_assert_ptr_null(strstr(message, "first"));
        ck_assert_ptr_null(strstr(message, "second"));
        ck_assert_int_eq(strstr(message, "b-") != NULL, strstr(message, "b-<0> at byte") != NULL);
    }
    facts_deinit(&facts);
    canary_maker_deinit(&secrets);
    workdir_maker_deinit(&maker);
}
END_TEST

SUITE_MAIN("produced", everything_is_listed, leaks_are_found, too_much_is_a_finding,
           more_entries_than_are_searched_are_a_finding, depth_is_no_bound,
           names_are_cut_after_redaction)
