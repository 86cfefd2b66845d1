#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>

#include "config/document.h"

static ProblemList problems;

static void setup(void) {
    ck_assert_int_eq(problem_list_init(&problems, "f"), 0);
}

static void teardown(void) {
    problem_list_deinit(&problems);
}

static Node *parse(const char *text) {
    Node *root = NULL;
    const int r = document_parse(text, strlen(text), &problems, &root);
    if (!problem_list_empty(&problems)) problem_list_print(&problems, stderr);
    ck_assert_int_eq(r, 0);
    ck_assert_ptr_nonnull(root);
    return root;
}

/* Holds the only problem against what is expected. */
static void expect_problem(size_t line, size_t column, const char *key, const char *message) {
    ck_assert_uint_eq(problems.n_items, 1);
    ck_assert_str_eq(problems.items[0].message, message);
    ck_assert_str_eq(problems.items[0].key, key);
    ck_assert_uint_eq(problems.items[0].line, line);
    ck_assert_uint_eq(problems.items[0].column, column);
}

START_TEST(tree_holds_kinds_texts_and_places) {
    Node *root = parse("a: 1\nb:\n  - x\n  - 'y z'\nc: {d: \"\\u00e9\"}\ne:\n");
    ck_assert_int_eq(root->kind, NODE_MAPPING);
    ck_assert_uint_eq(root->n_items, 4);
    const Node *a = node_get(root, "a");
    ck_assert_int_eq(a->kind, NODE_SCALAR);
    ck_assert_str_eq(a->text, "1");
    ck_assert(!a->quoted);
    ck_assert_uint_eq(a->line, 1);
    ck_assert_uint_eq(a->column, 4);
    const Node *b = node_get(root, "b");
    ck_assert_int_eq(b->kind, NODE_SEQUENCE);
    ck_assert_uint_eq(b->n_items, 2);
    ck_assert_str_eq(b->items[1]->text, "y z");
    ck_assert(b->items[1]->quoted);
    ck_assert_uint_eq(b->items[1]->line, 4);
    ck_assert_uint_eq(b->items[1]->column, 5);
    ck_assert_str_eq(node_get(node_get(root, "c"), "d")->text, "\xc3\xa9");
    ck_assert(node_is_null(node_get(root, "e")));
    ck_assert_str_eq(root->keys[2]->text, "c");
    ck_assert_ptr_null(node_get(root, "f"));
    ck_assert_ptr_null(node_get(a, "f"));
    node_free(root);
}
END_TEST

static const char *const empty_texts[] = {"",    "\n\n", "# nothing\n", "---\n",
                                          "~\n", "null", "\xef\xbb\xbf"};

START_TEST(no_document_is_an_empty_mapping) {
    Node *root = parse(empty_texts[_i]);
    ck_assert_int_eq(root->kind, NODE_MAPPING);
    ck_assert_uint_eq(root->n_items, 0);
    node_free(root);
}
END_TEST

START_TEST(blocks_and_quotes_are_never_null) {
    Node *root = parse("a: ''\nb: \"null\"\nc: |\n  null\nd: null\ne: ~\nf: NULL\ng: nullx\n");
    ck_assert(!node_is_null(node_get(root, "a")));
    ck_assert(!node_is_null(node_get(root, "b")));
    ck_assert(!node_is_null(node_get(root, "c")));
    ck_assert(node_is_null(node_get(root, "d")));
    ck_assert(node_is_null(node_get(root, "e")));
    ck_assert(node_is_null(node_get(root, "f")));
    ck_assert(!node_is_null(node_get(root, "g")));
    ck_assert_str_eq(node_get(root, "c")->text, "null\n");
    node_free(root);
}
END_TEST

static const struct {
    const char *text;
    size_t line;
    size_t column;
    const char *key;
    const char *message;
} refused[] = {
    {"a: &x 1\n", 1, 4, "", "anchors are not accepted"},
    {"a: *x\n", 1, 4, "", "aliases are not accepted"},
    {"a: 1\nb: !!int 2\n", 2, 4, "", "tags are not accepted"},
    {"a: ! 2\n", 1, 4, "", "tags are not accepted"},
    {"a: !x {b: 1}\n", 1, 4, "", "tags are not accepted"},
    {"a: &x [b]\n", 1, 4, "", "anchors are not accepted"},
    {"&x a: 1\n", 1, 1, "", "anchors are not accepted"},
    {"a: 1\n---\nb: 2\n", 2, 1, "", "a second document starts here; only one is accepted"},
    {"a: 1\nb: 2\na: 3\n", 3, 1, "a", "is there twice; first on line 1"},
    {"x: {b: 2, 'b': 3}\n", 1, 11, "b", "is there twice; first on line 1"},
    {"? [a]\n: 1\n", 1, 3, "", "a key must be plain text"},
    {"{a: 1}: 2\n", 1, 1, "", "a key must be plain text"},
    {"a: \"x\\0y\"\n", 1, 4, "", "text must not hold a NUL"},
    {"\"x\\0y\": 1\n", 1, 1, "", "text must not hold a NUL"},
};

