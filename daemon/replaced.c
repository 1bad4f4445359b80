/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The path of a rule leads to another object, or to none, and nothing happened to its
 * own name: a directory above it was moved or replaced, a link on it leads elsewhere,
 * something was mounted on it.  One record says so, with what changed and who did it.
 *
 * `told` is what the path leads to as far as the records say: events of its own name
 * change it, without more words.  An event of a name on the way says why something may
 * be another now, and the world is looked at anew; the generation that is built on it
 * says what the path leads to by then.  Where the two differ, that is told, once
 * all events that were queued until then are judged: one of them may have told it.
 */

#include <errno.h>
#include <sys/fanotify.h>

#include "leads.h"
#include "pipeline_internal.h"
#include "snapshot.h"

/* A name on the way that changed. */
struct cause {
        unsigned refs;
        char *name;           /* as the rules see it */
        struct snapshot *who; /* NULL: not known, or not yet */
        bool away;            /* it is gone, and nothing has come in its place */
        uint64_t usec;        /* CLOCK_BOOTTIME of the reading; 0 = by the mount table */
        /* of a move, to see that two are one exchange */
        uint32_t fs;
        char *from, *to;      /* paths inside; NULL: no move, or not known */
        struct handle object;
};

/* What is known of one path of the rules. */
struct way {
        struct lead_object told;
        uint64_t own_usec;   /* when an event of its own name was read last, on CLOCK_BOOTTIME */
        struct cause *cause; /* what may have changed it, not decided yet */
        bool changed;        /* the world differs from what is told; waits for the queue */
};

struct replaced {
        struct way *ways; /* one for each of the generation's leads */
        size_t n;
        bool waits; /* some way is changed */
};

/* ---- causes ---- */

static void cause_unref(struct cause *c)
{
        if (!c || --c->refs > 0)
                return;
        free(c->name);
        free(c->from);
        free(c->to);
        free(c->who);
        free(c);
}

static struct cause *cause_ref(struct cause *c)
{
        if (c)
                c->refs++;
        return c;
}

static void set_cause(struct way *w, struct cause *c)
{
        struct cause *before = w->cause;

        w->cause = cause_ref(c);
        cause_unref(before);
}

/* One reference, the caller's; NULL when memory is short: the record has no cause then. */
static struct cause *cause_new(const char *name)
{
        struct cause *c = calloc(1, sizeof(*c));

        if (!c)
                return NULL;
        c->refs = 1;
        c->name = strdup(name);
        if (!c->name) {
                free(c);
                return NULL;
        }
        return c;
}

static struct handle handle_of(const struct fan_handle *h)
{
        struct handle handle = {};

        if (fan_handle_given(h) && h->len <= sizeof(handle.bytes)) {
                handle.type = h->type;
                handle.len = h->len;
                memcpy(handle.bytes, h->bytes, h->len);
        }
        return handle;
}

/* Who did it is known when what is held is settled. */
static void hold_cause(struct pipeline *p, const struct sight *s, struct cause *c)
{
        struct held *h = judge_new_held(p);

        if (!h)
                return;
        *h = (struct held){
                .kind = HELD_CAUSE, .cause = cause_ref(c), .pid = s->e->pid,
                .read_usec = p->current->read_usec, .end = p->judged_end,
        };
        judge_attribute(p, s, &h->who);
        p->n_held++;
}

static struct cause *cause_of_event(struct pipeline *p, const struct sight *s, const char *name, bool away)
{
        const struct match_query *q = &s->query;
        struct cause *c = cause_new(name);

        if (!c)
                return NULL;
        c->away = away;
        c->usec = p->current->read_boottime_usec;
        if (s->is_rename && q->path.path && q->old_path.path) {
                c->fs = q->path.fs;
                c->from = strndup(q->old_path.path, q->old_path.len);
                c->to = strndup(q->path.path, q->path.len);
                c->object = handle_of(s->object);
        }
        hold_cause(p, s, c);
        return c;
}

static bool is_path(const char *text, const struct match_path *path)
{
        return text && strlen(text) == path->len && memcmp(text, path->path, path->len) == 0;
}

/* The kernel tells an exchange of two names as two moves of two objects; what is moved away and back
 * is the same object twice. */
static bool is_exchange(const struct cause *c, const struct sight *s)
{
        const struct match_query *q = &s->query;
        const struct handle object = handle_of(s->object);

        return s->is_rename && q->path.path && q->old_path.path && q->path.fs == c->fs &&
               is_path(c->from, &q->path) && is_path(c->to, &q->old_path) &&
               (object.len != c->object.len || memcmp(object.bytes, c->object.bytes, object.len) != 0);
}

