/* Local file: reads a whole file that the user named. Bounded; never writes one. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "trouble.h"

typedef enum LocalFileKind {
    LOCAL_FILE_ANY,     /* pipes too, which may wait for their writer; "-" is standard input */
    LOCAL_FILE_REGULAR, /* nothing else */
} LocalFileKind;

/* The content belongs to the arena. 0, TROUBLE_E_TOLD (names the file), or -ENOMEM. */
int local_file_read(const char *path, LocalFileKind kind, Arena *arena, Trouble *trouble,
                    ProtobufCBinaryData *ret_content);
