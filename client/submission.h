/* Submission: puts together what one job is made of. All memory is the arena's, so that several
 * submissions may share parts. Holds the rules that a person's words can break, and that the daemon
 * would refuse; the daemon has the last word. */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "tbsandbox.pb-c.h"
#include "trouble.h"

/* The profile and the input's name when nobody says. */
#define SUBMISSION_PROFILE "pandas"
#define SUBMISSION_INPUT_NAME "your_data.csv"

enum { SUBMISSION_MAX_REPEATS = 16, SUBMISSION_MAX_WALL_MS = 86400000 };

/* Texts are copied, contents are not. 0 or -ENOMEM each. */
int submission_add_input(Tb__Submit *submit, Arena *arena, const char *name,
                         ProtobufCBinaryData content);
int submission_add_protected(Tb__Submit *submit, Arena *arena, const char *column);
int submission_add_canary(Tb__Submit *submit, Arena *arena, const char *id, const char *value);
int submission_add_label(Tb__Submit *submit, Arena *arena, const char *key, const char *value);
int submission_set_wall_ms(Tb__Submit *submit, Arena *arena, uint64_t wall_ms);
/* The last part of `path`, when the daemon can take it as a file name, otherwise `fallback`. */
int submission_set_file_name(Tb__Submit *submit, Arena *arena, const char *path,
                             const char *fallback);
/* A new random key: the same job sent twice by it runs once. */
int submission_set_key(Tb__Submit *submit, Arena *arena);

/* 0, or TROUBLE_E_TOLD when a name, an id or a key cannot be. */
int submission_check(const Tb__Submit *submit, Trouble *trouble);
