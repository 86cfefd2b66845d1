#include "broker/marker.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "suite.h"

static char directory[] = "/tmp/test-marker-XXXXXX";

static void make_directory(void) {
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void remove_directory(void) {
    char path[64];
    snprintf(path, sizeof path, "%s/redaction.key", directory);
    unlink(path);
    rmdir(directory);
}

START_TEST(is_the_hmac_of_rfc_4231) {
    /* RFC 4231, test case 1; its 20-byte key is zero-padded by HMAC to any longer key of zeros. */
    MarkerKey key = {{0}};
    memset(key.bytes, 0x0b, 20);
    char marker[MARKER_BYTES];
    marker_make(&key, "Hi There", 8, marker);
    ck_assert_str_eq(marker, "[REDACTED:b0344c61d8db3853]");
}
END_TEST

START_TEST(the_key_stays_the_same) {
    make_directory();
    MarkerKey first, second;
    ck_assert_int_eq(marker_key_load(directory, &first), 0);
    ck_assert_int_eq(marker_key_load(directory, &second), 0);
    ck_assert_mem_eq(first.bytes, second.bytes, sizeof first.bytes);
    struct stat st;
    char path[64];
    snprintf(path, sizeof path, "%s/redaction.key", directory);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    remove_directory();
}
END_TEST

START_TEST(a_key_of_the_wrong_size_is_an_error) {
    make_directory();
    char path[64];
    snprintf(path, sizeof path, "%s/redaction.key", directory);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    MarkerKey key;
    ck_assert_int_lt(marker_key_load(directory, &key), 0);
    remove_directory();
}
END_TEST

SUITE_MAIN("marker", is_the_hmac_of_rfc_4231, the_key_stays_the_same,
           a_key_of_the_wrong_size_is_an_error)
