/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "when.h"

#include <time.h>

#include "units.h"

static bool local_usec(struct tm *tm, uint64_t *ret)
{
        tm->tm_isdst = -1;
        time_t t = mktime(tm);

        if (t < 0)
                return false;
        *ret = (uint64_t)t * USEC_PER_SEC;
        return true;
}

static bool parse_date(const char *text, const struct tm *now, uint64_t *ret)
{
        static const char *const formats[] = { "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M",
                                               "%Y-%m-%d" };
        static const char *const clocks[] = { "%H:%M:%S", "%H:%M" };
        const char *end;

        for (size_t i = 0; i < ELEMENTSOF(formats); i++) {
                struct tm tm = {};

                if ((end = strptime(text, formats[i], &tm)) && *end == '\0')
                        return local_usec(&tm, ret);
        }
        for (size_t i = 0; i < ELEMENTSOF(clocks); i++) {
                struct tm tm = *now;

                tm.tm_sec = 0;
                if ((end = strptime(text, clocks[i], &tm)) && *end == '\0')
                        return local_usec(&tm, ret);
        }
        return false;
}

bool when_parse(const char *text, uint64_t now_usec, uint64_t *ret_usec)
{
        time_t seconds = (time_t)(now_usec / USEC_PER_SEC);
        struct tm now;
        uint64_t ago;

        if (!localtime_r(&seconds, &now))
                return false;
        if (*text == '@') {
                char *end;
                unsigned long long at = strtoull(text + 1, &end, 10);

                if (text[1] < '0' || text[1] > '9' || *end != '\0' || at > UINT64_MAX / USEC_PER_SEC)
                        return false;
                *ret_usec = at * USEC_PER_SEC;
                return true;
        }
        if (streq(text, "today") || streq(text, "yesterday")) {
                now.tm_mday -= *text == 'y';
                now.tm_hour = now.tm_min = now.tm_sec = 0;
                return local_usec(&now, ret_usec);
        }
        if (parse_date(text, &now, ret_usec))
                return true;
        if (units_parse_duration(*text == '-' ? text + 1 : text, &ago) < 0 || ago > now_usec)
                return false;
        *ret_usec = now_usec - ago;
        return true;
}
