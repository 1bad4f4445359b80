/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "since.h"

#include <errno.h>
#include <time.h>

#include "units.h"

/* Midnight this many days from today. */
static int midnight(uint64_t now_usec, int days, struct tm *ret)
{
        time_t now = (time_t)(now_usec / USEC_PER_SEC);

        if (!localtime_r(&now, ret))
                return -EINVAL;
        ret->tm_mday += days;
        ret->tm_hour = ret->tm_min = ret->tm_sec = 0;
        ret->tm_isdst = -1;
        return 0;
}

static int to_usec(struct tm *t, uint64_t *ret)
{
        time_t s = mktime(t);

        if (s < 0)
                return -EINVAL;
        *ret = (uint64_t)s * USEC_PER_SEC;
        return 0;
}

static int parse_day_word(const char *text, uint64_t now_usec, uint64_t *ret)
{
        static const struct {
                const char *word;
                int days;
        } words[] = { { "yesterday", -1 }, { "today", 0 }, { "tomorrow", 1 } };
        struct tm t;

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (streq(text, words[i].word))
                        return midnight(now_usec, words[i].days, &t) < 0 ? -EINVAL : to_usec(&t, ret);
        return -EINVAL;
}

/* "-2h", "+5min", "2h ago" */
static int parse_relative(const char *text, uint64_t now_usec, uint64_t *ret)
{
        static const char ago[] = " ago";
        size_t len = strlen(text), n = sizeof(ago) - 1;
        bool sign = *text == '-' || *text == '+', past = *text == '-';
        _cleanup_free_ char *duration = strdup(sign ? text + 1 : text);
        uint64_t usec;

        if (!duration)
                return -ENOMEM;
        if (!sign) {
                if (len <= n || !streq(text + len - n, ago))
                        return -EINVAL;
                duration[len - n] = '\0';
                past = true;
        }
        if (units_parse_duration(duration, &usec) < 0 || (past && usec > now_usec))
                return -EINVAL;
        *ret = past ? now_usec - usec : now_usec + usec;
        return 0;
}

static int parse_date(const char *text, uint64_t now_usec, uint64_t *ret)
{
        static const char *const formats[] = { "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S",
                                               "%Y-%m-%d",          "%H:%M:%S",       "%H:%M" };

        for (size_t i = 0; i < ELEMENTSOF(formats); i++) {
                struct tm t;

                if (midnight(now_usec, 0, &t) < 0)
                        return -EINVAL;
                const char *end = strptime(text, formats[i], &t);
                if (end && *end == '\0')
                        return to_usec(&t, ret);
        }
        return -EINVAL;
}

int since_parse(const char *text, uint64_t now_usec, uint64_t *ret_usec)
{
        if (streq(text, "now")) {
                *ret_usec = now_usec;
                return 0;
        }
        if (*text == '@') {
                char *end;

                errno = 0;
                unsigned long long s = strtoull(text + 1, &end, 10);
                if (errno != 0 || end == text + 1 || *end != '\0' || s > UINT64_MAX / USEC_PER_SEC)
                        return -EINVAL;
                *ret_usec = s * USEC_PER_SEC;
                return 0;
        }
        if (parse_day_word(text, now_usec, ret_usec) == 0 || parse_relative(text, now_usec, ret_usec) == 0)
                return 0;
        return parse_date(text, now_usec, ret_usec);
}
