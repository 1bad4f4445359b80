/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "log.h"
#include "strbuf.h"

/* Set once before any thread starts. */
static bool to_journal;

void log_open(void)
{
        to_journal = getenv("JOURNAL_STREAM") != NULL;
}

void log_message(int priority, const char *format, ...)
{
        /* One write(2) a message, so that lines of several threads never mix. */
        char line[4096];
        int head = to_journal ? snprintf(line, sizeof(line), "<%d>", priority)
                              : snprintf(line, sizeof(line), "fawatchd: ");
        va_list args;
        va_start(args, format);
        int body = vsnprintf(line + head, sizeof(line) - (size_t)head - 1, format, args);
        va_end(args);
        if (body < 0)
                return;
        size_t len = (size_t)head + MIN_OF((size_t)body, sizeof(line) - (size_t)head - 2);
        line[len++] = '\n';
        /* Standard error may be closed or full: there is nobody left to tell. */
        if (write(STDERR_FILENO, line, len) < 0)
                return;
}

static int diag_priority(enum diag_severity severity)
{
        switch (severity) {
        case DIAG_ERROR:
                return LOG_ERR;
        case DIAG_WARNING:
                return LOG_WARNING;
        case DIAG_NOTE:
                break;
        }
        return LOG_INFO;
}

void log_diag(const struct diag *d)
{
        for (size_t i = 0; i < d->n_entries; i++) {
                _cleanup_free_ char *line = diag_format(&d->entries[i]);
                log_message(diag_priority(d->entries[i].severity), "%s", line ? line : "out of memory");
        }
        if (d->out_of_memory)
                log_message(LOG_ERR, "out of memory: not every finding could be noted");
}
