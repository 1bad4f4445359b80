/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who changed a path: what the journal says, through renames, the last change last. */

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "client.h"
#include "cmd.h"
#include "escape.h"
#include "journal.h"
#include "paths.h"
#include "print.h"
#include "record.h"
#include "when.h"
#include "who_rule.h"

struct names { /* of the path, the first as asked for; more come with each rename */
        char **v;
        size_t n;
};

struct found {
        struct found *older; /* found later: the journal is read backwards */
        struct found *newer;
        uint64_t usec;
        size_t len;
        char record[];
};

struct search {
        struct journal *journal;
        struct names names;
        uint64_t since_usec;
        struct found *newest, *oldest;
        size_t n;
};

static void search_done(struct search *s)
{
        while (s->newest) {
                struct found *older = s->newest->older;

                free(s->newest);
                s->newest = older;
        }
        for (size_t i = 0; i < s->names.n; i++)
                free(s->names.v[i]);
        free(s->names.v);
        journal_close(s->journal);
}

/* Takes name over.  1 when it is new. */
static int add_name(struct names *names, char *name)
{
        if (!name)
                return -ENOMEM;
        for (size_t i = 0; i < names->n; i++)
                if (streq(names->v[i], name)) {
                        free(name);
                        return 0;
                }
        char **v = reallocarray(names->v, names->n + 1, sizeof(*v));
        if (!v) {
                free(name);
                return -ENOMEM;
        }
        names->v = v;
        v[names->n++] = name;
        return 1;
}

/* ---- reading ---- */

static bool is_name(struct bytes b, const char *name)
{
        return b.len == strlen(name) && memcmp(b.p, name, b.len) == 0;
}

/* The first value of a field; absent when there is none. */
static struct bytes field(const char *record, size_t len, const char *wanted)
{
        struct record_cursor c = { .data = record, .len = len };
        struct bytes name, value;

        while (record_next(&c, &name, &value) > 0)
                if (is_name(name, wanted))
                        return value;
        return (struct bytes){};
}

static bool has_value(const char *record, size_t len, const char *wanted, const char *text)
{
        struct record_cursor c = { .data = record, .len = len };
        struct bytes name, value;

        while (record_next(&c, &name, &value) > 0)
                if (is_name(name, wanted) && is_name(value, text))
                        return true;
        return false;
}

/* Before a rename of the path, or of a directory above it, it had another name. */
static int follow_rename(struct search *s, const char *record, size_t len)
{
        struct bytes new = field(record, len, "FAWATCH_PATH"), old = field(record, len, "FAWATCH_OLD_PATH");
        int more = 0;

        if (!new.p || !old.p || !has_value(record, len, "FAWATCH_EVENT", "rename"))
                return 0;

        _cleanup_free_ char *to = strndup(new.p, new.len), *from = strndup(old.p, old.len);
        if (!to || !from)
                return -ENOMEM;
        for (size_t i = 0, n = s->names.n; i < n; i++) {
                const char *rest = path_below(s->names.v[i], to);
                char *name = NULL;

                if (!rest)
                        continue;
                int r = add_name(&s->names, asprintf(&name, "%s%s", from, rest) < 0 ? NULL : name);
                if (r < 0)
                        return r;
                more |= r;
        }
        return more;
}

/* A rename of a directory above concerns the path only when it gave it its name. */
static bool concerns(const struct search *s, const char *record, size_t len)
{
        static const char *const fields[] = { "FAWATCH_PATH", "FAWATCH_OLD_PATH" };

        for (size_t k = 0; k < ELEMENTSOF(fields); k++) {
                struct bytes value = field(record, len, fields[k]);
                _cleanup_free_ char *path = value.p ? strndup(value.p, value.len) : NULL;

                for (size_t i = 0; path && i < s->names.n; i++)
                        if (path_below(path, s->names.v[i]) || path_below(s->names.v[i], path))
                                return true;
        }
        return false;
}

static int keep(struct search *s, const struct strbuf *record, uint64_t usec)
{
        struct found *f = malloc(sizeof(*f) + record->len);

        if (!f)
                return -ENOMEM;
        *f = (struct found){ .usec = usec, .len = record->len, .newer = s->oldest };
        memcpy(f->record, record->data, record->len);
        *(s->oldest ? &s->oldest->older : &s->newest) = f;
        s->oldest = f;
        s->n++;
        return 0;
}

