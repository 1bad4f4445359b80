/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What was held meets the rules once more, now with its object and process, and
 * becomes a record.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "hash.h"
#include "note_fields.h"
#include "pipeline_internal.h"

/* a window of long paths needs more now and then: that much is not kept for it */
#define MAX_TEXTS_KEPT (1024u * 1024u)

/* ---- until = "modified" ---- */

static char *ignore_text(const struct clause *ignore)
{
        struct strbuf text = STRBUF_NULL;

        rules_print_ignore(ignore, &text);
        return strbuf_steal(&text);
}

static struct spent *find_spent(struct pipeline *p, const char *name, const char *text)
{
        for (struct spent *s = p->spent; s; s = s->next)
                if (streq(s->name, name) && streq(s->text, text))
                        return s;
        return NULL;
}

static uint64_t spent_hash(const char *name, const char *text)
{
        return hash_mix(hash_bytes(name, strlen(name)), hash_bytes(text, strlen(text)));
}

/* For the next process: with the next commit. */
static void keep_spent(struct pipeline *p)
{
        struct spool_state *kept = p->params.spool ? spool_state(p->params.spool) : NULL;

        if (!kept)
                return;
        kept->n_spent = 0;
        for (struct spent *s = p->spent; s && kept->n_spent < SPOOL_MAX_SPENT; s = s->next)
                kept->spent[kept->n_spent++] = spent_hash(s->name, s->text);
}

static void remember_spent(struct pipeline *p, const struct clause *ignore)
{
        _cleanup_free_ char *text = ignore_text(ignore), *name = strdup(ignore->name);
        struct spent *s = text && name && !find_spent(p, name, text) ? malloc(sizeof(*s)) : NULL;

        /* without memory it is armed anew at the next load: reported too little once more */
        if (!s)
                return;
        *s = (struct spent){ .next = p->spent, .name = STEAL(name), .text = STEAL(text) };
        p->spent = s;
        keep_spent(p);
}

/* What the process before said of this ignore. */
static bool was_spent(const struct spool_state *kept, const struct clause *ignore)
{
        _cleanup_free_ char *text = ignore->until_modified ? ignore_text(ignore) : NULL;

        for (uint64_t i = 0; text && i < kept->n_spent; i++)
                if (kept->spent[i] == spent_hash(ignore->name, text))
                        return true;
        return false;
}

/* A restart arms nothing anew. */
static void inherit_spent(struct pipeline *p)
{
        const struct rules *rules = p->generation->rules;

        if (!p->params.spool)
                return;
        const struct spool_state kept = *spool_state(p->params.spool);
        for (size_t i = 0; kept.n_spent > 0 && i < rules->n_ignores; i++)
                if (was_spent(&kept, &rules->ignores[i]))
                        remember_spent(p, &rules->ignores[i]);
}

void settle_spend(struct pipeline *p, const struct match_hits *hits)
{
        const struct rules *rules = p->generation->rules;

        for (uint32_t i = 0; i < hits->n_spends; i++) {
                matcher_set_spent(p->generation->matcher, hits->spends[i], true);
                if (p->params.until)
                        until_spend(p->params.until, hits->spends[i]);
                if (hits->spends[i] < rules->n_ignores)
                        remember_spent(p, &rules->ignores[hits->spends[i]]);
        }
}

static void spent_free(struct spent *s)
{
        free(s->name);
        free(s->text);
        free(s);
}

void settle_free_spent(struct pipeline *p)
{
        while (p->spent) {
                struct spent *next = p->spent->next;

                spent_free(p->spent);
                p->spent = next;
        }
}