START_TEST(what_nobody_needs_is_refused) {
    Node *root = NULL;
    const char *text = refused[_i].text;
    ck_assert_int_eq(document_parse(text, strlen(text), &problems, &root), 1);
    ck_assert_ptr_null(root);
    expect_problem(refused[_i].line, refused[_i].column, refused[_i].key, refused[_i].message);
}
END_TEST

static const struct {
    const char *text;
    size_t n_bytes;
    size_t line;
    size_t column;
} malformed[] = {
    {"a: 1\nb: [1, 2\n", 14, 3, 1},
    {"a: 1\n\tb: 2\n", 11, 2, 1},
    {"a: 'x\n", 6, 2, 1},
    {"a: 1\nb: \xff\xfe\n", 11, 2, 4},
    {"a: 1\nb: x\0y\n", 12, 2, 5},
    {"a: b: c\n", 8, 1, 5},
    {"a: 1\n b: 2\n", 11, 2, 3},
    {"\xff\xfe"
     "a\0:\0",
     6, 1, 1},
    {"a: \"\\ud800\"\n", 12, 1, 7},
};

START_TEST(malformed_yaml_names_line_and_column) {
    Node *root = NULL;
    ck_assert_int_eq(document_parse(malformed[_i].text, malformed[_i].n_bytes, &problems, &root),
                     1);
    ck_assert_ptr_null(root);
    ck_assert_uint_eq(problems.n_items, 1);
    ck_assert_msg(strncmp(problems.items[0].message, "not valid YAML: ", 16) == 0, "%s",
                  problems.items[0].message);
    ck_assert_uint_eq(problems.items[0].line, malformed[_i].line);
    ck_assert_uint_eq(problems.items[0].column, malformed[_i].column);
}
END_TEST

START_TEST(several_problems_in_one_run) {
    Node *root = NULL;
    static const char text[] = "a: &x 1\na: *x\nb: !t 1\n";
    ck_assert_int_eq(document_parse(text, sizeof text - 1, &problems, &root), 1);
    ck_assert_uint_eq(problems.n_items, 4);
}
END_TEST

static int parse_nested(int depth) {
    char text[2 * 64 + 1] = "";
    for (int i = 0; i < depth; i++) text[i] = '[';
    for (int i = 0; i < depth; i++) text[depth + i] = ']';
    Node *root = NULL;
    const int r = document_parse(text, 2 * (size_t)depth, &problems, &root);
    node_free(root);
    return r;
}

START_TEST(nesting_has_a_bound) {
    ck_assert_int_eq(parse_nested(DOCUMENT_MAX_DEPTH), 0);
    ck_assert_int_eq(parse_nested(DOCUMENT_MAX_DEPTH + 1), 1);
    expect_problem(1, 33, "", "is nested more than 32 deep");
}
END_TEST

/* A list of n - 1 items is n values. */
static int parse_list(size_t n_items) {
    char *text = malloc(n_items * 2 + 2);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < n_items; i++) memcpy(text + 2 * i, i ? ",a" : "[a", 2);
    text[2 * n_items] = ']';
    Node *root = NULL;
    const int r = document_parse(text, n_items * 2 + 1, &problems, &root);
    if (r == 0) ck_assert_uint_eq(root->n_items, n_items);
    node_free(root);
    free(text);
    return r;
}

START_TEST(values_have_a_bound) {
    ck_assert_int_eq(parse_list(DOCUMENT_MAX_NODES - 1), 0);
    ck_assert_int_eq(parse_list(DOCUMENT_MAX_NODES), 1);
    ck_assert_uint_eq(problems.n_items, 1);
    ck_assert_str_eq(problems.items[0].message, "there are more than 200000 values");
}
END_TEST

