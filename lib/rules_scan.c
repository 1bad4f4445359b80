/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "conf_lex.h"
#include "escape.h"
#include "rules_scan.h"

/* Deeper than any rule: libconfig's own limit answers "memory exhausted". */
#define DEPTH_MAX 16

/* After so many bytes that are no text, the rest of the file is not looked at. */
#define BYTE_ERRORS_MAX 10u

struct scan {
        const struct conf_text *file;
        struct diag *diag;
        char *text; /* the copy, len bytes and a NUL */
        size_t len;
        size_t n_settings[DEPTH_MAX + 1]; /* of the open group at each depth */
        size_t n_rules;
        unsigned depth;
        unsigned too_many_line; /* first group with too many settings, 0 = none */
        bool fatal;
};

static void error_at(struct scan *s, unsigned line, const char *text)
{
        diag_add(s->diag, DIAG_ERROR, s->file->name, line, "%s", text);
}

static bool is_control(unsigned char c)
{
        return (c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f') || c == 0x7f;
}

/* Replaces every byte that cannot be part of a rule text. */
static void scan_bytes(struct scan *s)
{
        unsigned line = 1;
        size_t n_errors = 0;

        for (size_t i = 0; i < s->len;) {
                unsigned char c = (unsigned char)s->text[i];
                size_t len = c < 0x80 ? 1 : utf8_sequence(s->text + i, s->len - i);

                if (c == '\n')
                        line++;
                if (len > 0 && !is_control(c)) {
                        i += len;
                        continue;
                }
                if (n_errors++ == BYTE_ERRORS_MAX) {
                        error_at(s, line, "more bytes that are no text: is this a rule file?");
                        s->fatal = true;
                        return;
                }
                diag_add(s->diag, DIAG_ERROR, s->file->name, line,
                         len == 0 ? "a byte that is not UTF-8 (0x%02x): in a string it is written \\x%02x"
                                  : "a control character (0x%02x): in a string it is written \\x%02x",
                         c, c);
                s->text[i++] = '_';
        }
}

static int hex_value(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        if (c >= 'A' && c <= 'F')
                return c - 'A' + 10;
        return -1;
}

/* The escapes in a string: at points behind the backslash, end at the closing quote. */
static void scan_escape(struct scan *s, char *at, const char *end, unsigned line)
{
        switch (*at) {
        case 'x':
        case 'X':
                if (end - at < 3 || hex_value(at[1]) < 0 || hex_value(at[2]) < 0)
                        error_at(s, line, "\\x needs two hexadecimal digits, as in \\xe9");
                else if (at[1] == '0' && at[2] == '0') {
                        error_at(s, line,
                                 "\\x00 would end the string here: no path or name holds a zero byte");
                        at[2] = '1';
                }
                break;
        case 'a':
        case 'b':
        case 'v':
                diag_add(s->diag, DIAG_ERROR, s->file->name, line,
                         "\\%c means different things to different versions of libconfig: write \\\\%c for a "
                         "backslash and a letter, \\x%02x for the control character",
                         *at, *at,
                         *at == 'a'   ? 7
                         : *at == 'b' ? 8
                                      : 11);
                break;
        default:
                break;
        }
}

static void scan_string(struct scan *s, const struct token *t)
{
        char *at = s->text + (t->start - s->text) + 1;
        const char *end = t->start + t->len - 1;

        for (; at < end; at++)
                if (*at == '\\') {
                        at++;
                        scan_escape(s, at, end, t->line);
                }
}

/* libconfig joins the two: "/etc" "/usr" would become "/etc/usr". */
static void scan_adjacent(struct scan *s, const struct token *before, const struct token *t)
{
        char *gap = s->text + (before->start - s->text) + before->len;

        error_at(s, t->line, "two strings side by side: a comma is missing between them");
        if (*gap == ' ' || *gap == '\t')
                *gap = ',';
}

static void scan_integer(struct scan *s, const struct token *t)
{
        bool negative = *t->start == '-', is_long = t->start[t->len - 1] == 'L', too_large = false;
        size_t i = *t->start == '-' || *t->start == '+';
        uint64_t base = 10, value = 0, max;
        char *at;

        if (t->len > 2 && (t->start[1] == 'x' || t->start[1] == 'X')) {
                base = 16;
                i = 2;
        }
        max = (is_long ? (uint64_t)INT64_MAX : (uint64_t)INT32_MAX) + negative;
        for (; i < t->len && hex_value(t->start[i]) >= 0; i++)
                too_large = too_large || __builtin_mul_overflow(value, base, &value) ||
                            __builtin_add_overflow(value, (uint64_t)hex_value(t->start[i]), &value);
        if (!too_large && value <= max)
                return;

        diag_add(s->diag, DIAG_ERROR, s->file->name, t->line,
                 is_long ? "%.*s is too large: it would wrap"
                         : "%.*s is too large: it would wrap (at most 2147483647, or with an L behind it)",
                 (int)MIN_OF(t->len, (size_t)60), t->start);
        /* A value that no key takes for another mistake: 1. */
        at = s->text + (t->start - s->text);
        for (i = base == 16 ? 2 : 0; i < t->len; i++)
                if (at[i] == '-')
                        at[i] = '+';
                else if (hex_value(at[i]) >= 0)
                        at[i] = i + 1 == t->len || hex_value(at[i + 1]) < 0 ? '1' : '0';
}

/* libconfig would open the file: the line is taken out. */
static void scan_include(struct scan *s, struct lexer *l, const struct token *t)
{
        char *at = s->text + (t->start - s->text);

        if (strncmp(at, "@include", 8) != 0)
                return;
        error_at(s, t->line, "@include is refused: put the file into rules.d, where every *.conf is read");
        for (; *at && *at != '\n'; at++)
                *at = ' ';
        l->at = at;
}

static void scan_open(struct scan *s, const struct token *t)
{
        if (s->depth == DEPTH_MAX) {
                error_at(s, t->line, "brackets nested deeper than any rule needs");
                s->fatal = true;
                return;
        }
        s->n_settings[++s->depth] = 0;
}

/* A name before '=' or ':'. */
static void scan_setting(struct scan *s, const struct token *name)
{
        if (++s->n_settings[s->depth] > RULE_FILE_MAX_RULES && s->too_many_line == 0)
                s->too_many_line = name->line;
        if (s->depth == 1 && ++s->n_rules == RULE_FILE_MAX_RULES + 1 && s->too_many_line == 0)
                s->too_many_line = name->line;
}

/* libconfig takes a comma before the bracket from 1.7 on; one without a value before it, never. */
static void scan_trailing_comma(struct scan *s, const struct token before[2])
{
        if (token_is(&before[0], ',') && (token_is_scalar(&before[1]) || token_is(&before[1], '}') ||
                                          token_is(&before[1], ']') || token_is(&before[1], ')')))
                s->text[before[0].start - s->text] = ' ';
}

static void scan_punctuation(struct scan *s, const struct token *t, const struct token before[2])
{
        switch (*t->start) {
        case '{':
        case '[':
        case '(':
                scan_open(s, t);
                return;
        case '=':
        case ':':
                if (before[0].kind == TOKEN_NAME)
                        scan_setting(s, &before[0]);
                return;
        case ',':
        case ';':
                return;
        default:
                break;
        }
        if (*t->start != '}')
                scan_trailing_comma(s, before);
        if (s->depth > 0)
                s->depth--;
}

static void scan_tokens(struct scan *s)
{
        struct lexer l = lexer_init(s->text, s->len);
        struct token before[2] = { { .kind = TOKEN_END }, { .kind = TOKEN_END } }; /* the latest first */
        struct token t;

        do {
                t = lexer_next(&l);
                switch (t.kind) {
                case TOKEN_OPEN_STRING:
                        error_at(
                                s, t.line,
                                "the quote that opens in this line is not closed in it (a newline in a name is "
                                "written \\n)");
                        s->fatal = true;
                        break;
                case TOKEN_OPEN_COMMENT:
                        error_at(s, t.line, "the comment that begins here, /*, is not closed: */ is missing");
                        s->fatal = true;
                        break;
                case TOKEN_STRING:
                        scan_string(s, &t);
                        if (before[0].kind == TOKEN_STRING)
                                scan_adjacent(s, &before[0], &t);
                        break;
                case TOKEN_INTEGER:
                        scan_integer(s, &t);
                        break;
                case TOKEN_GARBAGE:
                        scan_include(s, &l, &t);
                        break;
                case TOKEN_PUNCTUATION:
                        scan_punctuation(s, &t, before);
                        break;
                default:
                        break;
                }
                before[1] = before[0];
                before[0] = t;
        } while (t.kind != TOKEN_END && !s->fatal);
}

static void scan_limits(struct scan *s)
{
        if (s->too_many_line == 0)
                return;
        if (s->n_rules > RULE_FILE_MAX_RULES)
                diag_add(s->diag, DIAG_ERROR, s->file->name, s->too_many_line,
                         "%zu rules in one file, at most %u: split it into several files", s->n_rules,
                         RULE_FILE_MAX_RULES);
        else
                diag_add(s->diag, DIAG_ERROR, s->file->name, s->too_many_line,
                         "more than %u settings in one group", RULE_FILE_MAX_RULES);
        s->fatal = true;
}

int rules_scan(const struct conf_text *file, struct diag *diag, char **ret_text)
{
        static const char bom[] = "\xef\xbb\xbf";
        _cleanup_free_ char *text = NULL;
        struct scan s = { .file = file, .diag = diag };

        if (file->len > RULE_FILE_MAX_BYTES) {
                diag_add(diag, DIAG_ERROR, file->name, 0,
                         "%zu bytes, but a rule file has at most 1 MiB: split it into several files",
                         file->len);
                return -EINVAL;
        }
        text = malloc(file->len + 2);
        if (!text)
                return -ENOMEM;
        if (file->len > 0)
                memcpy(text, file->text, file->len);
        /* libconfig knows a comment by the newline behind it. */
        memcpy(text + file->len, "\n", 2);
        s.text = text;
        s.len = file->len + 1;
        if (s.len > 3 && memcmp(text, bom, 3) == 0)
                memset(text, ' ', 3);

        scan_bytes(&s);
        if (!s.fatal)
                scan_tokens(&s);
        if (!s.fatal)
                scan_limits(&s);
        if (diag->out_of_memory)
                return -ENOMEM;
        if (s.fatal)
                return -EINVAL;
        *ret_text = STEAL(text);
        return 0;
}
