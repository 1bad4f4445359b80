/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where an event is: from its handles and names to paths.  A directory that is gone has
 * the path that the events behind it tell; the two halves of a rename become one event.
 */

#include <errno.h>
#include <sys/fanotify.h>

#include "pipeline_internal.h"

/* as deep as a chain of directories that all are gone is followed up */
#define MAX_DEPTH 1024u

static int dir_path(struct pipeline *p, const struct fan_handle *dir, bool in_next, size_t at, unsigned depth,
                    struct strbuf *out);

static void add_name(struct strbuf *path, size_t begin, const struct fan_name *name)
{
        if (path->len - begin != 1) /* "/" ends in its separator */
                strbuf_addc(path, '/');
        strbuf_add(path, name->p, name->len);
}

/* The event that names a directory that is gone: behind the event first, where its
 * removal stands, under the name it had; then before it.  Reads on once if need be. */
static bool find_naming(struct pipeline *p, const struct fan_handle *dir, bool *in_next, size_t *at,
                        struct fan_event *ret, bool *ret_before)
{
        *ret_before = false;
        if (!*in_next && window_find_dir(p->current, dir, *at, true, ret, at))
                return true;
        pipeline_read_on(p);
        if (window_find_dir(p->next, dir, *in_next ? *at : 0, true, ret, at)) {
                *in_next = true;
                return true;
        }
        *ret_before = true;
        if (*in_next && window_find_dir(p->next, dir, *at, false, ret, at))
                return true;
        if (!window_find_dir(p->current, dir, *in_next ? SIZE_MAX : *at, false, ret, at))
                return false;
        *in_next = false;
        return true;
}

static int gone_dir_path(struct pipeline *p, const struct fan_handle *dir, bool in_next, size_t at,
                         unsigned depth, struct strbuf *out)
{
        struct fan_event e;
        bool before;
        size_t begin = out->len;

        if (depth >= MAX_DEPTH || !find_naming(p, dir, &in_next, &at, &e, &before))
                return -ESTALE;

        bool renamed = e.mask & FAN_RENAME;
        const struct fan_handle *parent = !renamed ? &e.dir : before ? &e.new_dir : &e.old_dir;
        const struct fan_name *name = !renamed ? &e.name : before ? &e.new_name : &e.old_name;

        if (!name->p || fan_handle_equal(parent, dir))
                return -ESTALE;
        int r = dir_path(p, parent, in_next, at, depth + 1, out);
        if (r < 0)
                return r;
        add_name(out, begin, name);
        if (strbuf_failed(out))
                return -ENOMEM;
        /* its own removal, if that is still to come, makes the resolver forget it */
        resolver_learn(p->params.resolver, dir, out->data + begin, out->len - begin);
        return 0;
}

static int dir_path(struct pipeline *p, const struct fan_handle *dir, bool in_next, size_t at, unsigned depth,
                    struct strbuf *out)
{
        int r = resolver_dir(p->params.resolver, dir, out);

        return r == -ESTALE && fan_handle_given(dir) ? gone_dir_path(p, dir, in_next, at, depth, out) : r;
}

int judge_dir_path(struct pipeline *p, const struct fan_handle *dir, size_t at, struct strbuf *out)
{
        return dir_path(p, dir, false, at, 0, out);
}

/* Directory and name → path in the strbuf and in ret.  False when it cannot be told. */
static bool locate(struct pipeline *p, const struct fan_handle *dir, const struct fan_name *name, size_t at,
                   struct strbuf *path, struct match_path *ret)
{
        uint32_t fs = resolver_fs(p->params.resolver, dir->fsid);

        strbuf_reset(path);
        if (fs == WORLD_NONE)
                return false;
        int r = judge_dir_path(p, dir, at, path);
        if (r == 0 && !judge_is_own_name(name))
                add_name(path, 0, name);
        if (r == 0 && strbuf_failed(path))
                r = -ENOMEM;
        if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
                p->short_of = -r;
        if (r < 0)
                return false;
        *ret = (struct match_path){ .fs = fs, .path = path->data, .len = path->len };
        return true;
}

/* Kernels before FAN_RENAME tell of a rename in two events, one behind the other but
 * for events of other processes: the second one, when it is found. */
static bool find_other_half(struct pipeline *p, const struct sight *s, struct fan_event *ret)
{
        size_t at = s->at, begin;
        struct fan_event e;

        (void)window_next(p->current, &at, &e); /* itself */
        for (unsigned i = 0; i < MAX_RENAME_DISTANCE; i++) {
                begin = at;
                if (!window_next(p->current, &at, ret))
                        return false;
                if (ret->pid != s->e->pid || !(ret->mask & FAN_MOVED_TO) || (ret->mask & FAN_MOVED_FROM) ||
                    ((ret->mask ^ s->e->mask) & FAN_ONDIR))
                        continue;
                if (fan_handle_given(&ret->object) && fan_handle_given(&s->e->object) &&
                    !fan_handle_equal(&ret->object, &s->e->object))
                        continue;
                if (p->n_skip == ELEMENTSOF(p->skip))
                        return false;
                p->skip[p->n_skip++] = begin;
                return true;
        }
        return false;
}

