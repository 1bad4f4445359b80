/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <strings.h>

#include "conf_lex.h"

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static bool is_hex_digit(char c)
{
        return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool begins_name(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '*';
}

static bool continues_name(char c)
{
        return begins_name(c) || is_digit(c) || c == '-' || c == '_';
}

static const char *skip_digits(const char *at, const char *end)
{
        while (at < end && is_digit(*at))
                at++;
        return at;
}

/* Moves over blanks and comments.  Returns the start of a comment that does
 * not end, else NULL. */
static const char *skip_blank(struct lexer *l, unsigned *ret_line)
{
        while (l->at < l->end) {
                const char *at = l->at;
                bool two = l->end - at >= 2;

                if (*at == '#' || (two && at[0] == '/' && at[1] == '/')) {
                        const char *newline = memchr(at, '\n', (size_t)(l->end - at));

                        l->at = newline ? newline : l->end;
                } else if (two && at[0] == '/' && at[1] == '*') {
                        const char *close = memmem(at + 2, (size_t)(l->end - at - 2), "*/", 2);

                        if (!close) {
                                *ret_line = l->line;
                                return at;
                        }
                        for (; l->at < close + 2; l->at++)
                                l->line += *l->at == '\n';
                } else if (memchr(" \t\r\f\n", *at, 5)) {
                        l->line += *at == '\n';
                        l->at++;
                } else
                        return NULL;
        }
        return NULL;
}

static struct token lex_string(struct lexer *l)
{
        const char *at = l->at + 1;

        for (; at < l->end && *at != '"' && *at != '\n'; at++)
                if (*at == '\\' && l->end - at >= 2 && (at[1] == '"' || at[1] == '\\'))
                        at++;
        if (at >= l->end || *at == '\n')
                return (struct token){ .kind = TOKEN_OPEN_STRING,
                                       .len = (size_t)(MIN_OF(at, l->end) - l->at) };
        return (struct token){ .kind = TOKEN_STRING, .len = (size_t)(at + 1 - l->at) };
}

/* len 0 when no number begins here. */
static struct token lex_number(const struct lexer *l)
{
        const char *at = l->at, *digits, *end = l->end;
        struct token t = { .kind = TOKEN_INTEGER };

        if (end - at >= 3 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && is_hex_digit(at[2])) {
                for (at += 2; at < end && is_hex_digit(*at);)
                        at++;
                goto suffix;
        }
        if (at < end && (*at == '-' || *at == '+'))
                at++;
        digits = at;
        at = skip_digits(at, end);
        if (at < end && *at == '.') {
                t.kind = TOKEN_FLOAT;
                at = skip_digits(at + 1, end);
        } else if (at == digits)
                return t;
        if (at < end && (*at == 'e' || *at == 'E')) {
                const char *exponent = at + 1;

                if (exponent < end && (*exponent == '-' || *exponent == '+'))
                        exponent++;
                if (exponent < end && is_digit(*exponent)) {
                        t.kind = TOKEN_FLOAT;
                        at = skip_digits(exponent, end);
                }
        }
suffix:
        for (int i = 0; i < 2 && t.kind == TOKEN_INTEGER && at < end && *at == 'L'; i++)
                at++;
        t.len = (size_t)(at - l->at);
        return t;
}

static struct token lex_name(const struct lexer *l)
{
        const char *at = l->at;
        struct token t = { .kind = TOKEN_NAME };

        while (at < l->end && continues_name(*at))
                at++;
        t.len = (size_t)(at - l->at);
        if ((t.len == 4 && strncasecmp(l->at, "true", 4) == 0) ||
            (t.len == 5 && strncasecmp(l->at, "false", 5) == 0))
                t.kind = TOKEN_BOOLEAN;
        return t;
}

struct token lexer_next(struct lexer *l)
{
        struct token t = { .kind = TOKEN_END };
        unsigned line;
        const char *open = skip_blank(l, &line);

        if (open) {
                t = (struct token){ .kind = TOKEN_OPEN_COMMENT,
                                    .start = open,
                                    .len = (size_t)(l->end - open),
                                    .line = line };
                l->at = l->end;
                return t;
        }
        if (l->at < l->end) {
                char c = *l->at;

                if (c == '"')
                        t = lex_string(l);
                else if (begins_name(c))
                        t = lex_name(l);
                else if (memchr("=:;,{}[]()", c, 10))
                        t = (struct token){ .kind = TOKEN_PUNCTUATION, .len = 1 };
                else {
                        t = lex_number(l);
                        if (t.len == 0)
                                t = (struct token){ .kind = TOKEN_GARBAGE, .len = 1 };
                }
        }
        t.start = l->at;
        t.line = l->line;
        l->at += t.len;
        return t;
}
