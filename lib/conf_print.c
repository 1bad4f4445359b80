/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "conf_print.h"
#include "escape.h"
#include "strbuf.h"

/* Characters that a terminal does not show as themselves: C1 controls and the
 * marks that turn the direction of text. */
static bool is_hidden(const char *p, size_t len)
{
        const unsigned char *u = (const unsigned char *)p;

        if (len == 2)
                return (u[0] == 0xc2 && u[1] < 0xa0) || (u[0] == 0xd8 && u[1] == 0x9c);
        if (len == 3)
                return u[0] == 0xe2 &&
                       ((u[1] == 0x80 && (u[2] == 0x8e || u[2] == 0x8f || (u[2] >= 0xa8 && u[2] <= 0xae))) ||
                        (u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9));
        return false;
}

static void print_character(const char *p, size_t len, struct strbuf *out)
{
        switch (*p) {
        case '"':
        case '\\':
                strbuf_addf(out, "\\%c", *p);
                return;
        case '\n':
                strbuf_adds(out, "\\n");
                return;
        case '\t':
                strbuf_adds(out, "\\t");
                return;
        case '\r':
                strbuf_adds(out, "\\r");
                return;
        default:
                break;
        }
        if (len > 0 && (unsigned char)*p >= 0x20 && *p != 0x7f && !is_hidden(p, len)) {
                strbuf_add(out, p, len);
                return;
        }
        for (size_t i = 0; i < MAX_OF(len, (size_t)1); i++)
                strbuf_addf(out, "\\x%02x", (unsigned char)p[i]);
}

void conf_print_text(const char *bytes, size_t len, struct strbuf *out)
{
        const char *end = bytes + len;

        while (bytes < end) {
                size_t n = (unsigned char)*bytes < 0x80 ? 1 : utf8_sequence(bytes, (size_t)(end - bytes));

                print_character(bytes, n, out);
                bytes += MAX_OF(n, (size_t)1);
        }
}

void conf_print_string(const char *text, struct strbuf *out)
{
        strbuf_addc(out, '"');
        conf_print_text(text, strlen(text), out);
        strbuf_addc(out, '"');
}

void conf_print_strings(const struct strings *values, struct strbuf *out)
{
        strbuf_addc(out, '[');
        for (size_t i = 0; i < values->n; i++) {
                strbuf_adds(out, i == 0 ? " " : ", ");
                conf_print_string(values->v[i], out);
        }
        strbuf_adds(out, " ]");
}