bool judge_is_skipped(struct pipeline *p, size_t at)
{
        for (size_t i = 0; i < p->n_skip; i++)
                if (p->skip[i] == at) {
                        p->skip[i] = p->skip[--p->n_skip];
                        return true;
                }
        return false;
}

/* Which of the records name what: of a rename two names, of everything else one. */
static void read_names(struct pipeline *p, struct sight *s)
{
        const struct fan_event *e = s->e;
        struct fan_event other;

        s->dir = e->dir;
        s->name = e->name;
        if (e->mask & FAN_RENAME) {
                s->is_rename = true;
                s->dir = e->new_dir;
                s->name = e->new_name;
                s->old_dir = e->old_dir;
                s->old_name = e->old_name;
        } else if ((e->mask & FAN_MOVED_FROM) && !(e->mask & FAN_MOVED_TO)) {
                s->is_rename = true;
                s->old_dir = e->dir;
                s->old_name = e->name;
                s->dir = (struct fan_handle){};
                s->name = (struct fan_name){};
                if (find_other_half(p, s, &other)) {
                        s->dir = other.dir;
                        s->name = other.name;
                }
        } else if (e->mask & FAN_MOVED_TO) {
                s->is_rename = true;
        }
        if (s->is_rename)
                s->query.events = (s->query.events & ~(uint32_t)(EV_MOVED_FROM | EV_MOVED_TO)) | EV_RENAME;
        /* of a directory's own event the object is the directory */
        s->object = &e->object;
        if (!fan_handle_given(s->object) && fan_handle_given(&s->dir) && judge_is_own_name(&s->name))
                s->object = &s->dir;
}

static bool still_leads_to(struct pipeline *p, const struct object_path *path, const struct object_handle *h)
{
        struct handle now;

        if (pipeline_leads_to(p, path, h, &now))
                return true;
        objects_set(p->objects, path, &(struct object_handle){ now.type, now.len, now.bytes });
        return false;
}

/* A rule's path that leads to the event's object, under another name than the event's. */
static void find_alias(struct pipeline *p, struct sight *s)
{
        struct object_path own, found;
        const struct match_path *path = s->query.path.path ? &s->query.path : &s->query.old_path;

        if (!fan_handle_given(s->object))
                return;
        const struct object_handle h = judge_object_handle(s->object);
        own = (struct object_path){ .fsid = s->object->fsid, .path = path->path, .len = path->len };
        if (!objects_find(p->objects, s->object->fsid, &h, path->path ? &own : NULL, &found) ||
            (path->path && !still_leads_to(p, &found, &h)))
                return;
        s->query.alias = (struct match_path){
                .fs = resolver_fs(p->params.resolver, found.fsid), .path = found.path, .len = found.len,
        };
}

void judge_look(struct pipeline *p, struct sight *s)
{
        struct match_query *q = &s->query;
        const struct fan_handle *somewhere;

        *q = (struct match_query){
                .source = { .mount = p->key.kind == GROUP_MOUNT, .mount_id = p->key.mount_id },
                .events = vocab_from_fan(s->e->mask),
                .is_dir = s->e->mask & FAN_ONDIR,
                .path = MATCH_PATH_NONE,
                .old_path = MATCH_PATH_NONE,
                .alias = MATCH_PATH_NONE,
                .unresolved_fs = WORLD_NONE,
        };
        read_names(p, s);
        s->has_name = fan_handle_given(&s->dir) || fan_handle_given(&s->old_dir);
        if (fan_handle_given(&s->old_dir))
                (void)locate(p, &s->old_dir, &s->old_name, s->at, &p->old_path, &q->old_path);
        if (fan_handle_given(&s->dir))
                (void)locate(p, &s->dir, &s->name, s->at, &p->path, &q->path);
        if (s->e->mask & FAN_FS_ERROR) {
                /* about a filesystem; its object, when there is one, need not have a path */
                if (s->object->bytes)
                        q->unresolved_fs = resolver_fs(p->params.resolver, s->object->fsid);
                return;
        }
        if (objects_count(p->objects) > 0)
                find_alias(p, s);
        if (q->path.path || q->old_path.path || q->alias.path || !s->has_name)
                return;
        somewhere = fan_handle_given(&s->dir) ? &s->dir : &s->old_dir;
        q->unresolved_fs = resolver_fs(p->params.resolver, somewhere->fsid);
}
