/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "when.h"

#include <errno.h>
#include <time.h>

#include "units.h"

uint64_t when_now_usec(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_REALTIME, &t);
        return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / NSEC_PER_USEC;
}

/* Midnight this many days from today. */
static bool midnight(uint64_t now_usec, int days, struct tm *ret)
{
        time_t now = (time_t)(now_usec / USEC_PER_SEC);

        if (!localtime_r(&now, ret))
                return false;
        ret->tm_mday += days;
        ret->tm_hour = ret->tm_min = ret->tm_sec = 0;
        ret->tm_isdst = -1;
        return true;
}

static bool local_usec(struct tm *tm, uint64_t *ret)
{
        time_t t = mktime(tm);

        if (t < 0)
                return false;
        *ret = (uint64_t)t * USEC_PER_SEC;
        return true;
}

static bool parse_seconds(const char *text, uint64_t *ret)
{
        char *end;

        if (*text < '0' || *text > '9')
                return false; /* strtoull() would take a sign, and spaces */
        errno = 0;
        unsigned long long seconds = strtoull(text, &end, 10);
        if (errno != 0 || *end != '\0' || seconds > UINT64_MAX / USEC_PER_SEC)
                return false;
        *ret = seconds * USEC_PER_SEC;
        return true;
}

static bool parse_day_word(const char *text, uint64_t now_usec, uint64_t *ret)
{
        static const struct {
                const char *word;
                int days;
        } words[] = { { "yesterday", -1 }, { "today", 0 }, { "tomorrow", 1 } };
        struct tm tm;

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (streq(text, words[i].word))
                        return midnight(now_usec, words[i].days, &tm) && local_usec(&tm, ret);
        return false;
}

static bool parse_date(const char *text, uint64_t now_usec, uint64_t *ret)
{
        static const char *const formats[] = { "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M",
                                               "%Y-%m-%d",          "%H:%M:%S",          "%H:%M" };

        for (size_t i = 0; i < ELEMENTSOF(formats); i++) {
                struct tm tm;

                if (!midnight(now_usec, 0, &tm))
                        return false;
                const char *end = strptime(text, formats[i], &tm);
                if (end && *end == '\0')
                        return local_usec(&tm, ret);
        }
        return false;
}

/* "+5min" is to come; "-2h", "2h ago" and "2h" are past. */
static bool parse_relative(const char *text, uint64_t now_usec, uint64_t *ret)
{
        static const char ago[] = " ago";
        size_t len = strlen(text), n = sizeof(ago) - 1;
        bool future = *text == '+', sign = future || *text == '-';
        _cleanup_free_ char *duration = strdup(sign ? text + 1 : text);
        uint64_t usec;

        if (!duration)
                return false;
        if (!sign && len > n && streq(text + len - n, ago))
                duration[len - n] = '\0';
        if (units_parse_duration(duration, &usec) < 0 || usec > (future ? UINT64_MAX - now_usec : now_usec))
                return false;
        *ret = future ? now_usec + usec : now_usec - usec;
        return true;
}

bool when_parse(const char *text, uint64_t now_usec, uint64_t *ret_usec)
{
        if (streq(text, "now")) {
                *ret_usec = now_usec;
                return true;
        }
        if (*text == '@')
                return parse_seconds(text + 1, ret_usec);
        return parse_day_word(text, now_usec, ret_usec) || parse_date(text, now_usec, ret_usec) ||
               parse_relative(text, now_usec, ret_usec);
}
