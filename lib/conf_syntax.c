/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>
#include <stdio.h>

#include "conf_lex.h"
#include "conf_syntax.h"

/* rules_scan() lets no text pass that is nested as deep. */
#define DEPTH_MAX 20

struct name {
        const char *start;
        size_t len;
        unsigned line;
};

struct syntax {
        struct lexer lexer;
        struct token token;  /* the one looked at */
        struct token before; /* the one before it */
        struct name *names;  /* of the settings of all open groups, outermost first */
        size_t n_names, cap_names;
        struct strbuf *out;
        unsigned line; /* of the mistake; 0 while none was found */
};

static void advance(struct syntax *s)
{
        s->before = s->token;
        s->token = lexer_next(&s->lexer);
}

/* Notes the first mistake; what follows from it is not looked at. */
static _printf_(3, 4) bool blame_at(struct syntax *s, unsigned line, const char *format, ...)
{
        _cleanup_free_ char *text = NULL;
        va_list args;

        if (s->line > 0)
                return false;
        va_start(args, format);
        if (vasprintf(&text, format, args) < 0)
                text = NULL;
        va_end(args);
        strbuf_adds(s->out, text ? text : "syntax error");
        s->line = line;
        return false;
}

static int shown(size_t len)
{
        return (int)MIN_OF(len, (size_t)60);
}

/* The unquoted word that begins at a token: to the next blank, separator or bracket. */
static int word_length(const struct syntax *s, const struct token *t)
{
        size_t len = 0, max = (size_t)(s->lexer.end - t->start);

        while (len < max && !memchr(" \t\r\n\f;:,=\"{}[]()", t->start[len], 16))
                len++;
        return shown(len);
}

static bool is_word(const struct token *t, const char *word)
{
        return t->len == strlen(word) && memcmp(t->start, word, t->len) == 0;
}

/* A byte that begins nothing, or a word where a value is expected. */
static bool blame_unquoted(struct syntax *s)
{
        const struct token *t = &s->token;
        static const struct {
                const char *bytes, *what;
        } lookalikes[] = {
                { "\xe2\x80\x9c", "a typographic quote: strings take the plain \"" },
                { "\xe2\x80\x9d", "a typographic quote: strings take the plain \"" },
                { "\xe2\x80\x9e", "a typographic quote: strings take the plain \"" },
                { "\xc2\xab", "a typographic quote: strings take the plain \"" },
                { "\xc2\xbb", "a typographic quote: strings take the plain \"" },
                { "\xc2\xa0", "a no-break space outside a string: replace it by a plain one" },
        };

        for (size_t i = 0; i < ELEMENTSOF(lookalikes); i++) {
                size_t len = strlen(lookalikes[i].bytes);

                if ((size_t)(s->lexer.end - t->start) >= len &&
                    memcmp(t->start, lookalikes[i].bytes, len) == 0)
                        return blame_at(s, t->line, "%s", lookalikes[i].what);
        }
        if (*t->start == '\'')
                return blame_at(s, t->line, "strings are written in double quotes: \"...\", not '...'");
        if (*t->start == '@')
                return blame_at(s, t->line, "there are no @ directives in rule files");
        if (is_word(t, "yes") || is_word(t, "on"))
                return blame_at(s, t->line, "%.*s is no value: write true", shown(t->len), t->start);
        if (is_word(t, "no") || is_word(t, "off"))
                return blame_at(s, t->line,
                                "%.*s is no value: write false, or \"%.*s\" where a word is meant",
                                shown(t->len), t->start, shown(t->len), t->start);
        return blame_at(s, t->line, "an unquoted word: write \"%.*s\"", word_length(s, t), t->start);
}

static bool parse_value(struct syntax *s, unsigned depth);

