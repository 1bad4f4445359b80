/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Of a path: the rules that speak of it, the marks that touch it, and what becomes of each event. */

#include <errno.h>
#include <jansson.h>
#include <unistd.h>

#include "client.h"
#include "cmd.h"
#include "print.h"

/* ---- the question ---- */

/* As the daemon takes it: absolute.  "." and ".." are its business, they may stand behind a link. */
static char *absolute(const char *path)
{
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;
        _cleanup_free_ char *here = NULL;

        if (path[0] != '/') {
                here = getcwd(NULL, 0);
                if (!here)
                        return NULL;
                strbuf_addf(&out, "%s/", streq(here, "/") ? "" : here);
        }
        strbuf_adds(&out, path);
        return strbuf_steal(&out);
}

static enum exit_status ask(const struct invocation *i, json_t **ret)
{
        _cleanup_(client_freep) struct client *c = NULL;
        _cleanup_answer_ struct client_answer answer = {};
        _cleanup_free_ char *path = absolute(i->file), *second = i->second ? absolute(i->second) : NULL;
        int r;

        if (!path || (i->second && !second)) {
                complain("the working directory cannot be told: %s", strerror(errno));
                return STATUS_OTHER;
        }
        r = client_open(i->socket, &c);
        if (r >= 0)
                r = client_explain(c, path, second, &answer);
        if (r == -EINVAL || r == -ENOENT) {
                complain(r == -ENOENT ? "no mount shows %s" : "the daemon does not take %s as a path", path);
                return STATUS_OTHER;
        }
        if (r < 0)
                return explain_no_answer(r);
        *ret = json_loadb(answer.bytes, answer.len, 0, NULL);
        if (*ret)
                return STATUS_YES;
        complain("the daemon's answer cannot be read: is it of another version? (systemctl restart fawatchd)");
        return STATUS_OTHER;
}

/* ---- the path ---- */

static void print_head(const json_t *name)
{
        const json_t *links = json_object_get(name, "links");
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        bool exists = json_flag(name, "exists");

        print_toned(stdout, TONE_STRONG, json_text(name, "asked"));
        if (!streq(json_text(name, "asked"), json_text(name, "path")))
                printf(" → %s", json_text(name, "path"));
        printf("\n  %s%s%s on %s (%s %s)\n", exists ? "" : "does not exist, taken for a ", json_text(name, "type"),
               exists && json_number(name, "names") > 1 && !streq(json_text(name, "type"), "directory") ?
                       " with several names" : "",
               json_text(name, "mountpoint"), json_text(name, "fstype"), json_text(name, "device"));
        if (*json_text(name, "error"))
                printf("  cannot be looked at: %s\n", json_text(name, "error"));
        json_join(links, ", ", &text);
        if (exists && json_array_size(links) > 0)
                printf("  through %s\n", strbuf_str(&text));
}

/* "web/uploads" of an except, else the name. */
static void add_name(const json_t *clause, struct strbuf *out)
{
        if (*json_text(clause, "rule"))
                strbuf_addf(out, "%s/", json_text(clause, "rule"));
        strbuf_adds(out, json_text(clause, "name"));
}

static void add_place(const json_t *clause, struct strbuf *out)
{
        if (*json_text(clause, "file"))
                strbuf_addf(out, "%s:%u", json_text(clause, "file"), (unsigned)json_number(clause, "line"));
        else
                strbuf_addc(out, '-');
}

static void join_or_dash(const json_t *object, const char *key, struct strbuf *out)
{
        json_join(json_object_get(object, key), ",", out);
        if (out->len == 0)
                strbuf_addc(out, '-');
}

/* The list of a rule; n: how many events this object has, a filesystem's errors among them. */
static void add_events(const json_t *clause, size_t n, struct strbuf *out)
{
        const json_t *events = json_object_get(clause, "events");

        if (n > 2 && json_array_size(events) + 1 >= n)
                strbuf_adds(out, "every event");
        else
                json_join(events, ",", out);
}

static void print_rules(const json_t *name, size_t n_events)
{
        _cleanup_table_ struct table t = {};
        size_t i;
        json_t *clause;

        table_add(&t, (const char *const[]){ "  RULES", "NAME", "AT", "EVENTS", "STATE" }, 5);
        json_array_foreach (json_object_get(name, "rules"), i, clause) {
                _cleanup_strbuf_ struct strbuf kind = STRBUF_NULL, title = STRBUF_NULL, at = STRBUF_NULL,
                                               events = STRBUF_NULL;

                strbuf_addf(&kind, "  %s", json_text(clause, "kind"));
                add_name(clause, &title);
                add_place(clause, &at);
                add_events(clause, n_events, &events);
                table_add(&t,
                          (const char *const[]){ strbuf_str(&kind), strbuf_str(&title), strbuf_str(&at),
                                                 strbuf_str(&events), json_text(clause, "state") },
                          5);
        }
        if (t.n_rows > 1)
                table_print(&t, stdout, NULL, NULL);
        else
                printf("  no rule speaks of it\n");
}