static int match_names(struct search *s)
{
        return journal_match_paths(s->journal, (const char *const *)s->names.v, s->names.n);
}

static int search(struct search *s)
{
        _cleanup_strbuf_ struct strbuf record = STRBUF_NULL;
        int r = match_names(s);

        if (r < 0)
                return r;
        while ((r = journal_previous(s->journal)) > 0) {
                uint64_t usec = journal_realtime(s->journal);

                if (usec < s->since_usec)
                        break;
                if ((r = journal_record(s->journal, &record)) < 0)
                        return r;
                if (!field(record.data, record.len, "FAWATCH_EVENT").p ||
                    !concerns(s, record.data, record.len))
                        continue;
                if ((r = keep(s, &record, usec)) < 0 || (r = follow_rename(s, record.data, record.len)) < 0)
                        return r;
                if (r > 0 && (r = match_names(s)) < 0)
                        return r;
        }
        return r < 0 ? r : 0;
}

/* ---- telling ---- */

static void add_field(const struct found *f, const char *before, const char *name, const char *behind,
                      struct strbuf *out)
{
        struct bytes value = field(f->record, f->len, name);

        if (!value.p)
                return;
        strbuf_adds(out, before);
        escape_text(value.p, value.len, out);
        strbuf_adds(out, behind);
}

static void add_who(const struct found *f, struct strbuf *out)
{
        struct bytes attribution = field(f->record, f->len, "FAWATCH_ATTRIBUTION");
        size_t begin = out->len;

        add_field(f, "", "FAWATCH_COMM", "", out);
        add_field(f, out->len > begin ? "[" : "process ", "FAWATCH_PID", out->len > begin ? "]" : "", out);
        if (out->len == begin)
                strbuf_adds(out, "not known");
        begin = out->len;
        add_field(f, " as ", "FAWATCH_USER", "", out);
        if (out->len == begin) {
                add_field(f, " as uid ",
                          field(f->record, f->len, "FAWATCH_EUID").p ? "FAWATCH_EUID" : "FAWATCH_UID", "",
                          out);
        }
        begin = out->len;
        add_field(f, ", login ", "FAWATCH_LOGIN_USER", "", out);
        if (out->len == begin)
                add_field(f, ", login uid ", "FAWATCH_LOGINUID", "", out);
        add_field(f, ", ", "FAWATCH_UNIT", "", out);
        add_field(f, " / ", "FAWATCH_USER_UNIT", "", out);
        add_field(f, ", container ", "FAWATCH_CONTAINER", "", out);
        if (attribution.p && !is_name(attribution, "verified")) {
                strbuf_adds(out, "  (");
                strbuf_add(out, attribution.p, attribution.len);
                strbuf_addc(out, ')');
        }
}

static void print_line(const char *head, struct strbuf *text)
{
        if (text->len > 0)
                printf("    %-9s %s\n", head, strbuf_str(text));
        strbuf_reset(text);
}

static uint64_t time_of(const struct found *f)
{
        struct bytes value = field(f->record, f->len, "FAWATCH_REALTIME_USEC");
        uint64_t n = 0;

        for (size_t i = 0; i < value.len && value.p[i] >= '0' && value.p[i] <= '9'; i++)
                n = n * 10 + (uint64_t)(value.p[i] - '0');
        return n ? n : f->usec;
}

static void print_found(const struct found *f)
{
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        char when[TIME_SIZE];

        format_time(time_of(f), true, when, sizeof(when));
        add_field(f, "", "FAWATCH_EVENTS", "", &text);
        add_field(f, " ", "FAWATCH_OLD_PATH", " ->", &text);
        add_field(f, " ", "FAWATCH_PATH", "", &text);
        add_field(f, " ?/", "FAWATCH_NAME", "", &text);
        add_field(f, "  (", "FAWATCH_COUNT", " times)", &text);
        printf("%s%s%s %s%s%s\n", tone_on(stdout, TONE_DIM), when, tone_off(stdout, TONE_DIM),
               tone_on(stdout, TONE_STRONG), strbuf_str(&text), tone_off(stdout, TONE_STRONG));
        strbuf_reset(&text);
        add_who(f, &text);
        print_line("who", &text);
        add_field(f, "", "FAWATCH_EXE", "", &text);
        print_line("program", &text);
        add_field(f, "", "FAWATCH_CMDLINE", "", &text);
        print_line("command", &text);
        add_field(f, "", "FAWATCH_ANCESTRY", "", &text);
        print_line("from", &text);
        add_field(f, "", "FAWATCH_NEXT_COMM", " ", &text);
        add_field(f, "", "FAWATCH_NEXT_EXE", "", &text);
        print_line("and then", &text);
}

