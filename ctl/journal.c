/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "journal.h"

#include <errno.h>
#include <systemd/sd-journal.h>

/* As many fields may be looked at of one record. */
#define MAX_FIELDS 16

struct journal {
        sd_journal *j;
        struct value { /* copied: sd_journal_get_data() keeps one at a time */
                const char *name;
                char *text;
                size_t cap;
        } values[MAX_FIELDS];
};

int journal_open(const char *directory, struct journal **ret)
{
        _cleanup_(journal_closep) struct journal *j = calloc(1, sizeof(*j));

        if (!j)
                return -ENOMEM;
        int r = directory ? sd_journal_open_directory(&j->j, directory, 0)
                          : sd_journal_open(&j->j, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);
        if (r >= 0)
                r = sd_journal_add_match(j->j, "SYSLOG_IDENTIFIER=fawatchd", 0);
        if (r < 0)
                return r;
        *ret = STEAL(j);
        return 0;
}

void journal_close(struct journal *j)
{
        if (!j)
                return;
        for (size_t i = 0; i < ELEMENTSOF(j->values); i++)
                free(j->values[i].text);
        sd_journal_close(j->j);
        free(j);
}

int journal_seek(struct journal *j, uint64_t realtime_usec)
{
        return sd_journal_seek_realtime_usec(j->j, realtime_usec);
}

int journal_next(struct journal *j)
{
        return sd_journal_next(j->j);
}

int journal_previous(struct journal *j)
{
        return sd_journal_previous(j->j);
}

uint64_t journal_realtime(struct journal *j)
{
        uint64_t usec;

        return sd_journal_get_realtime_usec(j->j, &usec) < 0 ? 0 : usec;
}

int journal_wait(struct journal *j, uint64_t usec)
{
        return sd_journal_wait(j->j, usec);
}

static struct value *value_of(struct journal *j, const char *name)
{
        for (size_t i = 0; i < ELEMENTSOF(j->values); i++) {
                struct value *v = &j->values[i];

                if (!v->name)
                        v->name = name;
                if (v->name == name || streq(v->name, name))
                        return v;
        }
        return NULL;
}

const char *journal_field(struct journal *j, const char *name)
{
        struct value *v = value_of(j, name);
        const void *data;
        size_t len, skip = strlen(name) + 1;

        if (!v || sd_journal_get_data(j->j, name, &data, &len) < 0 || len < skip)
                return "";
        len -= skip;
        if (v->cap <= len) {
                char *text = realloc(v->text, len + 1);

                if (!text)
                        return "";
                v->text = text;
                v->cap = len + 1;
        }
        memcpy(v->text, (const char *)data + skip, len);
        v->text[len] = '\0';
        return v->text;
}

uint64_t journal_number(struct journal *j, const char *name)
{
        return strtoull(journal_field(j, name), NULL, 10);
}

uint64_t journal_oldest(struct journal *j)
{
        uint64_t from, to;

        return sd_journal_get_cutoff_realtime_usec(j->j, &from, &to) > 0 ? from : 0;
}
