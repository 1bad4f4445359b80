/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One event: where is it, does any rule look there, what do we know about it, and what
 * does it teach for the events behind it.  Most events of a busy machine end at the
 * second question; up to there nothing is allocated and no system call is made.
 */

#include <errno.h>
#include <sys/fanotify.h>

#include "pipeline_internal.h"

/* ---- what it teaches ---- */

static void learn_object(struct pipeline *p, const struct match_path *path, const struct fan_handle *object,
                         bool leads_there)
{
        if (!path->path || !fan_handle_given(object))
                return;

        const struct object_path where = { .fsid = object->fsid, .path = path->path, .len = path->len };
        struct object_handle was, h = judge_object_handle(object);
        if (!objects_has(p->objects, &where))
                return;
        if (leads_there) {
                objects_set(p->objects, &where, &h);
                if (p->params.learn)
                        learn_names(p->params.learn, object, path);
                return;
        }
        /* of an exchange of two names the path may lead to the other by now */
        if (objects_get(p->objects, &where, &was) &&
            (was.type != h.type || was.len != h.len || memcmp(was.bytes, h.bytes, h.len) != 0))
                return;
        objects_set(p->objects, &where, &(struct object_handle){});
}

static void learn_directory(struct pipeline *p, const struct sight *s)
{
        struct resolver *r = p->params.resolver;
        const struct match_query *q = &s->query;
        uint64_t mask = s->e->mask;

        if (s->is_rename) {
                if (q->old_path.path)
                        resolver_forget_below(r, s->old_dir.fsid, q->old_path.path, q->old_path.len);
                else
                        resolver_forget_all(r); /* what was cached below it, nobody can say */
                resolver_forget(r, s->object);
                if (q->path.path && fan_handle_given(&s->e->object))
                        resolver_learn(r, s->object, q->path.path, q->path.len);
        } else if (mask & (FAN_DELETE | FAN_DELETE_SELF)) {
                resolver_forget(r, s->object);
        } else if ((mask & FAN_CREATE) && q->path.path) {
                resolver_learn(r, s->object, q->path.path, q->path.len);
        }
}

static void learn_exec(struct pipeline *p, const struct fan_event *e)
{
        if (p->key.kind == GROUP_MAIN)
                attributor_exec(p->params.attributor, e->pid, &e->object, e->mask != FAN_OPEN_EXEC);
}

static void learn(struct pipeline *p, struct sight *s)
{
        const struct match_query *q = &s->query;

        if (objects_count(p->objects) > 0) {
                if (s->is_rename) {
                        learn_object(p, &q->old_path, s->object, false);
                        learn_object(p, &q->path, s->object, true);
                        if (q->is_dir) {
                                pipeline_ask_below(p, s->old_dir.fsid, &q->old_path);
                                pipeline_ask_below(p, s->dir.fsid, &q->path);
                        }
                } else if (s->e->mask & FAN_CREATE) {
                        learn_object(p, &q->path, s->object, true);
                } else if (s->e->mask & FAN_DELETE) {
                        learn_object(p, &q->path, s->object, false);
                } else if (s->has_name && !resolver_sees_names(p->params.resolver, s->object->fsid)) {
                        learn_object(p, &q->path, s->object, true);
                }
                if ((s->e->mask & FAN_DELETE_SELF) && fan_handle_given(s->object)) {
                        const struct object_handle gone = judge_object_handle(s->object);

                        objects_gone(p->objects, s->object->fsid, &gone);
                }
        }
        if (s->e->mask & FAN_ONDIR)
                learn_directory(p, s);
        if (s->e->mask & FAN_OPEN_EXEC)
                learn_exec(p, s->e);
}

/* ---- hold what may be wanted ---- */

size_t judge_keep_text(struct pipeline *p, const char *text, size_t len)
{
        size_t at = p->texts.len;

        strbuf_add(&p->texts, text, len);
        strbuf_addc(&p->texts, '\0');
        return at;
}

/* Is the kept path this one? */
static bool is_kept(const struct pipeline *p, const struct match_path *kept, size_t at,
                    const struct match_path *path)
{
        return kept->path && kept->fs == path->fs && kept->len == path->len &&
               memcmp(p->texts.data + at, path->path, path->len) == 0;
}

/* An object of a rule that is renamed is known by the name it had. */
static bool shows(const struct pipeline *p, const struct held *h, const struct match_path *path)
{
        return is_kept(p, &h->shown, h->shown_at, path) || is_kept(p, &h->query.old_path, h->old_path_at, path);
}

