/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The pattern dialect as text: what is wrong with a pattern, and the regular
 * expression that means the same.  pattern.c alone calls this.
 *
 * The expressions cannot run away.  Between two stars of a name the earliest
 * place of the text between them is as good as any later one, so everything
 * but the last star sits in an atomic group; the same holds for whole
 * components between two "**".
 */

#include "strbuf.h"

struct pattern_dialect {
        bool escapes;       /* a backslash takes the next byte literally */
        bool crosses_slash; /* '*', '?' and sets match a '/': text that is no path */
};

/* The next element of a pattern. */
struct pattern_atom {
        enum { ATOM_BYTE, ATOM_ANY, ATOM_STAR, ATOM_SET, ATOM_BAD } kind;
        char byte;         /* of ATOM_BYTE */
        const char *start; /* of ATOM_SET: its text with the brackets */
        const char *end;   /* behind the atom */
        const char *error; /* of ATOM_BAD: one sentence with the cure */
};
/* Reads the atom at `at`, which is not at the end. */
struct pattern_atom pattern_atom_at(const char *at, const char *end, const struct pattern_dialect *dialect);

/* Appends the expression for one name, or for a text that is no path. */
void pattern_translate_name(const char *at, const char *end, const struct pattern_dialect *dialect,
                            struct strbuf *out);
/* Appends the expression for a path of one or more names.  At most one "**"
 * may stand inside a name. */
void pattern_translate_path(const char *at, const char *end, struct strbuf *out);

/* Is this name made of two stars or more and nothing else? */
bool pattern_is_globstar(const char *at, const char *end) _pure_;
/* How often does "**" stand inside a longer name?  The first is at *ret_at, or
 * NULL; *ret_end is behind its stars. */
size_t pattern_inner_globstars(const char *at, const char *end, const char **ret_at, const char **ret_end);
