/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The words of libconfig's syntax, as its own scanner sees them, with one
 * exception: a string ends on the line it began on.  Used where libconfig says
 * too little: before it parses, and to explain what it refused.
 */

#include "base.h"

struct token {
        enum token_kind {
                TOKEN_END,
                TOKEN_NAME,
                TOKEN_STRING, /* with its quotes */
                TOKEN_INTEGER,
                TOKEN_FLOAT,
                TOKEN_BOOLEAN,
                TOKEN_PUNCTUATION,  /* one of = : ; , { } [ ] ( ) */
                TOKEN_GARBAGE,      /* one byte that begins nothing */
                TOKEN_OPEN_STRING,  /* to the end of its line */
                TOKEN_OPEN_COMMENT, /* to the end of the text */
        } kind;
        const char *start;
        size_t len;
        unsigned line;
};

struct lexer {
        const char *at, *end;
        unsigned line;
};

static inline struct lexer lexer_init(const char *text, size_t len)
{
        return (struct lexer){ .at = text, .end = text + len, .line = 1 };
}

struct token lexer_next(struct lexer *l);

static inline bool token_is(const struct token *t, char punctuation)
{
        return t->kind == TOKEN_PUNCTUATION && *t->start == punctuation;
}
/* A value that is neither a group nor a list. */
static inline bool token_is_scalar(const struct token *t)
{
        return t->kind == TOKEN_STRING || t->kind == TOKEN_INTEGER || t->kind == TOKEN_FLOAT ||
               t->kind == TOKEN_BOOLEAN;
}