/* An ignore whose text changed is armed again, and so is one that was away in between. */
void settle_restore_spent(struct pipeline *p)
{
        const struct generation *g = p->generation;
        struct spent *kept = NULL;

        if (!p->inherited)
                inherit_spent(p);
        p->inherited = true;

        for (uint32_t i = 0; p->spent && i < g->rules->n_ignores; i++) {
                const struct clause *ignore = &g->rules->ignores[i];
                _cleanup_free_ char *text = ignore->until_modified ? ignore_text(ignore) : NULL;
                struct spent **link = &p->spent;

                while (text && *link && !(streq((*link)->name, ignore->name) && streq((*link)->text, text)))
                        link = &(*link)->next;
                if (!text || !*link)
                        continue;

                struct spent *s = *link;
                *link = s->next;
                s->next = kept;
                kept = s;
                matcher_set_spent(g->matcher, i, true);
        }
        settle_free_spent(p);
        p->spent = kept;
        keep_spent(p);
}

/* ---- one event ---- */

static void point(const struct pipeline *p, struct match_path *path, size_t at)
{
        if (path->path)
                path->path = p->texts.data + at;
}

/* The offsets become pointers: the text buffer no longer moves. */
static void point_paths(const struct pipeline *p, struct held *h)
{
        point(p, &h->query.path, h->shown_at); /* of an event with a name it is what is shown */
        point(p, &h->query.old_path, h->old_path_at);
        point(p, &h->query.alias, h->alias_at);
        point(p, &h->shown, h->shown_at);
}

static struct bytes canonical(const struct pipeline *p, const struct match_path *path, struct strbuf *out,
                              enum path_state *ret_state)
{
        bool hidden = false;

        *ret_state = PATH_NORMAL;
        strbuf_reset(out);
        if (!path->path)
                return (struct bytes){};
        /* no mount of PID 1's shows the place: it is said with its path inside the filesystem */
        if (world_canonical_path(p->generation->world, path->fs, path->path, path->len, out, &hidden) == -ENOENT)
                *ret_state = PATH_INSIDE;
        else if (hidden)
                *ret_state = PATH_HIDDEN;
        if (strbuf_failed(out) || out->len == 0)
                return (struct bytes){};
        return (struct bytes){ .p = out->data, .len = out->len };
}

static bool is_unit_of_journald(const char *unit)
{
        static const char name[] = "systemd-journald";

        /* also systemd-journald@NAMESPACE.service */
        return unit && strncmp(unit, name, sizeof(name) - 1) == 0 &&
               (unit[sizeof(name) - 1] == '.' || unit[sizeof(name) - 1] == '@');
}

static bool is_journald(const struct actor *a)
{
        static const char suffix[] = "/systemd-journald";
        size_t len = a->exe ? strlen(a->exe) : 0;

        if (a->euid != 0)
                return false;
        return is_unit_of_journald(a->unit) ||
               (len >= sizeof(suffix) - 1 && streq(a->exe + len - (sizeof(suffix) - 1), suffix));
}

/* What we record makes journald write: such an event recorded would never end. */
static bool is_feedback(const struct pipeline *p, const struct held *h)
{
        const struct matcher *m = p->generation->matcher;

        return is_journald(h->who.actor) &&
               ((h->shown.path && matcher_is_journal_dir(m, &h->shown)) ||
                (h->query.old_path.path && matcher_is_journal_dir(m, &h->query.old_path)));
}

static void fill_filesystem(const struct pipeline *p, const struct held *h, struct event *e)
{
        uint32_t fs = h->query.unresolved_fs;

        if (h->shown.path)
                fs = h->shown.fs;
        else if (h->query.old_path.path)
                fs = h->query.old_path.fs;
        if (fs == WORLD_NONE)
                return;
        e->fstype = p->generation->world->fs[fs].fstype;
        e->sdev_major = p->generation->world->fs[fs].sdev_major;
        e->sdev_minor = p->generation->world->fs[fs].sdev_minor;
        if (e->path_state == PATH_INSIDE)
                e->source = p->generation->world->fs[fs].source;
}

static void fill_owner(struct pipeline *p, struct object *o)
{
        if (!o->known || !p->params.names)
                return;
        o->owner = names_get(p->params.names, NAME_USER, o->uid);
        o->owner_group = names_get(p->params.names, NAME_GROUP, o->gid);
}

