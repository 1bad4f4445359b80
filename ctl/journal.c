/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "journal.h"

#include <errno.h>
#include <systemd/sd-journal.h>
#include <systemd/sd-messages.h>

#include "record.h"

/* As many fields may be looked at of one record. */
#define MAX_FIELDS 24

struct journal {
        sd_journal *j;
        char *place;   /* the record we stood at when the matches changed, until the next move */
        struct value { /* copied: sd_journal_get_data() keeps one at a time */
                const char *name;
                char *text;
                size_t cap;
        } values[MAX_FIELDS];
};

int journal_open(struct journal **ret)
{
        _cleanup_(journal_closep) struct journal *j = calloc(1, sizeof(*j));

        if (!j)
                return -ENOMEM;
        int r = sd_journal_open(&j->j, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);
        if (r >= 0)
                r = sd_journal_set_data_threshold(j->j, 0); /* values whole */
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
        free(j->place);
        sd_journal_close(j->j);
        free(j);
}

/* ---- which records ---- */

static int match(struct journal *j, const char *field, const char *value)
{
        struct strbuf text = STRBUF_NULL;

        strbuf_addf(&text, "%s=", field);
        strbuf_adds(&text, value);
        int r = strbuf_failed(&text) ? -ENOMEM : sd_journal_add_match(j->j, text.data, text.len);
        strbuf_done(&text);
        return r;
}

static int match_or(struct journal *j, const char *field, const char *value)
{
        int r = match(j, field, value);

        return r < 0 ? r : sd_journal_add_disjunction(j->j);
}

/* A directory above it had another name before. */
static int match_ancestors(struct journal *j, const char *path)
{
        _cleanup_free_ char *above = strdup(path);
        char *slash;
        int r;

        if (!above)
                return -ENOMEM;
        while ((slash = strrchr(above, '/')) && slash != above) {
                *slash = '\0';
                if ((r = match(j, "FAWATCH_EVENT", "rename")) < 0 ||
                    (r = match_or(j, "FAWATCH_PATH", above)) < 0)
                        return r;
        }
        return 0;
}

int journal_match_paths(struct journal *j, const char *const *paths, size_t n)
{
        int r;

        free(STEAL(j->place));
        r = sd_journal_get_cursor(j->j, &j->place);
        if (r < 0 && r != -EADDRNOTAVAIL)
                return r;
        sd_journal_flush_matches(j->j);
        for (size_t i = 0; i < n; i++)
                if ((r = match_or(j, "FAWATCH_UNDER", paths[i])) < 0 ||
                    (r = match_or(j, "FAWATCH_PATH", paths[i])) < 0 ||
                    (r = match_or(j, "FAWATCH_OLD_PATH", paths[i])) < 0 ||
                    (r = match_ancestors(j, paths[i])) < 0)
                        return r;
        /* anybody may write such fields into the journal: journald itself says who did */
        if ((r = sd_journal_add_conjunction(j->j)) < 0 || (r = match(j, "_UID", "0")) < 0 ||
            (r = match(j, "SYSLOG_IDENTIFIER", "fawatchd")) < 0)
                return r;
        return j->place ? sd_journal_seek_cursor(j->j, j->place) : sd_journal_seek_tail(j->j);
}

/* ---- moving ---- */

int journal_seek(struct journal *j, uint64_t realtime_usec)
{
        free(STEAL(j->place));
        return sd_journal_seek_realtime_usec(j->j, realtime_usec);
}

typedef int (*move_fn)(sd_journal *);

/* After sd_journal_seek_cursor() the place itself comes first, if it still matches. */
static int move(struct journal *j, move_fn step)
{
        int r = step(j->j);

        if (r > 0 && j->place && sd_journal_test_cursor(j->j, j->place) > 0)
                r = step(j->j);
        free(STEAL(j->place));
        return r;
}

int journal_next(struct journal *j)
{
        return move(j, sd_journal_next);
}

int journal_previous(struct journal *j)
{
        return move(j, sd_journal_previous);
}

int journal_wait(struct journal *j, uint64_t usec)
{
        return sd_journal_wait(j->j, usec);
}

/* ---- the record ---- */