/* The members of [ ] or ( ); the opening bracket is the token before. */
static bool parse_list(struct syntax *s, char close, unsigned depth)
{
        unsigned opened = s->before.line;
        char open = *s->before.start;
        enum token_kind kind = s->token.kind;

        if (token_is(&s->token, close)) {
                advance(s);
                return true;
        }
        for (;;) {
                if (s->token.kind == TOKEN_END)
                        return blame_at(s, opened,
                                        "the %c that opens in this line is never closed: %c is missing", open,
                                        close);
                if (token_is(&s->token, ';') || token_is(&s->token, '}') || token_is(&s->token, '='))
                        return blame_at(s, s->token.line,
                                        "the %c of line %u is not closed before this: %c is missing", open,
                                        opened, close);
                if (token_is(&s->token, ','))
                        return blame_at(s, s->token.line, "a comma without a value before it");
                if (close == ']' &&
                    (token_is(&s->token, '{') || token_is(&s->token, '[') || token_is(&s->token, '(')))
                        return blame_at(s, s->token.line,
                                        "[ ] holds plain values only, no groups and no lists");
                if (close == ']' && token_is_scalar(&s->token) && s->token.kind != kind)
                        return blame_at(s, s->token.line,
                                        "the values of one [ ] are all of one kind: write numbers as "
                                        "strings too");
                if (!parse_value(s, depth + 1))
                        return false;
                if (token_is(&s->token, close)) {
                        advance(s);
                        return true;
                }
                if (token_is_scalar(&s->token) || s->token.kind == TOKEN_NAME ||
                    s->token.kind == TOKEN_GARBAGE)
                        return blame_at(s, s->token.line,
                                        "a comma is missing between two values, or the %c of line "
                                        "%u is not closed",
                                        open, opened);
                if (token_is(&s->token, ','))
                        advance(s);
        }
}

static bool parse_settings(struct syntax *s, unsigned depth);

/* What stands behind '=' or ':'. */
static bool parse_value(struct syntax *s, unsigned depth)
{
        struct token value = s->token;

        if (depth > DEPTH_MAX)
                return blame_at(s, value.line, "brackets nested deeper than any rule needs");
        if (value.kind == TOKEN_NAME || value.kind == TOKEN_GARBAGE)
                return blame_unquoted(s);
        if (token_is_scalar(&value)) {
                advance(s);
                while (value.kind == TOKEN_STRING && s->token.kind == TOKEN_STRING)
                        advance(s);
                /* "10s" and "64M" are a number and a name to the scanner */
                if (value.kind == TOKEN_INTEGER && s->token.kind == TOKEN_NAME &&
                    s->token.start == value.start + value.len)
                        return blame_at(s, value.line, "an unquoted word: write \"%.*s\"",
                                        word_length(s, &value), value.start);
                return true;
        }
        if (token_is(&value, '{')) {
                unsigned opened = value.line;

                advance(s);
                if (!parse_settings(s, depth + 1))
                        return false;
                if (!token_is(&s->token, '}'))
                        return blame_at(s, opened,
                                        "the { that opens in this line is never closed: } is missing");
                advance(s);
                return true;
        }
        if (token_is(&value, '[') || token_is(&value, '(')) {
                advance(s);
                return parse_list(s, *value.start == '[' ? ']' : ')', depth);
        }
        return blame_at(s, s->before.line, "a value is missing behind the %.*s", shown(s->before.len),
                        s->before.start);
}

/* Also the first duplicate: libconfig does not say which name it is. */
static bool note_name(struct syntax *s, size_t first, const struct token *t)
{
        for (size_t i = first; i < s->n_names; i++)
                if (s->names[i].len == t->len && memcmp(s->names[i].start, t->start, t->len) == 0)
                        return blame_at(s, t->line,
                                        "\"%.*s\" is given twice: line %u has it already (one file takes "
                                        "each name once in a group)",
                                        shown(t->len), t->start, s->names[i].line);
        if (s->n_names == s->cap_names) {
                size_t cap = s->cap_names ? s->cap_names * 2 : 64;
                struct name *names = realloc(s->names, cap * sizeof(*names));

                if (!names)
                        return false;
                s->names = names;
                s->cap_names = cap;
        }
        s->names[s->n_names++] = (struct name){ .start = t->start, .len = t->len, .line = t->line };
        return true;
}