START_TEST(text_is_read) {
    Node *root = parse("a: x y\nb: ''\nc: 5\nd:\ne: [x]\n");
    const char *text = "before";
    ck_assert(node_read_text(node_get(root, "a"), "a", &problems, &text));
    ck_assert_str_eq(text, "x y");
    ck_assert(node_read_text(node_get(root, "b"), "b", &problems, &text));
    ck_assert_str_eq(text, "");
    ck_assert(node_read_text(node_get(root, "c"), "c", &problems, &text));
    ck_assert_str_eq(text, "5");
    ck_assert(!node_read_text(node_get(root, "d"), "x.d", &problems, &text));
    expect_problem(4, 3, "x.d", "expected a text, found nothing");
    ck_assert(!node_read_text(node_get(root, "e"), "e", &problems, &text));
    ck_assert_str_eq(problems.items[1].message, "expected a text, found a list");
    ck_assert_str_eq(text, "5");
    node_free(root);
}
END_TEST

START_TEST(bool_is_read) {
    Node *root = parse("a: true\nb: false\nc: yes\nd: 'true'\n");
    bool value = false;
    ck_assert(node_read_bool(node_get(root, "a"), "a", &problems, &value));
    ck_assert(value);
    ck_assert(!node_read_bool(node_get(root, "c"), "c", &problems, &value));
    expect_problem(3, 4, "c", "expected true or false, found 'yes'");
    ck_assert(!node_read_bool(node_get(root, "d"), "d", &problems, &value));
    ck_assert_str_eq(problems.items[1].message,
                     "expected true or false, found the quoted text 'true'");
    ck_assert(value);
    ck_assert(node_read_bool(node_get(root, "b"), "b", &problems, &value));
    ck_assert(!value);
    node_free(root);
}
END_TEST

static const struct {
    const char *text;
    const char *message;
} bad_counts[] = {
    {"0", "expected 1 to 256, found '0'"},
    {"257", "expected 1 to 256, found '257'"},
    {"-1", "expected a whole number such as 8, found '-1'"},
    {"1.5", "expected a whole number such as 8, found '1.5'"},
    {"'8'", "expected a whole number such as 8, found the quoted text '8'"},
    {"~", "expected a whole number such as 8, found nothing"},
    {"{a: 1}", "expected a whole number such as 8, found a mapping"},
    {"99999999999999999999", "expected a whole number such as 8, found '99999999999999999999'"},
};

START_TEST(bad_counts_are_explained) {
    char text[64];
    snprintf(text, sizeof text, "n: %s", bad_counts[_i].text);
    Node *root = parse(text);
    uint64_t value = 77;
    ck_assert(!node_read_count(node_get(root, "n"), "x.n", &problems, 1, 256, &value));
    expect_problem(1, 4, "x.n", bad_counts[_i].message);
    ck_assert_uint_eq(value, 77);
    node_free(root);
}
END_TEST

START_TEST(bounds_of_a_count_are_good) {
    Node *root = parse("[1, 256]");
    uint64_t value;
    ck_assert(node_read_count(root->items[0], "n", &problems, 1, 256, &value));
    ck_assert_uint_eq(value, 1);
    ck_assert(node_read_count(root->items[1], "n", &problems, 1, 256, &value));
    ck_assert_uint_eq(value, 256);
    node_free(root);
}
END_TEST

START_TEST(bytes_are_read_and_explained) {
    Node *root = parse("[64MiB, lots, 1KiB, 2GiB, 1048576]");
    uint64_t bytes = 0;
    ck_assert(node_read_bytes(root->items[0], "m", &problems, 1 << 20, 1 << 30, &bytes));
    ck_assert_uint_eq(bytes, 64 << 20);
    ck_assert(!node_read_bytes(root->items[1], "m", &problems, 1 << 20, 1 << 30, &bytes));
    expect_problem(1, 9, "m", "expected a size such as 64MiB, found 'lots'");
    ck_assert(!node_read_bytes(root->items[2], "m", &problems, 1 << 20, 1 << 30, &bytes));
    ck_assert_str_eq(problems.items[1].message, "expected 1MiB to 1GiB, found '1KiB'");
    ck_assert(!node_read_bytes(root->items[3], "m", &problems, 1 << 20, 1 << 30, &bytes));
    ck_assert_uint_eq(bytes, 64 << 20);
    ck_assert(node_read_bytes(root->items[4], "m", &problems, 1 << 20, 1 << 30, &bytes));
    ck_assert_uint_eq(bytes, 1 << 20);
    node_free(root);
}
END_TEST