static int print_all(const struct search *s, bool json)
{
        _cleanup_strbuf_ struct strbuf line = STRBUF_NULL;

        for (const struct found *f = s->oldest; f; f = f->newer) {
                if (!json) {
                        print_found(f);
                        continue;
                }
                strbuf_reset(&line);
                int r = record_json(f->record, f->len, f->usec, &line);
                if (r < 0)
                        return r;
                fwrite(line.data, 1, line.len, stdout);
        }
        return 0;
}

/* ---- what the answer does not cover ---- */

static void tell_reach(struct search *s, bool since_given)
{
        uint64_t begin = journal_oldest(s->journal);
        char when[TIME_SIZE];

        if (begin == 0) {
                complain("the journal has no entries%s",
                         geteuid() == 0 ? "" : " that you may read (try sudo)");
                return;
        }
        format_time(begin, false, when, sizeof(when));
        if (!since_given || begin > s->since_usec)
                complain("the journal reaches back to %s: what was before is not known", when);
}

static void tell_rule(const struct invocation *i, const struct search *s)
{
        _cleanup_(client_freep) struct client *c = NULL;
        _cleanup_answer_ struct client_answer answer = {};
        _cleanup_(rules_freep) struct rules *rules = NULL;
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        struct diag diag = DIAG_NULL;

        if (client_open(i->socket, &c) < 0 || client_ask(c, "Rules", &answer) < 0) {
                complain("the daemon does not answer: whether a rule watches %s now is not known",
                         s->names.v[0]);
                return;
        }
        const struct conf_text file = { .name = (char *)"rules", .text = answer.bytes, .len = answer.len };
        if (rules_parse(&file, 1, &diag, &rules) == 0 &&
            who_rule_missing(rules, (const char *const *)s->names.v, s->names.n, &text))
                complain("%s", strbuf_str(&text));
        diag_done(&diag);
}

static enum exit_status begin(const struct invocation *i, struct search *s)
{
        if (!i->file) {
                complain("who: which path? See fawatchctl who --help");
                return STATUS_USAGE;
        }
        if (i->file[0] != '/') {
                complain("who %s: give an absolute path", i->file);
                return STATUS_USAGE;
        }
        if (i->since && !when_parse(i->since, when_now_usec(), &s->since_usec)) {
                complain("--since=%s: give a time (2026-05-01 12:00), today, yesterday, or how long ago (2h)",
                         i->since);
                return STATUS_USAGE;
        }
        /* as written, and where a link leads: records name what it leads to, and the link itself */
        if (add_name(&s->names, path_tidy(i->file)) < 0 || add_name(&s->names, path_canonical(i->file)) < 0)
                return STATUS_OTHER;
        int r = journal_open(&s->journal);
        if (r < 0) {
                complain("the journal cannot be opened: %s", strerror(-r));
                return r == -EACCES || r == -EPERM ? STATUS_NOT_PERMITTED : STATUS_OTHER;
        }
        return STATUS_YES;
}

enum exit_status cmd_who(const struct invocation *i)
{
        _cleanup_(search_done) struct search s = {};
        enum exit_status status = begin(i, &s);

        if (status != STATUS_YES)
                return status;
        int r = search(&s);
        if (r >= 0)
                r = print_all(&s, i->json);
        if (r < 0) {
                complain("the journal cannot be read: %s", strerror(-r));
                return STATUS_OTHER;
        }
        fflush(stdout);
        if (s.n == 0)
                complain("%s: no record%s", s.names.v[0], i->since ? " in that time" : "");
        tell_reach(&s, i->since);
        tell_rule(i, &s);
        return s.n > 0 ? STATUS_YES : STATUS_NO;
}