/* The held event of this process at this path with any of these events, not far back. */
static struct held *find_held(struct pipeline *p, uint32_t events, int32_t pid, const struct match_path *path)
{
        for (size_t n = 0; n < MAX_RENAME_DISTANCE && n < p->n_held; n++) {
                struct held *h = &p->held[p->n_held - 1 - n];

                if (!h->gone && (h->query.events & events) && h->pid == pid && shows(p, h, path))
                        return h;
        }
        return NULL;
}

/* One removal raises delete_self at the object and then delete at its directory: the
 * latter takes the former in. */
static void take_in_delete_self(struct pipeline *p, struct held *h)
{
        struct held *before = find_held(p, EV_DELETE_SELF, h->pid, &h->shown);

        if (!before || before->query.events != EV_DELETE_SELF)
                return;
        before->gone = true;
        h->query.events |= EV_DELETE_SELF;
        p->params.counters->events_coalesced++;
}

/* move_self stands behind its rename: the rename takes it in. */
static bool taken_in_by_rename(struct pipeline *p, const struct sight *s)
{
        const struct match_path *path = s->query.path.path ? &s->query.path : &s->query.alias;
        struct held *rename = s->query.events == EV_MOVE_SELF && path->path ?
                                      find_held(p, EV_RENAME, s->e->pid, path) : NULL;

        if (rename)
                rename->query.events |= EV_MOVE_SELF;
        return rename;
}

struct held *judge_new_held(struct pipeline *p)
{
        if (p->n_held == p->cap_held) {
                size_t cap = p->cap_held ? p->cap_held * 2 : 64;
                struct held *held = reallocarray(p->held, cap, sizeof(*held));

                if (!held)
                        return NULL;
                p->held = held;
                p->cap_held = cap;
        }
        return &p->held[p->n_held];
}

void judge_attribute(struct pipeline *p, const struct sight *s, struct attributed *ret)
{
        const struct fan_event *e = s->e;
        const uint64_t kind = e->mask & ~(uint64_t)FAN_ONDIR;
        const struct attribution_query q = {
                .pid = e->pid,
                .pidfd = e->has_pidfd ? e->pidfd : FAN_EPIDFD,
                .exec_follows = window_exec_after(p->current, e->pid, s->at) || window_has_exec(p->next, e->pid),
                .exec_unordered = window_exec_unordered(p->current, e->pid, s->at),
                .is_exec = e->mask & FAN_OPEN_EXEC,
                .other_queue = p->key.kind != GROUP_MAIN,
                /* a name is made once, and removed once */
                .once = kind == FAN_CREATE || kind == FAN_DELETE,
                .file = &e->object,
        };

        attributor_find(p->params.attributor, &q, ret);
}

/* Where its handle cannot be opened, the object is what stands at its path, if that is still it. */
static int find_object(struct pipeline *p, const struct sight *s, struct object *ret)
{
        const struct match_path *path = &s->query.path;
        struct resolver *r = p->params.resolver;

        if (path->path && p->params.dirmarks && dirmarks_watches(p->params.dirmarks, path->fs) &&
            resolver_object_at(r, s->object, path->path, ret) == 0)
                return 0;
        return resolver_object(r, s->object, ret);
}

static void look_at_object(struct pipeline *p, const struct sight *s, const struct match_hits *hits,
                           struct held *h)
{
        struct match_facts *f = &h->facts;

        *f = (struct match_facts){
                .owner_uid = ID_UNKNOWN,
                .owner_gid = ID_UNKNOWN,
                .dir_uid = ID_UNKNOWN,
                .dir_gid = ID_UNKNOWN,
        };
        if (!fan_handle_given(s->object) || find_object(p, s, &h->object) < 0) {
                h->object = (struct object){ .type = h->query.is_dir ? TYPE_DIRECTORY : 0 };
        } else if (!(h->query.events & EV_CREATE)) {
                /* who just made it is who owns it: that says nothing about whose place it is */
                f->owner_uid = h->object.uid;
                f->owner_gid = h->object.gid;
        }
        f->type = h->object.type;
        if (hits->needs_dir_owner) {
                const struct fan_handle *dir = fan_handle_given(&s->dir) ? &s->dir : &s->old_dir;

                if (fan_handle_given(dir) &&
                    resolver_dir_owner(p->params.resolver, dir, &f->dir_uid, &f->dir_gid) < 0)
                        f->dir_uid = f->dir_gid = ID_UNKNOWN;
        }
}

static size_t keep_path(struct pipeline *p, const struct match_path *path)
{
        return path->path ? judge_keep_text(p, path->path, path->len) : 0;
}

