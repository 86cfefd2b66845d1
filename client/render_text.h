/* Render text: what people and line-based scripts read. The first line about a job begins at the
 * left margin and is ours alone: whatever generated code or a daemon chose is indented behind it
 * and made printable. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "tbsandbox.pb-c.h"

typedef struct RenderStyle {
    bool color;
    bool show_output; /* outputs whole, and of passed jobs too */
} RenderStyle;

/* Colour on a terminal only, and not with NO_COLOR. */
RenderStyle render_style_for(FILE *stream, bool show_output);

/* `name: PASSED` and the like, then the details. */
void render_verdict(FILE *stream, RenderStyle style, const char *name, const Tb__Verdict *verdict);
/* The indented lines alone, failures included. */
void render_verdict_details(FILE *stream, RenderStyle style, const Tb__Verdict *verdict);
/* `word` in the colour of the kind. */
void render_colored(FILE *stream, RenderStyle style, Tb__VerdictKind kind, const char *word);

/* Indented lines `name: text` and `name: item item`; none for what is empty. */
void render_field(FILE *stream, const char *name, const char *text);
void render_list(FILE *stream, const char *name, char *const *items, size_t n_items);

/* One job in full. */
void render_job(FILE *stream, RenderStyle style, const Tb__Job *job);
/* A table with a head, one line for each job; nothing when there is none. */
void render_jobs(FILE *stream, RenderStyle style, const Tb__JobList *jobs);
void render_status(FILE *stream, RenderStyle style, const Tb__Status *status);
void render_doctor(FILE *stream, RenderStyle style, const Tb__DoctorReport *report);
