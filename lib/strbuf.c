/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "strbuf.h"

#define FIRST_CAPACITY 64u

void strbuf_done(struct strbuf *b)
{
        free(b->data);
        *b = STRBUF_NULL;
}

void strbuf_reset(struct strbuf *b)
{
        b->len = 0;
        b->failed = false;
        if (b->data)
                b->data[0] = '\0';
}

int strbuf_reserve(struct strbuf *b, size_t extra)
{
        size_t need, cap;
        char *data;

        if (b->failed)
                return -ENOMEM;
        if (__builtin_add_overflow(b->len, extra, &need) || need > SIZE_MAX / 2 - 1) {
                b->failed = true;
                return -ENOMEM;
        }
        if (need < b->cap) /* one byte is the NUL's */
                return 0;

        cap = MAX_OF(b->cap, (size_t)FIRST_CAPACITY);
        while (cap <= need)
                cap *= 2;
        data = realloc(b->data, cap);
        if (!data) {
                b->failed = true;
                return -ENOMEM;
        }
        b->data = data;
        b->cap = cap;
        b->data[b->len] = '\0';
        return 0;
}

void strbuf_add(struct strbuf *b, const void *bytes, size_t len)
{
        if (len == 0 || strbuf_reserve(b, len) < 0)
                return;
        memcpy(b->data + b->len, bytes, len);
        b->len += len;
        b->data[b->len] = '\0';
}

void strbuf_adds(struct strbuf *b, const char *s)
{
        strbuf_add(b, s, strlen(s));
}

void strbuf_addc(struct strbuf *b, char c)
{
        strbuf_add(b, &c, 1);
}

void strbuf_addf(struct strbuf *b, const char *format, ...)
{
        va_list args;
        int len;

        va_start(args, format);
        len = vsnprintf(NULL, 0, format, args);
        va_end(args);
        if (len < 0) {
                b->failed = true;
                return;
        }
        if (strbuf_reserve(b, (size_t)len) < 0)
                return;
        va_start(args, format);
        vsnprintf(b->data + b->len, (size_t)len + 1, format, args);
        va_end(args);
        b->len += (size_t)len;
}

void strbuf_addu(struct strbuf *b, uint64_t value)
{
        char digits[20]; /* UINT64_MAX has 20 */
        size_t at = sizeof(digits);

        do {
                digits[--at] = (char)('0' + value % 10);
                value /= 10;
        } while (value > 0);
        strbuf_add(b, digits + at, sizeof(digits) - at);
}

const char *strbuf_str(const struct strbuf *b)
{
        return b->data ? b->data : "";
}

char *strbuf_steal(struct strbuf *b)
{
        char *data;

        /* An empty buffer is an empty string, not a failure. */
        if (strbuf_reserve(b, 0) < 0) {
                strbuf_done(b);
                return NULL;
        }
        data = STEAL(b->data);
        *b = STRBUF_NULL;
        return data;
}