/* An open file whose last name is gone says so, unless the event is that going itself. */
static enum path_state state_of(const struct held *h, enum path_state place)
{
        if (place != PATH_INSIDE && h->object.known && h->object.nlink == 0 &&
            !(h->query.events & (EV_DELETE | EV_DELETE_SELF | EV_RENAME | EV_CREATE)))
                return PATH_DELETED;
        return place;
}

static void report(struct pipeline *p, struct held *h)
{
        enum path_state place, old_place;
        struct event e = {
                .events = p->hits.events,
                .is_dir = h->query.is_dir,
                .object = h->object,
                .attribution = h->who.attribution,
                .actor = h->who.actor,
                .origin = h->origin,
                .read_realtime_usec = h->read_usec,
                .fs_errno = h->fs_errno,
                .fs_error_count = h->fs_error_count,
        };

        e.path = canonical(p, &h->shown, &p->canonical, &place);
        e.old_path = canonical(p, &h->query.old_path, &p->canonical_old, &old_place);
        if (!e.path.p && h->name_len > 0)
                e.name = (struct bytes){ .p = p->texts.data + h->name_at, .len = h->name_len };
        e.path_state = state_of(h, e.path.p ? place : old_place);
        fill_filesystem(p, h, &e);
        fill_owner(p, &e.object);
        reporter_event(p->params.reporter, &e, &p->hits);
}

static void settle(struct pipeline *p, struct held *h)
{
        struct counters *c = p->params.counters;

        point_paths(p, h);
        h->facts.actor = h->who.actor;
        if (matcher_match(p->generation->matcher, &h->query, &h->facts, &p->hits) < 0)
                c->events_no_memory++;
        else if (p->hits.n == 0 && p->hits.ignored)
                c->events_ignored++;
        else if (p->hits.n == 0)
                c->events_filtered++;
        else if (is_feedback(p, h))
                c->events_guarded++;
        else
                report(p, h);
}

void settle_all(struct pipeline *p)
{
        for (size_t i = 0; i < p->n_held; i++) {
                /* with the commit of its record: it is not judged again */
                window_done_to(p->current, p->held[i].end);
                if (p->held[i].kind != HELD_EVENT)
                        replaced_settle(p, &p->held[i]);
                else if (!p->held[i].gone)
                        settle(p, &p->held[i]);
        }
        p->n_held = 0;
        strbuf_reset(&p->texts);
        if (p->texts.cap > MAX_TEXTS_KEPT)
                strbuf_done(&p->texts);
}

void settle_weaken(struct pipeline *p, bool exec_seen)
{
        for (size_t i = 0; i < p->n_held; i++)
                attributor_weaken(&p->held[i].who, exec_seen);
}

/* ---- loss ---- */

/* When the last window before was read, by the clock of now: files that were changed after
 * the clock was set back have earlier times. */
static uint64_t before_any_step(const struct pipeline *p)
{
        uint64_t passed = window_boottime_usec() - p->last_read_boottime_usec, now = p->params.realtime_usec();

        return MIN_OF(p->last_read_usec, now > passed ? now - passed : 0);
}

void settle_not_looked_at(struct pipeline *p, int error)
{
        p->params.counters->events_no_memory++;
        p->no_memory.descriptors |= error != ENOMEM;
}

/* As long as there is no memory for this either, it is tried again after each window. */
void settle_tell_no_memory(struct pipeline *p)
{
        uint64_t total = p->params.counters->events_no_memory, count = total - p->no_memory.told;
        uint64_t now = p->params.realtime_usec();
        _cleanup_note_fields_ struct note_fields f = NOTE_FIELDS_NULL;
        _cleanup_strbuf_ struct strbuf where = STRBUF_NULL;
        char number[24], from[24], until[24]; /* no memory is asked for where none may be */

        if (count == 0)
                return;
        if (!p->no_memory.untold)
                p->no_memory.from_usec = p->oldest_usec;
        const char *reason = p->no_memory.descriptors ? "file descriptors were short" : "memory was short";
        note_field(&f, "FAWATCH_GAP", "memory");
        note_field(&f, "FAWATCH_REASON", reason);
        note_fields_watched(&f, p->generation, &p->key, &where);
        (void)snprintf(number, sizeof(number), "%" PRIu64, count);
        (void)snprintf(from, sizeof(from), "%" PRIu64, p->no_memory.from_usec);
        (void)snprintf(until, sizeof(until), "%" PRIu64, now);
        note_field(&f, "FAWATCH_COUNT", number);
        note_field(&f, "FAWATCH_FROM_USEC", p->no_memory.from_usec > 0 ? from : NULL);
        note_field(&f, "FAWATCH_UNTIL_USEC", until);
        p->no_memory.untold = reporter_note(p->params.reporter, RECORD_GAP, 3, f.v,
                                            "%" PRIu64 " events were lost: %s", count, reason) < 0;
        if (p->no_memory.untold)
                return;
        p->no_memory.descriptors = false;
        p->no_memory.told = total;
        if (p->params.lost)
                p->params.lost(p->params.userdata, p->no_memory.from_usec);
}