START_TEST(seconds_are_read_and_explained) {
    Node *root = parse("[0.5, 10, 10s, 0.001, 61]");
    uint64_t ms = 0;
    ck_assert(node_read_seconds(root->items[0], "t", &problems, 100, 60000, &ms));
    ck_assert_uint_eq(ms, 500);
    ck_assert(node_read_seconds(root->items[1], "t", &problems, 100, 60000, &ms));
    ck_assert_uint_eq(ms, 10000);
    ck_assert(!node_read_seconds(root->items[2], "t", &problems, 100, 60000, &ms));
    expect_problem(1, 11, "t", "expected seconds such as 10 or 0.5, found '10s'");
    ck_assert(!node_read_seconds(root->items[3], "t", &problems, 100, 60000, &ms));
    ck_assert_str_eq(problems.items[1].message, "expected 0.1 to 60, found '0.001'");
    ck_assert(!node_read_seconds(root->items[4], "t", &problems, 100, 60000, &ms));
    ck_assert_uint_eq(ms, 10000);
    node_free(root);
}
END_TEST

START_TEST(long_values_are_cut_in_messages) {
    Node *root = parse("a: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n");
    bool value;
    ck_assert(!node_read_bool(node_get(root, "a"), "a", &problems, &value));
    ck_assert_str_eq(problems.items[0].message,
                     "expected true or false, found "
                     "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'...");
    node_free(root);
}
END_TEST

/* A new directory; the test removes it. */
static void make_directory(char directory[64]) {
    snprintf(directory, 64, "/tmp/test-document-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

START_TEST(load_reads_a_file_and_follows_a_link) {
    char directory[64], file[96], link[96];
    make_directory(directory);
    snprintf(file, sizeof file, "%s/file", directory);
    snprintf(link, sizeof link, "%s/link", directory);
    FILE *stream = fopen(file, "we");
    ck_assert_ptr_nonnull(stream);
    fputs("a: b\n", stream);
    fclose(stream);
    ck_assert_int_eq(symlink(file, link), 0);
    Node *root = NULL;
    ck_assert_int_eq(document_load(link, 5, &problems, &root), 0);
    ck_assert_str_eq(node_get(root, "a")->text, "b");
    node_free(root);
    root = NULL;
    ck_assert_int_eq(document_load(file, 4, &problems, &root), 1);
    expect_problem(0, 0, "", "is larger than 4");
    ck_assert_ptr_null(root);
    unlink(link);
    unlink(file);
    rmdir(directory);
}
END_TEST

START_TEST(load_never_blocks_on_a_pipe) {
    char directory[64], pipe_path[96];
    make_directory(directory);
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", directory);
    ck_assert_int_eq(mkfifo(pipe_path, 0600), 0);
    Node *root = NULL;
    ck_assert_int_eq(document_load(pipe_path, 100, &problems, &root), 1);
    expect_problem(0, 0, "", "is not a regular file");
    unlink(pipe_path);
    rmdir(directory);
}
END_TEST

START_TEST(load_of_a_missing_file_is_a_problem) {
    Node *root = NULL;
    ck_assert_int_eq(document_load("/nonexistent/x.yaml", 100, &problems, &root), 1);
    expect_problem(0, 0, "", "cannot be opened: No such file or directory");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("document");
    TCase *tests = tcase_create("document");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, tree_holds_kinds_texts_and_places);
    tcase_add_loop_test(tests, no_document_is_an_empty_mapping, 0,
                        sizeof empty_texts / sizeof *empty_texts);
    tcase_add_test(tests, blocks_and_quotes_are_never_null);
    tcase_add_loop_test(tests, what_nobody_needs_is_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_loop_test(tests, malformed_yaml_names_line_and_column, 0,
                        sizeof malformed / sizeof *malformed);
    tcase_add_test(tests, several_problems_in_one_run);
    tcase_add_test(tests, nesting_has_a_bound);
    tcase_add_test(tests, values_have_a_bound);
    tcase_add_test(tests, text_is_read);
    tcase_add_test(tests, bool_is_read);
    tcase_add_loop_test(tests, bad_counts_are_explained, 0, sizeof bad_counts / sizeof *bad_counts);
    tcase_add_test(tests, bounds_of_a_count_are_good);
    tcase_add_test(tests, bytes_are_read_and_explained);
    tcase_add_test(tests, seconds_are_read_and_explained);
    tcase_add_test(tests, long_values_are_cut_in_messages);
    tcase_add_test(tests, load_reads_a_file_and_follows_a_link);
    tcase_add_test(tests, load_never_blocks_on_a_pipe);
    tcase_add_test(tests, load_of_a_missing_file_is_a_problem);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
