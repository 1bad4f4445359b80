/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes through the scan before libconfig.  What it lets pass is text:
 * without NUL, control characters or @include, every string closed in its line,
 * and with the lines of the file.
 */

#include <assert.h>

#include "conf_lex.h"
#include "conf_syntax.h"
#include "escape.h"
#include "rules_scan.h"
#include "strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count_lines(const char *text, size_t len)
{
        size_t n = 0;

        for (size_t i = 0; i < len; i++)
                n += text[i] == '\n';
        return n;
}

static void check(const char *text, size_t size, size_t lines)
{
        struct lexer l = lexer_init(text, size);
        struct token t;

        assert(strlen(text) == size);
        assert(utf8_valid(text, size));
        assert(count_lines(text, size) == lines + 1);
        do {
                t = lexer_next(&l);
                assert(t.kind != TOKEN_OPEN_STRING && t.kind != TOKEN_OPEN_COMMENT);
                if (t.kind == TOKEN_GARBAGE)
                        assert(strncmp(t.start, "@include", 8) != 0);
        } while (t.kind != TOKEN_END);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        _cleanup_strbuf_ struct strbuf why = STRBUF_NULL;
        _cleanup_free_ char *text = NULL, *name = strdup("fuzz.conf");
        struct conf_text file = { .name = name, .text = (char *)data, .len = size };

        if (!name)
                return 0;
        if (rules_scan(&file, &diag, &text) < 0) {
                assert(diag.n_errors > 0 || diag.out_of_memory);
                return 0;
        }
        check(text, size + 1, count_lines((const char *)data, size));
        if (conf_syntax_check(text, strlen(text), &why) > 0)
                assert(why.len > 0);
        return 0;
}