/* What is no name where a setting should begin. */
static bool blame_setting(struct syntax *s, unsigned depth)
{
        const struct token *t = &s->token;

        if (t->kind == TOKEN_STRING && token_is(&s->before, ','))
                return blame_at(s, t->line, "several values go into brackets: [ \"...\", \"...\" ]");
        if (t->kind == TOKEN_STRING)
                return blame_at(s, t->line, "a name is expected here; names are written without quotes");
        if (t->kind == TOKEN_BOOLEAN)
                return blame_at(s, t->line, "true and false cannot be names");
        if (t->kind == TOKEN_INTEGER || t->kind == TOKEN_FLOAT)
                return blame_at(s, t->line, "a name begins with a letter, not with %c", *t->start);
        if (token_is(t, ';') || token_is(t, ','))
                return blame_at(s, t->line, "a %c too many", *t->start);
        if (token_is(t, '=') || token_is(t, ':'))
                return blame_at(s, t->line, "a name is missing before the %c", *t->start);
        if (token_is(t, '{') || token_is(t, '[') || token_is(t, '('))
                return blame_at(s, t->line, "a name and = or : are missing before the %c", *t->start);
        if (token_is(t, '}') || token_is(t, ']') || token_is(t, ')'))
                return blame_at(s, t->line,
                                depth > 0 ? "this %c closes nothing here: a bracket before it is missing "
                                            "or not closed"
                                          : "a %c too many: nothing is open here",
                                *t->start);
        return blame_unquoted(s);
}

/* Settings up to the closing brace or the end of the text. */
static bool parse_settings(struct syntax *s, unsigned depth)
{
        size_t first = s->n_names;

        for (;;) {
                struct token name = s->token;

                if (name.kind == TOKEN_END || (depth > 0 && token_is(&name, '}')))
                        break;
                if (name.kind != TOKEN_NAME)
                        return blame_setting(s, depth);
                if (!note_name(s, first, &name))
                        return false;
                advance(s);
                if (token_is(&s->token, '{'))
                        return blame_at(s, name.line, "a : is missing behind \"%.*s\": write %.*s: {",
                                        shown(name.len), name.start, shown(name.len), name.start);
                if ((s->token.kind == TOKEN_GARBAGE || s->token.kind == TOKEN_FLOAT) &&
                    s->token.start == name.start + name.len)
                        return blame_at(s, name.line, "\"%.*s\": a name takes letters, digits, - and _",
                                        word_length(s, &name), name.start);
                if (!token_is(&s->token, '=') && !token_is(&s->token, ':'))
                        return blame_at(s, name.line, "an = is missing behind \"%.*s\"",
                                        word_length(s, &name), name.start);
                advance(s);
                if (!parse_value(s, depth))
                        return false;
                if (token_is(&s->token, ';') || token_is(&s->token, ','))
                        advance(s);
        }
        s->n_names = first;
        return true;
}

/* The line itself, without the blanks around it. */
static void add_line(const char *text, size_t len, unsigned line, struct strbuf *out)
{
        const char *at = text, *end = text + len, *stop;

        for (; line > 1; line--) {
                const char *newline = memchr(at, '\n', (size_t)(end - at));

                if (!newline)
                        return;
                at = newline + 1;
        }
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
                stop = end;
        while (at < stop && memchr(" \t\r", *at, 3))
                at++;
        while (stop > at && memchr(" \t\r", stop[-1], 3))
                stop--;
        if (at == stop)
                return;
        strbuf_adds(out, ", in: ");
        strbuf_add(out, at, MIN_OF((size_t)(stop - at), (size_t)80));
        if (stop - at > 80)
                strbuf_adds(out, "...");
}

unsigned conf_syntax_check(const char *text, size_t len, struct strbuf *out)
{
        struct syntax s = { .lexer = lexer_init(text, len), .out = out };
        bool good;

        advance(&s);
        good = parse_settings(&s, 0);
        free(s.names);
        if (good)
                return 0;
        if (s.line == 0) { /* memory was short */
                out->failed = true;
                return 1;
        }
        add_line(text, len, s.line, out);
        return s.line;
}
