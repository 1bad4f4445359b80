/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "journal.h"

#include <errno.h>
#include <systemd/sd-journal.h>

#include "record.h"

struct journal {
        sd_journal *j;
        char *cursor; /* of the last record given, NULL at the beginning */
};

int journal_open(struct journal **ret)
{
        _cleanup_(journal_closep) struct journal *j = calloc(1, sizeof(*j));

        if (!j)
                return -ENOMEM;
        int r = sd_journal_open(&j->j, SD_JOURNAL_LOCAL_ONLY);
        if (r < 0)
                return r;
        (void)sd_journal_set_data_threshold(j->j, 0); /* values whole */
        *ret = STEAL(j);
        return 0;
}

void journal_close(struct journal *j)
{
        if (!j)
                return;
        sd_journal_close(j->j);
        free(j->cursor);
        free(j);
}

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
        return j->cursor ? sd_journal_seek_cursor(j->j, j->cursor) : sd_journal_seek_tail(j->j);
}

/* What fawatchd wrote, without what journald added. */
static bool is_ours(const char *field, size_t len)
{
        static const char *const names[] = { "FAWATCH_", "MESSAGE", "PRIORITY=", "SYSLOG_",
                                             "OBJECT_SYSTEMD_UNIT=" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (len >= strlen(names[i]) && memcmp(field, names[i], strlen(names[i])) == 0)
                        return true;
        return false;
}

static int copy_record(struct journal *j, struct strbuf *record)
{
        const void *data;
        size_t len;
        int r;

        strbuf_reset(record);
        sd_journal_restart_data(j->j);
        while ((r = sd_journal_enumerate_available_data(j->j, &data, &len)) > 0) {
                const char *field = data, *equals = memchr(data, '=', len);
                char name[65] = {};

                if (!equals || (size_t)(equals - field) >= sizeof(name) || !is_ours(field, len))
                        continue;
                memcpy(name, field, (size_t)(equals - field));
                record_field(record, name, equals + 1, len - (size_t)(equals + 1 - field));
        }
        return r < 0 ? r : strbuf_failed(record) ? -ENOMEM : 0;
}

int journal_previous(struct journal *j, struct strbuf *record, uint64_t *ret_usec)
{
        int r = sd_journal_previous(j->j);

        /* after a new match the place itself may come again */
        if (r > 0 && j->cursor && sd_journal_test_cursor(j->j, j->cursor) > 0)
                r = sd_journal_previous(j->j);
        if (r <= 0)
                return r;
        free(STEAL(j->cursor));
        if ((r = sd_journal_get_cursor(j->j, &j->cursor)) < 0 ||
            (r = sd_journal_get_realtime_usec(j->j, ret_usec)) < 0 || (r = copy_record(j, record)) < 0)
                return r;
        return 1;
}

uint64_t journal_begin_usec(struct journal *j)
{
        uint64_t usec;

        sd_journal_flush_matches(j->j);
        if (sd_journal_seek_head(j->j) < 0 || sd_journal_next(j->j) <= 0 ||
            sd_journal_get_realtime_usec(j->j, &usec) < 0)
                return 0;
        return usec;
}