/* ---- telling ---- */

/* What the path leads to now, for the record. */
static void look_at(struct pipeline *p, const struct lead_object *o, struct object *ret)
{
        const struct fan_handle h = {
                .fsid = o->fsid, .type = o->handle.type, .len = o->handle.len, .bytes = o->handle.bytes,
        };

        if (!o->exists || !fan_handle_given(&h) || resolver_object(p->params.resolver, &h, ret) < 0)
                *ret = (struct object){};
}

/* The path leads to this now: to be recorded behind what is held; the events up to end are judged then. */
static void tell(struct pipeline *p, uint32_t lead, const struct lead_object *now, size_t end)
{
        struct way *w = &p->replaced->ways[lead];
        struct held *h = judge_new_held(p);

        w->told = *now;
        p->params.counters->replaced++;
        if (!h) {
                p->params.counters->events_no_memory++;
                return;
        }
        *h = (struct held){
                .kind = HELD_REPLACED, .cause = cause_ref(w->cause), .lead = lead,
                .who = { .attribution = ATTRIBUTION_UNKNOWN, .actor = &actor_nobody },
                .read_usec = p->params.realtime_usec(),
                .end = end,
        };
        look_at(p, now, &h->object);
        p->n_held++;
}

static void tell_gone(struct pipeline *p, uint32_t lead)
{
        struct lead_object none = p->replaced->ways[lead].told;

        none.exists = false;
        none.handle = (struct handle){};
        tell(p, lead, &none, p->judged_end);
}

/* Two paths that lead to the same place are one: the one without links is told. */
static bool is_told_by_another(const struct pipeline *p, const struct held *h)
{
        const struct leads *leads = p->generation->leads;
        const struct lead *l = &leads->v[h->lead], *plain;

        if (streq(l->path, l->found->resolved))
                return false;
        plain = leads_find(leads, l->found->resolved);
        for (size_t i = 0; plain && i < p->n_held; i++) {
                const struct held *other = &p->held[i];

                if (other->kind == HELD_REPLACED && &leads->v[other->lead] == plain &&
                    other->object.ino == h->object.ino && other->object.known == h->object.known)
                        return true;
        }
        return false;
}

/* Rules that name the path; others see it from above. */
static void keep_own_rules(struct pipeline *p, const struct lead *l)
{
        struct match_hits *hits = &p->hits;
        size_t n = 0;

        for (size_t i = 0; i < hits->n; i++)
                if (leads_is_of_rule(p->generation->leads, l, &p->generation->rules->watches[hits->v[i].rule]))
                        hits->v[n++] = hits->v[i];
        hits->n = n;
}

static int find_rules(struct pipeline *p, const struct lead *l, const struct actor *actor)
{
        const struct world_path *found = l->found;
        const struct world *w = p->generation->world;
        struct match_query q = {
                .events = EV_REPLACED, .is_dir = found->type == TYPE_DIRECTORY,
                .path = MATCH_PATH_NONE, .old_path = MATCH_PATH_NONE, .alias = MATCH_PATH_NONE,
                .unresolved_fs = WORLD_NONE,
        };
        const struct match_facts facts = {
                .actor = actor, .owner_uid = ID_UNKNOWN, .owner_gid = ID_UNKNOWN,
                .dir_uid = ID_UNKNOWN, .dir_gid = ID_UNKNOWN,
        };

        if (found->mount != WORLD_NONE)
                q.path = (struct match_path){
                        .fs = w->mounts[found->mount].fs, .path = found->inside, .len = strlen(found->inside),
                };
        int r = matcher_match(p->generation->matcher, &q, &facts, &p->hits);
        if (r < 0)
                return r;
        if (p->hits.n_spends > 0)
                settle_spend(p, &p->hits);
        keep_own_rules(p, l);
        return 0;
}

