/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* A bounded list of NAME, VALUE pairs for reporter_note(); what finds no room is left out. */

#include "generation.h"
#include "strbuf.h"

#define MAX_NOTE_FIELDS 96

struct note_fields {
        const char *v[2 * MAX_NOTE_FIELDS + 1]; /* NULL behind the last */
        size_t n;
        char *own[MAX_NOTE_FIELDS];
        size_t n_own;
};
#define NOTE_FIELDS_NULL ((struct note_fields){})
void note_fields_done(struct note_fields *f);
#define _cleanup_note_fields_ _cleanup_(note_fields_done)

/* Borrowed; a NULL value is no field. */
void note_field(struct note_fields *f, const char *name, const char *value);
/* Takes text over. */
void note_fields_own(struct note_fields *f, const char *name, char *text);
_printf_(3, 4) void note_fieldf(struct note_fields *f, const char *name, const char *format, ...);
/* FAWATCH_MOUNTPOINT for each filesystem that is watched at least in part, and whose events come through
 * this group (NULL: through any): borrowed from g, the first 32 of them; and all as one text for people. */
void note_fields_watched(struct note_fields *f, const struct generation *g, const struct group_key *group,
                         struct strbuf *text);