uint64_t journal_realtime(struct journal *j)
{
        uint64_t usec;

        return sd_journal_get_realtime_usec(j->j, &usec) < 0 ? 0 : usec;
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

uint64_t journal_monotonic(struct journal *j, char ret_boot[static 33])
{
        sd_id128_t boot = SD_ID128_NULL;
        uint64_t usec;

        int r = sd_journal_get_monotonic_usec(j->j, &usec, &boot);
        sd_id128_to_string(boot, ret_boot);
        return r < 0 ? 0 : usec;
}

/* Room in v for a text of len bytes and its end. */
static bool make_room(struct value *v, size_t len)
{
        char *text;

        if (v->cap > len)
                return true;
        text = realloc(v->text, len + 1);
        if (!text)
                return false;
        v->text = text;
        v->cap = len + 1;
        return true;
}

const char *journal_field(struct journal *j, const char *name)
{
        struct value *v = value_of(j, name);
        const void *data;
        size_t len, skip = strlen(name) + 1;

        if (!v || sd_journal_get_data(j->j, name, &data, &len) < 0 || len < skip)
                return "";
        len -= skip;
        if (!make_room(v, len))
                return "";
        memcpy(v->text, (const char *)data + skip, len);
        v->text[len] = '\0';
        return v->text;
}

const char *journal_values(struct journal *j, const char *name)
{
        struct value *v = value_of(j, name);
        const void *data;
        size_t len, skip = strlen(name) + 1, n = 0;

        if (!v || !make_room(v, 0))
                return "";
        SD_JOURNAL_FOREACH_DATA (j->j, data, len) {
                if (len < skip || memcmp(data, name, skip - 1) != 0 || ((const char *)data)[skip - 1] != '=')
                        continue;
                if (!make_room(v, n + 1 + len - skip))
                        break;
                if (n > 0)
                        v->text[n++] = ' ';
                memcpy(v->text + n, (const char *)data + skip, len - skip);
                n += len - skip;
        }
        v->text[n] = '\0';
        return v->text;
}

uint64_t journal_number(struct journal *j, const char *name)
{
        return strtoull(journal_field(j, name), NULL, 10);
}

/* What fawatchd wrote, without what journald added. */
static bool is_written_by_us(const char *field, size_t len)
{
        static const char *const names[] = { "FAWATCH_", "MESSAGE", "PRIORITY=", "SYSLOG_",
                                             "OBJECT_SYSTEMD_UNIT=" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (len >= strlen(names[i]) && memcmp(field, names[i], strlen(names[i])) == 0)
                        return true;
        return false;
}

int journal_record(struct journal *j, struct strbuf *record)
{
        const void *data;
        size_t len;
        int r;

        strbuf_reset(record);
        sd_journal_restart_data(j->j);
        while ((r = sd_journal_enumerate_available_data(j->j, &data, &len)) > 0) {
                const char *field = data, *equals = memchr(data, '=', len);
                char name[65] = {};

                if (!equals || (size_t)(equals - field) >= sizeof(name) || !is_written_by_us(field, len))
                        continue;
                memcpy(name, field, (size_t)(equals - field));
                record_field(record, name, equals + 1, len - (size_t)(equals + 1 - field));
        }
        return r < 0 ? r : strbuf_failed(record) ? -ENOMEM : 0;
}

uint64_t journal_oldest(struct journal *j)
{
        uint64_t from, to;

        return sd_journal_get_cutoff_realtime_usec(j->j, &from, &to) > 0 ? from : 0;
}

/* "Suppressed 5 messages from fawatchd.service": it names the unit only here when the process is gone. */
static bool is_about_us(struct journal *j)
{
        static const char end[] = " from fawatchd.service";
        const char *message = journal_field(j, "MESSAGE");
        size_t len = strlen(message), n = sizeof(end) - 1;

        return streq(journal_field(j, "OBJECT_SYSTEMD_UNIT"), "fawatchd.service") ||
               (len > n && streq(message + len - n, end));
}

int journal_suppressed(uint64_t since_usec, uint64_t *ret)
{
        _cleanup_(journal_closep) struct journal *j = NULL;
        char id[33];
        int r = journal_open(&j);

        if (r < 0)
                return r;
        sd_journal_flush_matches(j->j);
        sd_id128_to_string(SD_MESSAGE_JOURNAL_DROPPED, id);
        /* journald itself, and nobody who says the same */
        if ((r = match(j, "MESSAGE_ID", id)) < 0 || (r = match(j, "_TRANSPORT", "driver")) < 0 ||
            (r = journal_seek(j, since_usec)) < 0)
                return r;
        *ret = 0;
        while ((r = journal_next(j)) > 0)
                if (journal_realtime(j) >= since_usec && is_about_us(j))
                        *ret += journal_number(j, "N_DROPPED");
        return r;
}
