/* Canaries: reads ID=VALUE, from a word or from the lines of a file, into a submission. */
#pragma once

#include "base/arena.h"
#include "config/problem.h"
#include "tbsandbox.pb-c.h"
#include "trouble.h"

/* 0, TROUBLE_E_TOLD (the value is not repeated in it), or -ENOMEM. */
int canaries_add_word(const char *word, Arena *arena, Tb__Submit *submit, Trouble *trouble);
/* Lines `ID=VALUE`; empty ones and those that begin with # are passed over. Every bad line is a
 * problem. 0 or -ENOMEM. */
int canaries_add_lines(ProtobufCBinaryData text, Arena *arena, Tb__Submit *submit,
                       ProblemList *problems);