static void print_marks(const json_t *name)
{
        _cleanup_table_ struct table t = {};
        size_t i;
        json_t *mark;

        table_add(&t, (const char *const[]){ "  MARKS", "ASKS", "IGNORES", "FLAGS", "INTEREST" }, 5);
        json_array_foreach (json_object_get(name, "marks"), i, mark) {
                _cleanup_strbuf_ struct strbuf slot = STRBUF_NULL, mask = STRBUF_NULL, ignored = STRBUF_NULL,
                                               flags = STRBUF_NULL, interest = STRBUF_NULL;

                if (!*json_text(mark, "object"))
                        continue;
                strbuf_addf(&slot, "  %s", json_text(mark, "slot"));
                join_or_dash(mark, "mask", &mask);
                join_or_dash(mark, "ignore_mask", &ignored);
                join_or_dash(mark, "flags", &flags);
                join_or_dash(mark, "interest", &interest);
                table_add(&t,
                          (const char *const[]){ strbuf_str(&slot), strbuf_str(&mask), strbuf_str(&ignored),
                                                 strbuf_str(&flags), strbuf_str(&interest) },
                          5);
        }
        if (t.n_rows > 1)
                table_print(&t, stdout, NULL, NULL);
        else
                printf("  no mark of ours touches it: its events cost nothing\n");
}

/* ---- the events ---- */

static void add_by(const json_t *by, struct strbuf *out)
{
        strbuf_addf(out, "%s ", json_text(by, "kind"));
        add_name(by, out);
        if (*json_text(by, "file")) {
                strbuf_adds(out, " (");
                add_place(by, out);
                strbuf_addc(out, ')');
        }
}

static void add_record(const json_t *record, struct strbuf *out)
{
        strbuf_addf(out, "%s record, %s, of ", json_text(record, "kind"), json_text(record, "priority"));
        json_join(json_object_get(record, "rules"), ", ", out);
        if (json_number(record, "coalesce_usec") > 0)
                strbuf_adds(out, ", coalesced");
        if (*json_text(record, "old_path"))
                strbuf_addf(out, ": %s from %s", json_text(record, "path"), json_text(record, "old_path"));
}

/* Where it was decided, and by what. */
static void add_why(const json_t *event, struct strbuf *out)
{
        const char *decided = json_text(event, "decided");
        const json_t *by = json_object_get(event, "by");

        if (json_flag(event, "reported"))
                add_record(json_object_get(event, "record"), out);
        else if (streq(decided, "kernel ignore"))
                strbuf_addf(out, "ignored in the kernel, at the %s", json_text(event, "slot"));
        else if (streq(decided, "no mark asks"))
                strbuf_adds(out, "no mark asks for it");
        else if (json_flag(event, "nameless"))
                strbuf_adds(out, "read, but without a name: a rule of scope file or directory would follow it");
        else
                strbuf_adds(out, json_is_object(by) ? "filtered here" : "read, and no rule wants it");
        if (json_is_object(by)) {
                strbuf_adds(out, ": ");
                add_by(by, out);
        }
        if (json_flag(event, "uncovered"))
                strbuf_adds(out, "; a rule wants it: see fawatchctl coverage");
        if (json_flag(event, "by_actor"))
                strbuf_adds(out, "; depends on who it is");
        if (json_flag(event, "spends"))
                strbuf_adds(out, "; ends an ignore until it is modified");
}

static enum tone tone_of_event(void *userdata, size_t row)
{
        const json_t *event = json_array_get(userdata, row - 1);

        if (json_flag(event, "reported"))
                return TONE_GOOD;
        return json_flag(event, "uncovered") ? TONE_WARNING : TONE_DIM;
}

static void print_events(json_t *events)
{
        _cleanup_table_ struct table t = {};
        size_t i;
        json_t *event;

        table_add(&t, (const char *const[]){ "  EVENT", "REPORTED", "BECAUSE" }, 3);
        json_array_foreach (events, i, event) {
                _cleanup_strbuf_ struct strbuf name = STRBUF_NULL, why = STRBUF_NULL;

                strbuf_addf(&name, "  %s", json_text(event, "event"));
                add_why(event, &why);
                table_add(&t,
                          (const char *const[]){ strbuf_str(&name), json_flag(event, "reported") ? "yes" : "no",
                                                 strbuf_str(&why) },
                          3);
        }
        table_print(&t, stdout, tone_of_event, events);
}

static void print_explanation(const json_t *answer)
{
        size_t i;
        json_t *name;

        json_array_foreach (json_object_get(answer, "paths"), i, name) {
                print_head(name);
                print_rules(name, json_array_size(json_object_get(answer, "events")));
                print_marks(name);
        }
        if (*json_text(answer, "note"))
                print_finding(stdout, DIAG_NOTE, NULL, 0, json_text(answer, "note"));
        print_events(json_object_get(answer, "events"));
}

enum exit_status cmd_explain(const struct invocation *i)
{
        json_t *answer = NULL;
        enum exit_status status = ask(i, &answer);

        if (!answer)
                return status;
        if (i->json)
                print_json(answer);
        else
                print_explanation(answer);
        json_decref(answer);
        return STATUS_YES;
}
