#include "warden/checks/inputs.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

enum { BUFFER_BYTES = 1 << 16 };

/* What stands where a file should. NULL for a regular file. */
static const char *describe_kind(WorkdirKind kind) {
    switch (kind) {
    case WORKDIR_MISSING:
        return "was removed";
    case WORKDIR_REGULAR:
        return NULL;
    case WORKDIR_DIRECTORY:
        return "was replaced by a directory";
    case WORKDIR_SYMLINK:
        return "was replaced by a symbolic link";
    case WORKDIR_FIFO:
        return "was replaced by a FIFO";
    case WORKDIR_SOCKET:
        return "was replaced by a socket";
    case WORKDIR_DEVICE:
        return "was replaced by a device";
    }
    return "was replaced";
}

static int append(const OrderInput *input, const char *what, FailureList *findings) {
    CLEANUP(freep) char *message = NULL;
    int r = text_format(&message, "input %s %s", input->name, what);
    if (r < 0) return error_fold(r);
    const Failure failure = {
        .code = CODE_INPUT_MODIFIED, .subject = input->name, .message = message};
    r = failure_list_append(findings, &failure);
    return r < 0 ? error_fold(r) : 0;
}

/* The first byte that differs, or the length when none does. */
static int compare(const WorkdirFile *file, const Bytes *content, size_t *ret_same_bytes) {
    uint8_t buffer[BUFFER_BYTES];
    size_t offset = 0;
    for (;;) {
        size_t n;
        const int r = workdir_read(file, buffer, sizeof buffer, &n);
        if (r < 0) return error_fold(r);
        if (n == 0) break;
        for (size_t i = 0; i < n; i++, offset++)
            if (offset == content->n_bytes || buffer[i] != content->data[offset]) {
                *ret_same_bytes = offset;
                return 0;
            }
    }
    *ret_same_bytes = offset;
    return 0;
}

static int describe_content(const WorkdirFile *file, const Bytes *content, char *what,
                            size_t what_bytes) {
    size_t same_bytes = 0;
    if (file->size_bytes != content->n_bytes) {
        snprintf(what, what_bytes, "has %" PRIu64 " bytes now, %zu before", file->size_bytes,
                 content->n_bytes);
        return 0;
    }
    const int r = compare(file, content, &same_bytes);
    if (r < 0) return error_fold(r);
    if (same_bytes != content->n_bytes)
        snprintf(what, what_bytes, "was changed at byte %zu", same_bytes);
    return 0;
}

static int check_one(const OrderInput *input, const Workdir *workdir, bool *ret_unchanged,
                     FailureList *findings) {
    CLEANUP(workdir_file_deinit) WorkdirFile file = {.fd = -1};
    char what[96] = "";
    int r = workdir_open(workdir, input->name, &file);
    if (r < 0) return error_fold(r);
    const char *replaced = describe_kind(file.kind);
    if (replaced)
        snprintf(what, sizeof what, "%s", replaced);
    else if (file.fd < 0)
        snprintf(what, sizeof what, "cannot be read any more");
    else if (file.n_links != 1)
        snprintf(what, sizeof what, "has %lu names now", file.n_links);
    else
        r = describe_content(&file, &input->content, what, sizeof what);
    *ret_unchanged = what[0] == '\0';
    if (r == 0 && what[0]) r = append(input, what, findings);
    return r < 0 ? error_fold(r) : 0;
}

int inputs_check(const Order *order, const Workdir *workdir, bool *unchanged,
                 FailureList *findings) {
    for (size_t i = 0; i < order->n_inputs; i++) {
        const int r = check_one(&order->inputs[i], workdir, &unchanged[i], findings);
        if (r < 0) return error_fold(r);
    }
    return 0;
}
