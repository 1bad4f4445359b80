/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The line for people. */

#include "message.h"

#include "escape.h"
#include "record_fields.h"

static void add_text(struct strbuf *out, const char *s)
{
        escape_text(s, strlen(s), out);
}

static void add_rules(const struct record_context *c, const struct match_hits *hits, struct strbuf *out)
{
        for (size_t i = 0; i < hits->n; i++) {
                if (i > 0)
                        strbuf_addc(out, ',');
                add_text(out, c->rules->watches[hits->v[i].rule].clause.name);
        }
        strbuf_adds(out, ": ");
}

static const char *object_noun(const struct event *e)
{
        if (e->is_dir)
                return "directory";
        return e->object.type == TYPE_SYMLINK ? "symbolic link" : "file";
}

/* What it happened to: of a rename the old name, as the new one follows the verb. */
static void add_subject(const struct event *e, uint32_t events, struct strbuf *out)
{
        static const char *const state_texts[] = {
                [PATH_REPLACED] = " (the name leads to another object now)",
                [PATH_DELETED] = " (no longer has a name)",
                [PATH_HIDDEN] = " (hidden by a mount)",
                [PATH_INSIDE] = " (inside of ",
        };

        if (events & EV_RENAME && e->old_path.p)
                escape_text(e->old_path.p, e->old_path.len, out);
        else if (e->path.p)
                escape_text(e->path.p, e->path.len, out);
        else if (e->name.p)
                escape_text(e->name.p, e->name.len, out), strbuf_adds(out, " (its directory is gone)");
        else
                strbuf_addf(out, "a %s without a known path", object_noun(e));
        if (e->path_state != PATH_NORMAL)
                strbuf_adds(out, state_texts[e->path_state]);
        if (e->path_state == PATH_INSIDE) {
                add_text(out, e->source ? e->source : "a filesystem that is not mounted here");
                strbuf_addc(out, ')');
        }
}

static void add_rename(const struct event *e, struct strbuf *out)
{
        if (e->old_path.p && e->path.p) {
                strbuf_adds(out, "renamed to ");
                escape_text(e->path.p, e->path.len, out);
        } else {
                /* the other name is not known: one half of a move */
                strbuf_adds(out, e->old_path.p ? "renamed away" : "renamed to this name");
        }
}

/* In an order that reads as things happen; the kernel does not tell which came first. */
static const struct {
        uint32_t event;
        const char *verb;
} verbs[] = {
        { EV_REPLACED, "replaced" },
        { EV_CREATE, "created" },
        { EV_RENAME, NULL }, /* add_rename() */
        { EV_MOVE_SELF, "moved" },
        { EV_OPEN, "opened" },
        { EV_OPEN_EXEC, "executed" },
        { EV_ACCESS, "read" },
        { EV_CHANGED, "changed" },
        { EV_MODIFY, "modified" },
        { EV_CLOSE_WRITE, "written" },
        { EV_ATTRIB, "attributes changed" },
        { EV_CLOSE_NOWRITE, "closed" },
        { EV_FS_ERROR, "raised a filesystem error" },
        { EV_DELETE_SELF, "deleted" },
        { EV_DELETE, "deleted" },
};

/* "created, modified and deleted" */
static void add_verbs(const struct event *e, uint32_t events, struct strbuf *out)
{
        if (events & EV_MODIFY)
                events &= ~(uint32_t)EV_CLOSE_WRITE; /* says nothing more */
        if (events & EV_OPEN_EXEC)
                events &= ~(uint32_t)EV_OPEN;
        for (size_t i = 0, n = 0; i < ELEMENTSOF(verbs); i++) {
                if (!(events & verbs[i].event))
                        continue;
                if (n++ > 0)
                        strbuf_adds(out, n < (size_t)__builtin_popcount(events) ? ", " : " and ");
                if (verbs[i].verb)
                        strbuf_adds(out, verbs[i].verb);
                else
                        add_rename(e, out);
        }
        if (events & EV_REPLACED && e->cause.p) {
                strbuf_adds(out, " through ");
                escape_text(e->cause.p, e->cause.len, out);
        }
}

static bool shows(uint64_t omit, enum record_field field)
{
        return !(omit & FIELD_BIT(field));
}