static void report(struct pipeline *p, const struct held *h)
{
        const struct generation *g = p->generation;
        const struct lead *l = &g->leads->v[h->lead];
        const struct snapshot *who = h->cause ? h->cause->who : NULL;
        struct event e = {
                .events = EV_REPLACED,
                .is_dir = h->object.type == TYPE_DIRECTORY,
                .path = { .p = l->path, .len = strlen(l->path) },
                .object = h->object,
                .attribution = who ? who->event.attribution : ATTRIBUTION_UNKNOWN,
                .actor = who ? &who->actor : &actor_nobody,
                .read_realtime_usec = who ? who->event.read_realtime_usec : h->read_usec,
        };

        if (is_told_by_another(p, h)) {
                p->params.counters->events_coalesced++;
                return;
        }
        if (find_rules(p, l, e.actor) < 0) {
                p->params.counters->events_no_memory++;
                return;
        }
        if (p->hits.n == 0) {
                *(p->hits.ignored ? &p->params.counters->events_ignored : &p->params.counters->events_filtered) += 1;
                return;
        }
        if (h->cause)
                e.cause = (struct bytes){ .p = h->cause->name, .len = strlen(h->cause->name) };
        if (l->found->mount != WORLD_NONE) {
                const struct world_fs *fs = &g->world->fs[g->world->mounts[l->found->mount].fs];

                e.fstype = fs->fstype;
                e.sdev_major = fs->sdev_major;
                e.sdev_minor = fs->sdev_minor;
        }
        if (e.object.known && p->params.names) {
                e.object.owner = names_get(p->params.names, NAME_USER, e.object.uid);
                e.object.owner_group = names_get(p->params.names, NAME_GROUP, e.object.gid);
        }
        reporter_event(p->params.reporter, &e, &p->hits);
}

static void keep_actor(struct held *h)
{
        const struct match_hits none = MATCH_HITS_NULL;
        const struct event e = {
                .attribution = h->who.attribution, .actor = h->who.actor, .read_realtime_usec = h->read_usec,
        };

        if (!h->cause->who)
                h->cause->who = snapshot_new(&e, &none, true);
}

void replaced_settle(struct pipeline *p, struct held *h)
{
        if (h->kind == HELD_CAUSE)
                keep_actor(h);
        else
                report(p, h);
        cause_unref(h->cause);
}

/* ---- events ---- */

enum change { COMES = 1, GOES = 2 }; /* both: merged, in which order is not known */

static bool is_told_object(const struct way *w, const struct fan_handle *object)
{
        const struct handle h = handle_of(object);
        const struct lead_object o = {
                .known = true, .exists = true, .sdev_major = w->told.sdev_major,
                .sdev_minor = w->told.sdev_minor, .fsid = object->fsid, .handle = h,
        };

        return lead_object_same(&w->told, &o);
}

/* Did a symbolic link take the name?  Then it leads on. */
static bool is_link(struct pipeline *p, const struct sight *s)
{
        struct object now;

        return !s->query.is_dir && fan_handle_given(s->object) &&
               resolver_object(p->params.resolver, s->object, &now) == 0 && now.type == TYPE_SYMLINK;
}

/* An event of the path's own name: it is a record of its own where the rule asks for it. */
static void own_name(struct pipeline *p, const struct sight *s, const struct lead_step *step, enum change change)
{
        const struct world_fs *fs = &p->generation->world->fs[step->fs];
        struct way *w = &p->replaced->ways[step->lead];

        /* of an exchange of two names it may lead to the other by now */
        if (change == GOES && w->told.exists && fan_handle_given(s->object) && !is_told_object(w, s->object))
                return;
        w->own_usec = p->current->read_boottime_usec;
        w->changed = false;
        w->told = (struct lead_object){
                .known = change == GOES || (change == COMES && fan_handle_given(s->object)),
                .exists = change & COMES,
                .sdev_major = fs->sdev_major,
                .sdev_minor = fs->sdev_minor,
                .fsid = fs->fsid,
        };
        if (w->told.exists)
                w->told.handle = handle_of(s->object);
}

/* An event of a name on the way. */
static void name_above(struct pipeline *p, const struct sight *s, const struct lead_step *step,
                       enum change change, struct cause *cause)
{
        struct way *w = &p->replaced->ways[step->lead];
        bool leads_nowhere = w->cause && w->cause->away && w->told.known && w->told.exists;

        if (change == GOES && leads_nowhere)
                return;
        if (change == COMES && leads_nowhere) {
                if (is_exchange(w->cause, s)) {
                        w->cause->away = false;
                        return;
                }
                tell_gone(p, step->lead);
        }
        set_cause(w, cause);
}

static void judge_name(struct pipeline *p, const struct sight *s, const struct match_path *path,
                       enum change change)
{
        const struct leads *leads = p->generation->leads;
        struct leads_cursor cursor = leads_at(path->fs, path->path, path->len);
        const struct lead_step *step;
        struct cause *cause = NULL;
        bool above = false;

        while ((step = leads_next(leads, &cursor, path->fs, path->path, path->len))) {
                if (step->own && !((change & COMES) && is_link(p, s))) {
                        own_name(p, s, step, change);
                        continue;
                }
                above = true;
                /* the same name for all: one place is seen through one path, but for bind mounts */
                if (!cause || !streq(cause->name, step->name)) {
                        cause_unref(cause);
                        cause = cause_of_event(p, s, step->name, change == GOES);
                }
                name_above(p, s, step, change, cause);
        }
        cause_unref(cause);
        if (above && p->params.world_changed)
                p->params.world_changed(p->params.userdata);
}

