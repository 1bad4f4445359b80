/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "print.h"

static bool coloured(FILE *f)
{
        const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

        if ((no_color && *no_color) || (term && streq(term, "dumb")))
                return false;
        return isatty(fileno(f)) == 1;
}

const char *tone_on(FILE *f, enum tone tone)
{
        static const char *const codes[] = {
                [TONE_PLAIN] = "",         [TONE_GOOD] = "\033[32m", [TONE_WARNING] = "\033[33m",
                [TONE_BAD] = "\033[1;31m", [TONE_DIM] = "\033[2m",   [TONE_STRONG] = "\033[1m",
        };
        return coloured(f) ? codes[tone] : "";
}

const char *tone_off(FILE *f, enum tone tone)
{
        return tone != TONE_PLAIN && coloured(f) ? "\033[0m" : "";
}

void print_toned(FILE *f, enum tone tone, const char *text)
{
        fprintf(f, "%s%s%s", tone_on(f, tone), text, tone_off(f, tone));
}

void complain(const char *format, ...)
{
        va_list ap;

        fflush(stdout);
        fputs("fawatchctl: ", stderr);
        va_start(ap, format);
        vfprintf(stderr, format, ap);
        va_end(ap);
        fputc('\n', stderr);
}

void print_answer(const char *bytes, size_t len)
{
        fwrite(bytes, 1, len, stdout);
        if (len > 0 && bytes[len - 1] != '\n')
                fputc('\n', stdout);
}

void format_time(uint64_t usec, bool micro, char *buffer, size_t size)
{
        time_t seconds = (time_t)(usec / USEC_PER_SEC);
        struct tm tm;

        if (!localtime_r(&seconds, &tm)) {
                snprintf(buffer, size, "@%llu", (unsigned long long)usec);
                return;
        }
        size_t n = strftime(buffer, size, "%Y-%m-%d %H:%M:%S", &tm);
        if (micro && n < size)
                snprintf(buffer + n, size - n, ".%06u", (unsigned)(usec % USEC_PER_SEC));
}

void format_ago(uint64_t usec, char *buffer, size_t size)
{
        static const struct {
                const char *name;
                uint64_t seconds;
        } units[] = { { "d", 86400 }, { "h", 3600 }, { "min", 60 }, { "s", 1 } };
        struct timeval now;

        gettimeofday(&now, NULL);
        uint64_t now_sec = (uint64_t)now.tv_sec, then_sec = usec / USEC_PER_SEC;
        uint64_t passed = now_sec > then_sec ? now_sec - then_sec : 0;
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                uint64_t n = passed / units[i].seconds, rest = passed % units[i].seconds;

                if (n == 0 && i + 1 < ELEMENTSOF(units))
                        continue;
                if (i + 1 < ELEMENTSOF(units) && rest / units[i + 1].seconds > 0)
                        snprintf(buffer, size, "%llu%s %llu%s", (unsigned long long)n, units[i].name,
                                 (unsigned long long)(rest / units[i + 1].seconds), units[i + 1].name);
                else
                        snprintf(buffer, size, "%llu%s", (unsigned long long)n, units[i].name);
                return;
        }
}

const char *json_text(const json_t *object, const char *key)
{
        const char *s = json_string_value(json_object_get(object, key));
        return s ? s : "";
}

uint64_t json_number(const json_t *object, const char *key)
{
        return (uint64_t)json_integer_value(json_object_get(object, key));
}

bool json_flag(const json_t *object, const char *key)
{
        return json_is_true(json_object_get(object, key));
}

void print_json(const json_t *json)
{
        json_dumpf(json, stdout, JSON_COMPACT);
        fputc('\n', stdout);
}

void json_join(const json_t *array, const char *separator, struct strbuf *out)
{
        size_t i;
        json_t *item;

        json_array_foreach (array, i, item) {
                const char *s = json_string_value(item);
                if (i > 0)
                        strbuf_adds(out, separator);
                strbuf_adds(out, s ? s : "");
        }
}

void print_finding(FILE *f, enum diag_severity severity, const char *file, unsigned line, const char *text)
{
        static const enum tone tones[] = {
                [DIAG_NOTE] = TONE_DIM,
                [DIAG_WARNING] = TONE_WARNING,
                [DIAG_ERROR] = TONE_BAD,
        };

        if (file && *file && line > 0)
                fprintf(f, "%s:%u: ", file, line);
        else if (file && *file)
                fprintf(f, "%s: ", file);
        print_toned(f, tones[severity], diag_severity_name(severity));
        fprintf(f, ": %s\n", text);
}

static enum diag_severity severity_of(const char *name)
{
        for (enum diag_severity s = DIAG_NOTE; s < DIAG_ERROR; s++)
                if (streq(name, diag_severity_name(s)))
                        return s;
        return DIAG_ERROR;
}

void print_json_findings(FILE *f, const json_t *array)
{
        size_t i;
        json_t *item;

        json_array_foreach (array, i, item)
                print_finding(f, severity_of(json_text(item, "severity")), json_text(item, "file"),
                              (unsigned)json_number(item, "line"), json_text(item, "text"));
}

/* ---- columns ---- */

void table_done(struct table *t)
{
        for (size_t i = 0; i < t->n_rows; i++)
                for (size_t k = 0; k < t->n_columns; k++)
                        free(t->rows[i][k]);
        free(t->rows);
        *t = (struct table){};
}

void table_add(struct table *t, const char *const *cells, size_t n_columns)
{
        if (t->n_rows == 0)
                t->n_columns = MIN_OF(n_columns, (size_t)TABLE_COLUMNS);
        void *bigger = reallocarray(t->rows, t->n_rows + 1, sizeof(*t->rows));
        if (!bigger) {
                t->failed = true;
                return;
        }
        t->rows = bigger;
        for (size_t k = 0; k < t->n_columns; k++) {
                t->rows[t->n_rows][k] = strdup(cells[k]);
                t->failed |= !t->rows[t->n_rows][k];
        }
        t->n_rows++;
}

/* Code points: good for the names and paths that stand in a table. */
static size_t width_of(const char *s)
{
        size_t n = 0;

        for (; s && *s; s++)
                n += (*s & 0xc0) != 0x80;
        return n;
}

void table_print(const struct table *t, FILE *f, enum tone (*tone_of)(void *userdata, size_t row),
                 void *userdata)
{
        size_t widths[TABLE_COLUMNS] = {};

        for (size_t i = 0; i < t->n_rows; i++)
                for (size_t k = 0; k < t->n_columns; k++)
                        widths[k] = MAX_OF(widths[k], width_of(t->rows[i][k]));
        for (size_t i = 0; i < t->n_rows; i++) {
                enum tone tone = i == 0 ? TONE_STRONG : tone_of ? tone_of(userdata, i) : TONE_PLAIN;

                fputs(tone_on(f, tone), f);
                for (size_t k = 0; k < t->n_columns; k++) {
                        const char *cell = t->rows[i][k] ? t->rows[i][k] : "?";

                        fputs(cell, f);
                        if (k + 1 < t->n_columns)
                                fprintf(f, "%*s", (int)(widths[k] - width_of(cell) + 2), "");
                }
                fprintf(f, "%s\n", tone_off(f, tone));
        }
}