static void add_process(const struct actor *a, const char *kind, uint64_t omit, struct strbuf *out)
{
        bool comm = a->comm && shows(omit, FIELD_COMM);
        bool pid = a->pid > 0 && shows(omit, FIELD_PID);

        strbuf_adds(out, kind);
        if (comm)
                add_text(out, a->comm);
        if (pid) {
                strbuf_adds(out, comm ? "[" : "process ");
                strbuf_addu(out, (uint64_t)a->pid);
                strbuf_adds(out, comm ? "]" : "");
        } else if (!comm) {
                strbuf_adds(out, "a process");
        }
}

/* " PREFIXname", or the number where the name is not known or not shown. */
static void add_id(const char *prefix, const char *name, uint32_t id, struct strbuf *out)
{
        if (!name && id == ID_UNKNOWN)
                return;
        strbuf_adds(out, prefix);
        if (name)
                add_text(out, name);
        else
                strbuf_addf(out, "uid %u", id);
}

static void add_login(const struct actor *a, uint64_t omit, struct strbuf *out)
{
        const char *user = shows(omit, FIELD_USER) ? a->user : NULL;
        const char *login = shows(omit, FIELD_LOGIN_USER) ? a->login_user : NULL;

        add_id(" as ", user, shows(omit, FIELD_UID) ? a->euid : ID_UNKNOWN, out);
        if (a->loginuid != a->euid)
                add_id(", login ", login, shows(omit, FIELD_LOGINUID) ? a->loginuid : ID_UNKNOWN, out);
}

static void add_unit(const struct actor *a, uint64_t omit, struct strbuf *out)
{
        const char *unit = NULL;

        if (a->user_unit && shows(omit, FIELD_USER_UNIT))
                unit = a->user_unit;
        else if (a->unit && shows(omit, FIELD_UNIT))
                unit = a->unit;
        if (unit) {
                strbuf_adds(out, ", ");
                add_text(out, unit);
        }
        if (a->container && shows(omit, FIELD_CONTAINER)) {
                /* as the container tools show it: the first twelve digits */
                strbuf_adds(out, ", container ");
                escape_text(a->container, strnlen(a->container, 12), out);
        }
}

static void add_actor(const struct event *e, uint64_t omit, struct strbuf *out)
{
        const struct actor *a = e->actor;

        switch (e->attribution) {
        case ATTRIBUTION_VERIFIED:
        case ATTRIBUTION_PROCESS:
        case ATTRIBUTION_TRACKED:
                add_process(a, " by ", omit, out);
                break;
        case ATTRIBUTION_EXITED:
                add_process(a, " by ", omit, out);
                strbuf_adds(out, " (gone)");
                break;
        case ATTRIBUTION_FOREIGN:
                strbuf_adds(out, " by a process outside this pid namespace");
                return;
        case ATTRIBUTION_KERNEL:
                if (!a->comm && a->pid == 0)
                        strbuf_adds(out, " by the kernel");
                else
                        add_process(a, " by kernel thread ", omit, out);
                return;
        case ATTRIBUTION_UNKNOWN:
                strbuf_adds(out, " by an unknown process");
                return;
        }
        add_login(a, omit, out);
        add_unit(a, omit, out);
}

static void add_circumstances(const struct event *e, struct strbuf *out)
{
        static const char *const origin_texts[] = {
                [ORIGIN_SCAN] = " (found by a scan)",
                [ORIGIN_RECOVERY] = " (found after a gap)",
                [ORIGIN_REPLAY] = " (perhaps reported before)",
        };

        if (e->count >= 2) {
                uint64_t tenths = (e->last_usec - e->first_usec + USEC_PER_SEC / 20) / (USEC_PER_SEC / 10);

                strbuf_addf(out, " (%llu times in %llu.%llus)", (unsigned long long)e->count,
                            (unsigned long long)(tenths / 10), (unsigned long long)(tenths % 10));
        }
        if (e->origin != ORIGIN_KERNEL)
                strbuf_adds(out, origin_texts[e->origin]);
}

void message_event(const struct record_context *c, const struct event *e, const struct match_hits *hits,
                   uint64_t omit, struct strbuf *out)
{
        uint32_t events = record_shown_events(e->events);

        add_rules(c, hits, out);
        add_subject(e, events, out);
        strbuf_addc(out, ' ');
        add_verbs(e, events, out);
        add_actor(e, omit, out);
        add_circumstances(e, out);
}