void replaced_judged(struct pipeline *p, const struct sight *s)
{
        const struct match_query *q = &s->query;
        const uint64_t mask = s->e->mask;

        if (!p->replaced || p->key.kind != GROUP_MAIN)
                return;
        if (s->is_rename) {
                if (q->old_path.path)
                        judge_name(p, s, &q->old_path, GOES);
                if (q->path.path)
                        judge_name(p, s, &q->path, COMES);
        } else if ((mask & (FAN_CREATE | FAN_DELETE)) && q->path.path) {
                judge_name(p, s, &q->path,
                           (mask & FAN_CREATE ? COMES : 0) | (mask & FAN_DELETE ? GOES : 0));
        }
}

/* ---- generations ---- */

static void tell_changed(struct pipeline *p)
{
        struct replaced *r = p->replaced;
        size_t done = p->current->kept ? (size_t)p->current->kept->done : 0;

        r->waits = false;
        for (uint32_t i = 0; i < r->n; i++) {
                struct way *w = &r->ways[i];

                if (!w->changed)
                        continue;
                w->changed = false;
                tell(p, i, &p->generation->leads->v[i].object, done);
                if (!w->cause || w->cause->usec < p->generation->looked_usec)
                        set_cause(w, NULL);
        }
        settle_all(p);
        resolver_end_batch(p->params.resolver); /* no batch may follow: nothing is to keep a filesystem busy */
}

/* A mount that came or went on the way is the cause, unless an event was. */
static void note_mount(struct pipeline *p, const struct leads *before, const struct lead *old,
                       const struct lead *new, struct way *w)
{
        const char *mountpoint = w->cause ? NULL : leads_changed_mount(before, old, p->generation->leads, new);

        if (mountpoint)
                w->cause = cause_new(mountpoint);
}

/* What the world says of one path, and what was told of it. */
static void compare(struct pipeline *p, const struct leads *before, const struct lead *old, uint32_t i,
                    struct way *w)
{
        const struct generation *g = p->generation;
        const struct lead *new = &g->leads->v[i];
        /* what was read after the look began may have happened after it */
        bool in_doubt = w->own_usec >= g->looked_usec && leads_same_place(before, old, g->leads, new);
        bool fresh = w->cause && w->cause->usec >= g->looked_usec;

        w->changed = false;
        if (!new->object.known) {
                note_mount(p, before, old, new, w); /* the next look tells, but sees no mount change any more */
                return;
        }
        if (lead_object_same(&w->told, &new->object) || in_doubt) {
                if (!in_doubt)
                        w->told = new->object;
                if (!fresh)
                        set_cause(w, NULL);
                return;
        }
        note_mount(p, before, old, new, w);
        w->changed = true;
        p->replaced->waits = true;
}

static struct replaced *replaced_new(size_t n)
{
        struct replaced *r = calloc(1, sizeof(*r));

        if (!r)
                return NULL;
        r->n = n;
        r->ways = calloc(MAX_OF(n, (size_t)1), sizeof(*r->ways));
        if (!r->ways) {
                free(r);
                return NULL;
        }
        return r;
}

static void ways_free(struct replaced *r)
{
        for (size_t i = 0; r && i < r->n; i++)
                cause_unref(r->ways[i].cause);
        if (r)
                free(r->ways);
        free(r);
}
DEFINE_CLEANUP(struct replaced, ways_free);

void replaced_compare(struct pipeline *p, const struct generation *before)
{
        const struct leads *leads = p->generation->leads;
        _cleanup_(ways_freep) struct replaced *was = p->replaced;

        p->replaced = replaced_new(leads->n); /* NULL: nothing is told until the next generation */
        for (uint32_t i = 0; p->replaced && i < leads->n; i++) {
                const struct lead *old = was && before ? leads_find(before->leads, leads->v[i].path) : NULL;
                struct way *w = &p->replaced->ways[i];

                if (!old) {
                        w->told = leads->v[i].object;
                        continue;
                }
                *w = was->ways[old - before->leads->v];
                was->ways[old - before->leads->v].cause = NULL;
                compare(p, before->leads, old, i, w);
        }
        if (p->current->len == 0)
                replaced_drained(p);
}

void replaced_drained(struct pipeline *p)
{
        if (p->replaced && p->replaced->waits && p->judged_usec >= p->generation->looked_until_usec)
                tell_changed(p);
}

void replaced_free(struct pipeline *p)
{
        ways_free(p->replaced);
        p->replaced = NULL;
}
