/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>
#include <stdio.h>

#include "diag.h"
#include "escape.h"
#include "strbuf.h"

void diag_done(struct diag *d)
{
        for (size_t i = 0; i < d->n_entries; i++) {
                free(d->entries[i].file);
                free(d->entries[i].text);
        }
        free(d->entries);
        *d = DIAG_NULL;
}

/* One readable line: what the text quotes from a file may hold any byte.  A
 * backslash stays one, for most of them are advice ("write \\xe9"). */
static void add_readable(const char *text, size_t len, struct strbuf *out)
{
        const char *end = text + len;

        while (text < end) {
                const char *stop = memchr(text, '\\', (size_t)(end - text));

                escape_text(text, (size_t)((stop ? stop : end) - text), out);
                if (!stop)
                        return;
                strbuf_addc(out, '\\');
                text = stop + 1;
        }
}

static _printf_(1, 0) char *format_text(const char *format, va_list args)
{
        _cleanup_strbuf_ struct strbuf line = STRBUF_NULL;
        _cleanup_free_ char *raw = NULL;
        int len = vasprintf(&raw, format, args);

        if (len < 0) {
                raw = NULL; /* vasprintf(3) leaves it undefined */
                return NULL;
        }
        add_readable(raw, (size_t)len, &line);
        return strbuf_steal(&line);
}

static bool grow(struct diag *d)
{
        size_t cap = d->cap ? d->cap * 2 : 8;
        struct diag_entry *entries;

        if (d->n_entries < d->cap)
                return true;
        entries = realloc(d->entries, cap * sizeof(*entries));
        if (!entries)
                return false;
        d->entries = entries;
        d->cap = cap;
        return true;
}

void diag_add(struct diag *d, enum diag_severity severity, const char *file, unsigned line,
              const char *format, ...)
{
        _cleanup_free_ char *text = NULL, *name = NULL;
        va_list args;

        va_start(args, format);
        text = format_text(format, args);
        va_end(args);
        if (file)
                name = strdup(file);
        if (!text || (file && !name) || !grow(d)) {
                d->out_of_memory = true;
                return;
        }

        d->entries[d->n_entries] = (struct diag_entry){
                .severity = severity,
                .file = STEAL(name),
                .line = line,
                .text = STEAL(text),
                .order = d->n_entries,
        };
        d->n_entries++;
        if (severity == DIAG_ERROR)
                d->n_errors++;
        else if (severity == DIAG_WARNING)
                d->n_warnings++;
}

static int compare_entries(const void *left, const void *right)
{
        const struct diag_entry *a = left, *b = right;
        int order = strcmp(a->file ? a->file : "", b->file ? b->file : "");

        if (order != 0)
                return order;
        if (a->line != b->line)
                return a->line < b->line ? -1 : 1;
        return a->order < b->order ? -1 : a->order > b->order;
}

void diag_sort(struct diag *d)
{
        if (d->n_entries > 1)
                qsort(d->entries, d->n_entries, sizeof(*d->entries), compare_entries);
        for (size_t i = 0; i < d->n_entries; i++)
                d->entries[i].order = i;
}

const char *diag_severity_name(enum diag_severity severity)
{
        static const char *const names[] = {
                [DIAG_NOTE] = "note",
                [DIAG_WARNING] = "warning",
                [DIAG_ERROR] = "error",
        };

        return names[severity];
}

char *diag_format(const struct diag_entry *e)
{
        _cleanup_strbuf_ struct strbuf line = STRBUF_NULL;

        if (e->file) {
                escape_text(e->file, strlen(e->file), &line);
                strbuf_addc(&line, ':');
                if (e->line > 0)
                        strbuf_addf(&line, "%u:", e->line);
                strbuf_addc(&line, ' ');
        }
        strbuf_addf(&line, "%s: %s", diag_severity_name(e->severity), e->text);
        return strbuf_steal(&line);
}

/* Longer words are no typing errors of ours. */
#define WORD_MAX 48

static char fold(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Edits from a to b, case ignored: insert, delete, replace, swap of two neighbours. */
static unsigned edit_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
        unsigned rows[3][WORD_MAX + 1];
        unsigned *before = rows[0], *previous = rows[1], *current = rows[2];

        for (unsigned j = 0; j <= n_b; j++)
                previous[j] = j;
        for (size_t i = 1; i <= n_a; i++) {
                unsigned *recycled = before;

                current[0] = (unsigned)i;
                for (size_t j = 1; j <= n_b; j++) {
                        bool same = fold(a[i - 1]) == fold(b[j - 1]);
                        unsigned best = previous[j - 1] + !same;

                        best = MIN_OF(best, previous[j] + 1);
                        best = MIN_OF(best, current[j - 1] + 1);
                        if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
                            fold(a[i - 2]) == fold(b[j - 1]))
                                best = MIN_OF(best, before[j - 2] + 1);
                        current[j] = best;
                }
                before = previous;
                previous = current;
                current = recycled;
        }
        return previous[n_b];
}

const char *diag_nearest(const char *word, const char *const *names, size_t n)
{
        size_t len = strlen(word);
        unsigned allowed = 1 + (unsigned)(len / 4), best = allowed + 1;
        const char *nearest = NULL;

        if (len > WORD_MAX)
                return NULL;
        for (size_t i = 0; i < n; i++) {
                size_t n_name = strlen(names[i]);
                unsigned distance;

                if (n_name > WORD_MAX)
                        continue;
                distance = edit_distance(word, len, names[i], n_name);
                /* As many edits as letters would suggest any short name. */
                if (distance < best && distance < MAX_OF(len, n_name)) {
                        best = distance;
                        nearest = names[i];
                }
        }
        return nearest;
}
