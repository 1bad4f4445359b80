/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "strbuf.h"
#include "units.h"

struct unit {
        const char *name;
        uint64_t factor;
};

/* Largest first: printing takes the first that divides the value. */
static const struct unit duration_units[] = {
        { "d", 86400 * USEC_PER_SEC },
        { "h", 3600 * USEC_PER_SEC },
        { "min", 60 * USEC_PER_SEC },
        { "s", USEC_PER_SEC },
        { "ms", USEC_PER_MSEC },
        { "us", 1 },
};

static const struct unit size_units[] = {
        { "T", UINT64_C(1) << 40 },
        { "G", UINT64_C(1) << 30 },
        { "M", UINT64_C(1) << 20 },
        { "K", UINT64_C(1) << 10 },
        { "", 1 },
};

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads digits at *at and moves behind them. */
static int read_number(const char **at, uint64_t *ret)
{
        uint64_t value = 0;

        if (!is_digit(**at))
                return -EINVAL;
        for (; is_digit(**at); (*at)++)
                if (__builtin_mul_overflow(value, 10u, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(**at - '0'), &value))
                        return -ERANGE;
        *ret = value;
        return 0;
}

/* Reads a unit's name at *at and moves behind it. */
static int read_unit(const char **at, const struct unit *units, size_t n, uint64_t *ret_factor)
{
        size_t len = 0;

        while (is_letter((*at)[len]))
                len++;
        for (size_t i = 0; i < n; i++)
                if (strlen(units[i].name) == len && strncmp(units[i].name, *at, len) == 0) {
                        *ret_factor = units[i].factor;
                        *at += len;
                        return 0;
                }
        return -EINVAL;
}

int units_parse_duration(const char *text, uint64_t *ret_usec)
{
        const char *at = text;
        uint64_t total = 0;

        if (streq(text, "0")) {
                *ret_usec = 0;
                return 0;
        }
        do {
                uint64_t value, factor;
                int r = read_number(&at, &value);

                if (r < 0)
                        return r;
                r = read_unit(&at, duration_units, ELEMENTSOF(duration_units), &factor);
                if (r < 0)
                        return r;
                if (__builtin_mul_overflow(value, factor, &value) ||
                    __builtin_add_overflow(total, value, &total) || total > INT64_MAX)
                        return -ERANGE;
                if (at[0] == ' ' && is_digit(at[1]))
                        at++;
        } while (*at);

        *ret_usec = total;
        return 0;
}

int units_parse_size(const char *text, uint64_t *ret_bytes)
{
        const char *at = text;
        uint64_t value, factor;
        int r = read_number(&at, &value);

        if (r < 0)
                return r;
        r = read_unit(&at, size_units, ELEMENTSOF(size_units), &factor);
        if (r < 0)
                return r;
        if (*at)
                return -EINVAL;
        if (__builtin_mul_overflow(value, factor, &value) || value > INT64_MAX)
                return -ERANGE;
        *ret_bytes = value;
        return 0;
}

int units_parse_rate(const char *text, uint64_t *ret_count, uint64_t *ret_usec)
{
        const char *at = text;
        uint64_t count, usec, factor;
        int r;

        if (streq(text, "0")) {
                *ret_count = *ret_usec = 0;
                return 0;
        }
        r = read_number(&at, &count);
        if (r < 0)
                return r;
        if (*at++ != '/')
                return -EINVAL;
        if (is_letter(*at)) { /* "100/s" */
                r = read_unit(&at, duration_units, ELEMENTSOF(duration_units), &factor);
                usec = factor;
                if (r >= 0 && *at)
                        r = -EINVAL;
        } else
                r = units_parse_duration(at, &usec);
        if (r < 0)
                return r;
        if (count == 0 || usec == 0) /* would shed everything, or never forget */
                return -EINVAL;
        *ret_count = count;
        *ret_usec = usec;
        return 0;
}

/* A value other than 0 in the largest unit that divides it. */
static void print_in(uint64_t value, const struct unit *units, size_t n, struct strbuf *out)
{
        for (size_t i = 0; i < n; i++)
                if (value % units[i].factor == 0) {
                        strbuf_addu(out, value / units[i].factor);
                        strbuf_adds(out, units[i].name);
                        return;
                }
}

void units_print_duration(uint64_t usec, struct strbuf *out)
{
        if (usec == 0)
                strbuf_addc(out, '0');
        else
                print_in(usec, duration_units, ELEMENTSOF(duration_units), out);
}

void units_print_size(uint64_t bytes, struct strbuf *out)
{
        if (bytes == 0)
                strbuf_addc(out, '0');
        else
                print_in(bytes, size_units, ELEMENTSOF(size_units), out);
}

void units_print_rate(uint64_t count, uint64_t usec, struct strbuf *out)
{
        strbuf_addu(out, count);
        if (count == 0)
                return;
        strbuf_addc(out, '/');
        units_print_duration(usec, out);
}
