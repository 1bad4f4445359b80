/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "life.h"

#include <errno.h>
#include <inttypes.h>

void life_print(const struct life *l, struct strbuf *out)
{
        strbuf_addf(out, "machine=%s\nboot=%s\nstream=%s\nseq=%" PRIu64 "\nrealtime_usec=%" PRIu64
                         "\nboottime_usec=%" PRIu64 "\n",
                    l->machine, l->boot, l->stream, l->seq, l->realtime_usec, l->boottime_usec);
}

/* The value of one line, or NULL. */
static const char *value_of(const char *text, const char *key, size_t *ret_len)
{
        size_t n = strlen(key);

        for (const char *line = text; *line;) {
                size_t len = strcspn(line, "\n");

                if (len > n && strncmp(line, key, n) == 0 && line[n] == '=') {
                        *ret_len = len - n - 1;
                        return line + n + 1;
                }
                line += len + (line[len] == '\n');
        }
        return NULL;
}

static bool parse_id(const char *text, const char *key, char ret[static 33])
{
        size_t len;
        const char *v = value_of(text, key, &len);

        if (!v || len != 32 || strspn(v, "0123456789abcdef") < 32)
                return false;
        memcpy(ret, v, 32);
        ret[32] = '\0';
        return true;
}

static bool parse_number(const char *text, const char *key, uint64_t *ret)
{
        size_t len;
        const char *v = value_of(text, key, &len);
        uint64_t n = 0;

        if (!v || len == 0 || len > 19 || strspn(v, "0123456789") < len)
                return false;
        for (size_t i = 0; i < len; i++)
                n = n * 10 + (uint64_t)(v[i] - '0');
        *ret = n;
        return true;
}

int life_parse(const char *text, struct life *ret)
{
        struct life l = {};

        if (!parse_id(text, "machine", l.machine) || !parse_id(text, "boot", l.boot) ||
            !parse_id(text, "stream", l.stream) || !parse_number(text, "seq", &l.seq) ||
            !parse_number(text, "realtime_usec", &l.realtime_usec) ||
            !parse_number(text, "boottime_usec", &l.boottime_usec))
                return -EBADMSG;
        *ret = l;
        return 0;
}

uint64_t life_since_usec(const struct life *l, uint64_t realtime_usec, uint64_t boottime_usec)
{
        if (l->boottime_usec == 0 || boottime_usec < l->boottime_usec)
                return l->realtime_usec;
        uint64_t passed = boottime_usec - l->boottime_usec;

        return MIN_OF(l->realtime_usec, realtime_usec > passed ? realtime_usec - passed : 1);
}
