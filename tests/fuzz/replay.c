/* Replay: runs a fuzz target over every file of the directories it is given, so that each corpus is
 * part of the ordinary checks without libFuzzer. Never invents input; a directory that is missing
 * or empty is a failure. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_MAX_BYTES = 1 << 20 };

static int run_file(const char *path) {
    FILE *file = fopen(path, "re");
    uint8_t *data = file ? malloc(FILE_MAX_BYTES) : NULL;
    size_t size = data ? fread(data, 1, FILE_MAX_BYTES, file) : 0;
    const int good = data && !ferror(file) && feof(file);
    /* Exactly as large as the input, so that a read beyond its end is seen. */
    uint8_t *exact = good ? malloc(size ? size : 1) : NULL;
    if (exact) {
        memcpy(exact, data, size);
        LLVMFuzzerTestOneInput(exact, size);
    } else {
        fprintf(stderr, "%s: cannot be read, or is larger than %d bytes\n", path, FILE_MAX_BYTES);
    }
    free(exact);
    free(data);
    if (file) fclose(file);
    return exact ? 0 : -1;
}

/* Number of files run, or -1. */
static int run_directory(const char *path) {
    DIR *directory = opendir(path);
    if (!directory) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    int n_files = 0;
    for (const struct dirent *entry; n_files >= 0 && (entry = readdir(directory));) {
        char file[4096];
        if (entry->d_name[0] == '.') continue;
        const int n = snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        n_files = n < (int)sizeof file && run_file(file) == 0 ? n_files + 1 : -1;
    }
    closedir(directory);
    if (n_files == 0) fprintf(stderr, "%s: holds no input\n", path);
    return n_files > 0 ? n_files : -1;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s DIRECTORY...\n", argv[0]);
        return EXIT_FAILURE;
    }
    for (int i = 1; i < argc; i++) {
        const int n_files = run_directory(argv[i]);
        if (n_files < 0) return EXIT_FAILURE;
        printf("%s: %d inputs\n", argv[i], n_files);
    }
    return EXIT_SUCCESS;
}