static void add_unread_events(uint32_t events, struct strbuf *out)
{
        for (uint32_t left = events, bit; left; left &= ~bit) {
                bit = left & -left;
                if (out->len > 0)
                        strbuf_addc(out, ',');
                strbuf_adds(out, vocab_name(bit));
        }
}

void settle_tell_unread(struct pipeline *p)
{
        _cleanup_strbuf_ struct strbuf shed = STRBUF_NULL, events = STRBUF_NULL;
        char count[24], first[24], last[24];

        if (p->unread.count == 0)
                return;
        add_unread_events(record_shown_events(p->unread.events), &events);
        strbuf_addf(&shed, "(not looked at) %" PRIu64 " - %s", p->unread.count, strbuf_str(&events));
        (void)snprintf(count, sizeof(count), "%" PRIu64, p->unread.count);
        (void)snprintf(first, sizeof(first), "%" PRIu64, p->unread.first_usec);
        (void)snprintf(last, sizeof(last), "%" PRIu64, p->unread.last_usec);
        const char *const fields[] = {
                "FAWATCH_REASON", "the kernel's queue was longer than queue_memory",
                "FAWATCH_COUNT", count,
                "FAWATCH_FIRST_USEC", first,
                "FAWATCH_LAST_USEC", last,
                "FAWATCH_SHED", strbuf_str(&shed),
                NULL,
        };
        reporter_note(p->params.reporter, RECORD_SHED, 4, fields,
                      "%" PRIu64 " events were not looked at: the kernel's queue was longer than queue_memory",
                      p->unread.count);
        p->unread.count = 0;
        p->unread.events = 0;
}

void settle_overflow(struct pipeline *p)
{
        _cleanup_strbuf_ struct strbuf where = STRBUF_NULL;
        _cleanup_note_fields_ struct note_fields f = NOTE_FIELDS_NULL;

        settle_weaken(p, true);
        settle_all(p);
        window_done_to(p->current, p->judged_end);
        resolver_forget_all(p->params.resolver);
        attributor_forget_all(p->params.attributor);
        if (p->params.learn)
                learn_reset(p->params.learn);
        if (p->params.dirmarks)
                dirmarks_walk_again(p->params.dirmarks, &p->key);
        /* a link, a mount point or a rule's object may have been replaced unseen */
        if (p->params.world_changed)
                p->params.world_changed(p->params.userdata);

        uint64_t from_usec = before_any_step(p);
        note_field(&f, "FAWATCH_GAP", "overflow");
        note_field(&f, "FAWATCH_REASON", "the kernel's queue was full");
        note_fields_watched(&f, p->generation, &p->key, &where);
        note_fieldf(&f, "FAWATCH_FROM_USEC", "%" PRIu64, from_usec);
        note_fieldf(&f, "FAWATCH_UNTIL_USEC", "%" PRIu64, p->current->read_usec);
        reporter_note(p->params.reporter, RECORD_GAP, 3, f.v,
                      "events were lost: the kernel's queue was full; how many and which is not known (%s)",
                      where.len > 0 ? strbuf_str(&where) : "no filesystem");
        if (p->params.lost)
                p->params.lost(p->params.userdata, from_usec);
}
