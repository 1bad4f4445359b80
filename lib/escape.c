/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes for people and for JSON. */

#include "escape.h"

size_t utf8_sequence(const char *p, size_t len)
{
        const uint8_t *u = (const uint8_t *)p;
        /* of the second byte: no overlong form, no surrogate, nothing above U+10FFFF */
        uint8_t low = 0x80, high = 0xbf;
        size_t n;

        if (len == 0)
                return 0;
        if (u[0] < 0x80)
                return 1;
        if (u[0] >= 0xc2 && u[0] <= 0xdf) {
                n = 2;
        } else if (u[0] >= 0xe0 && u[0] <= 0xef) {
                n = 3;
                low = u[0] == 0xe0 ? 0xa0 : low;
                high = u[0] == 0xed ? 0x9f : high;
        } else if (u[0] >= 0xf0 && u[0] <= 0xf4) {
                n = 4;
                low = u[0] == 0xf0 ? 0x90 : low;
                high = u[0] == 0xf4 ? 0x8f : high;
        } else {
                return 0;
        }
        if (len < n || u[1] < low || u[1] > high)
                return 0;
        for (size_t i = 2; i < n; i++)
                if ((u[i] & 0xc0) != 0x80)
                        return 0;
        return n;
}

bool utf8_valid(const char *p, size_t len)
{
        while (len > 0) {
                size_t n = utf8_sequence(p, len);

                if (n == 0)
                        return false;
                p += n;
                len -= n;
        }
        return true;
}

static uint32_t decode(const char *p, size_t n)
{
        const uint8_t *u = (const uint8_t *)p;

        switch (n) {
        case 1:
                return u[0];
        case 2:
                return (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu);
        case 3:
                return (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
        default:
                return (u[0] & 0x07u) << 18 | (u[1] & 0x3fu) << 12 | (u[2] & 0x3fu) << 6 | (u[3] & 0x3fu);
        }
}

/* What moves the cursor, ends the line or turns the direction of the text: a
 * file name must not be able to make a line look like another. */
static bool is_control(uint32_t c)
{
        return c < 0x20 || (c >= 0x7f && c <= 0x9f) /* C0, DEL, C1 */
               || c == 0x061c || c == 0x200e || c == 0x200f /* marks of direction */
               || (c >= 0x2028 && c <= 0x202e) /* separators of lines and paragraphs, embeddings, overrides */
               || (c >= 0x2066 && c <= 0x2069); /* isolates */
}

static void add_hex(struct strbuf *out, const char *p, size_t n)
{
        static const char digits[] = "0123456789abcdef";

        for (size_t i = 0; i < n; i++) {
                uint8_t byte = (uint8_t)p[i];

                strbuf_add(out, (const char[]){ '\\', 'x', digits[byte >> 4], digits[byte & 15] }, 4);
        }
}

/* How many bytes at the beginning mean themselves in every form: most names end here. */
static size_t plain_run(const char *p, size_t len)
{
        size_t n = 0;

        while (n < len && p[n] >= 0x20 && p[n] < 0x7f && p[n] != '\\' && p[n] != '"')
                n++;
        return n;
}

void escape_text(const char *bytes, size_t len, struct strbuf *out)
{
        while (len > 0) {
                size_t n = plain_run(bytes, len);

                if (n > 0) {
                        strbuf_add(out, bytes, n);
                } else if ((n = utf8_sequence(bytes, len)) == 0) {
                        n = 1;
                        add_hex(out, bytes, n);
                } else if (*bytes == '\\') {
                        strbuf_adds(out, "\\\\");
                } else if (*bytes == '\n') {
                        strbuf_adds(out, "\\n");
                } else if (*bytes == '\t') {
                        strbuf_adds(out, "\\t");
                } else if (is_control(decode(bytes, n))) {
                        add_hex(out, bytes, n);
                } else {
                        strbuf_add(out, bytes, n);
                }
                bytes += n;
                len -= n;
        }
}

bool escape_json(const char *bytes, size_t len, struct strbuf *out)
{
        bool whole = true;

        strbuf_addc(out, '"');
        while (len > 0) {
                size_t n = plain_run(bytes, len);

                if (n > 0) {
                        strbuf_add(out, bytes, n);
                } else if ((n = utf8_sequence(bytes, len)) == 0) {
                        n = 1;
                        whole = false;
                        strbuf_adds(out, "\xef\xbf\xbd"); /* U+FFFD */
                } else if (*bytes == '"' || *bytes == '\\') {
                        strbuf_addc(out, '\\');
                        strbuf_addc(out, *bytes);
                } else if (*bytes == '\n') {
                        strbuf_adds(out, "\\n");
                } else if (*bytes == '\t') {
                        strbuf_adds(out, "\\t");
                } else if (is_control(decode(bytes, n))) {
                        strbuf_addf(out, "\\u%04x", (unsigned)decode(bytes, n));
                } else {
                        strbuf_add(out, bytes, n);
                }
                bytes += n;
                len -= n;
        }
        strbuf_addc(out, '"');
        return whole;
}

/* The option of mask whose value this argument holds or announces; *ret_head
 * is how much of the argument may be shown, its whole length when the value is the
 * next argument. */
static bool is_masked(const char *arg, size_t len, const char *const *mask, size_t n_mask, size_t *ret_head)
{
        for (size_t i = 0; i < n_mask; i++) {
                const char *option = mask[i];
                size_t n = strlen(option);

                if (n > 0 && option[n - 1] == '=')
                        n--;
                if (n == 0 || len < n || memcmp(arg, option, n) != 0)
                        continue;
                if (len == n)
                        *ret_head = n;
                else if (arg[n] == '=')
                        *ret_head = n + 1;
                else if (n == 2 && option[0] == '-' && option[1] != '-')
                        *ret_head = n;
                else
                        continue;
                return true;
        }
        return false;
}

/* At most max bytes of what was appended since start, not ending inside a character. */
static void cut(struct strbuf *out, size_t start, size_t max)
{
        size_t end = start + max;

        for (size_t back = 1; back < 4 && back <= max; back++) {
                size_t n = utf8_sequence(out->data + end - back, out->len - (end - back));

                if (n > 0) {
                        if (n > back)
                                end -= back;
                        break;
                }
        }
        out->len = end;
        strbuf_adds(out, "...");
}

void escape_cmdline(const char *raw, size_t len, const char *const *mask, size_t n_mask, size_t max,
                    struct strbuf *out)
{
        size_t start = out->len;
        bool hide_next = false;

        /* a program that writes its title over its arguments leaves NULs behind it */
        while (len > 0 && raw[len - 1] == '\0')
                len--;
        for (size_t pos = 0, i = 0; pos < len && out->len - start <= max; i++) {
                const char *arg = raw + pos;
                size_t n = strnlen(arg, len - pos), head;

                if (i > 0)
                        strbuf_addc(out, ' ');
                if (hide_next) {
                        strbuf_adds(out, "***");
                        hide_next = false;
                } else if (i > 0 && is_masked(arg, n, mask, n_mask, &head)) {
                        strbuf_add(out, arg, head);
                        hide_next = head == n && arg[n - 1] != '=';
                        if (head < n)
                                strbuf_adds(out, "***");
                } else {
                        strbuf_add(out, arg, n);
                }
                pos += n + 1;
        }
        if (!strbuf_failed(out) && out->len - start > max)
                cut(out, start, max);
}