static void hold(struct pipeline *p, const struct sight *s)
{
        struct held *h = judge_new_held(p);
        const struct fan_name *name = s->name.p ? &s->name : &s->old_name;
        size_t before = p->texts.len;

        if (!h || p->texts.failed) {
                p->params.counters->events_no_memory++;
                return;
        }
        *h = (struct held){
                .query = s->query,
                .shown = s->has_name ? s->query.path : s->query.alias,
                .name_len = name->p && !judge_is_own_name(name) ? name->len : 0,
                .pid = s->e->pid,
                .fs_errno = s->e->has_error ? s->e->error : 0,
                .fs_error_count = s->e->error_count,
                .read_usec = p->current->read_usec,
                .end = p->judged_end,
        };
        h->shown_at = keep_path(p, &h->shown);
        h->old_path_at = keep_path(p, &s->query.old_path);
        h->alias_at = keep_path(p, &s->query.alias);
        h->name_at = h->name_len > 0 ? judge_keep_text(p, name->p, name->len) : 0;
        if (p->texts.failed) {
                p->texts.len = before;
                p->texts.failed = false;
                p->params.counters->events_no_memory++;
                return;
        }
        look_at_object(p, s, &p->hits, h);
        judge_attribute(p, s, &h->who);
        if ((h->query.events & EV_DELETE) && h->shown.path)
                take_in_delete_self(p, h);
        p->n_held++;
}

/* ---- one event ---- */

/* The queue is too long, and this is not urgent.  Directories that come, go or move are
 * looked at all the same: the paths of others hang on them. */
static bool is_unread(struct pipeline *p, const struct fan_event *e)
{
        uint32_t events = vocab_from_fan(e->mask);

        if (p->unread.level == 0 || (events & p->unread.kept) || (e->mask & (FAN_OPEN_EXEC | FAN_FS_ERROR)) ||
            ((e->mask & FAN_ONDIR) && (e->mask & ~(uint64_t)(FAN_ACCESS | FAN_OPEN | FAN_CLOSE | FAN_ATTRIB |
                                                             FAN_ONDIR))))
                return false;
        if (p->unread.count++ == 0)
                p->unread.first_usec = p->current->read_usec;
        p->unread.last_usec = p->current->read_usec;
        p->unread.events |= events;
        p->params.counters->events_unread++;
        return true;
}

/* Nobody wants it: which of the counters says why. */
static void count_unwanted(struct pipeline *p, const struct sight *s)
{
        struct counters *c = p->params.counters;

        if (p->hits.ignored)
                c->events_ignored++;
        else if (s->query.events == EV_OPEN_EXEC)
                c->events_exec++;
        else if (s->query.path.path || s->query.old_path.path || s->query.alias.path)
                c->events_filtered++;
        else if (p->short_of != 0) /* its directory may be there: what it was is not known */
                settle_not_looked_at(p, p->short_of);
        else if (s->has_name)
                c->events_unresolved++;
        else
                c->events_nameless++;
}

void judge_event(struct pipeline *p, const struct fan_event *e, size_t at)
{
        struct counters *c = p->params.counters;
        struct sight s = { .e = e, .at = at };

        c->events_read++;
        adopt_judged(p, e);
        if (e->overflow) {
                c->events_overflow++;
                settle_overflow(p);
                return;
        }
        if (e->pid == p->self || (p->predecessor != 0 && e->pid == p->predecessor)) {
                c->events_self++;
                return;
        }
        if (p->n_skip > 0 && judge_is_skipped(p, at)) {
                c->events_coalesced++; /* the second half of a rename */
                return;
        }
        if (!p->exec_wanted && (e->mask & FAN_OPEN_EXEC) && vocab_from_fan(e->mask) == EV_OPEN_EXEC) {
                c->events_exec++;
                learn_exec(p, e);
                return;
        }
        if (is_unread(p, e))
                return;
        p->short_of = 0;
        judge_look(p, &s);
        replaced_judged(p, &s);
        if (matcher_match(p->generation->matcher, &s.query, NULL, &p->hits) < 0) {
                c->events_no_memory++;
        } else {
                if (p->hits.tripwire && p->params.world_changed)
                        p->params.world_changed(p->params.userdata);
                if (p->hits.n_spends > 0) {
                        /* what the ignore still takes out, it is not asked about again */
                        s.query.events &= ~(p->hits.ignored & ~p->hits.events);
                        settle_spend(p, &p->hits);
                }
                if (p->hits.n == 0) {
                        count_unwanted(p, &s);
                        ignores_unwanted(p, &s);
                } else if (taken_in_by_rename(p, &s)) {
                        c->events_coalesced++;
                } else {
                        hold(p, &s);
                }
        }
        ignores_follow(p, &s);
        dirs_follow(p, &s);
        learn(p, &s);
}
