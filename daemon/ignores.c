/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the event street tells the table of ignore marks: what nobody wanted, and what
 * was moved, linked or removed.
 */

#include <sys/fanotify.h>

#include "pipeline_internal.h"

static bool applies(const struct pipeline *p)
{
        return p->params.learn && p->key.kind == GROUP_MAIN;
}

static bool names_the_directory_itself(const struct fan_name *name)
{
        return !name->p || (name->len == 1 && name->p[0] == '.');
}

/* The path of the directory that the event came with, from that of what it names there. */
static struct match_path directory_of(const struct sight *s)
{
        struct match_path dir = s->query.path;

        if (!names_the_directory_itself(&s->name))
                dir.len = MAX_OF(dir.len - s->name.len - 1, (size_t)1);
        return dir;
}

void ignores_unwanted(struct pipeline *p, const struct sight *s)
{
        const struct match_query *q = &s->query;

        if (!applies(p) || s->is_rename || !q->path.path || !fan_handle_given(&s->dir))
                return;

        const struct match_path dir = directory_of(s);
        learn_dir(p->params.learn, &s->dir, &dir, s->e->mask, p->current->epoch);
        if (p->hits.ignored && !q->is_dir && !(s->e->mask & (FAN_CREATE | FAN_DELETE)) &&
            fan_handle_given(s->object))
                learn_file(p->params.learn, s->object, &q->path, s->e->mask, p->current->epoch);
}

/* Where something is now that lost its mark by being moved, and since when it may have been silent. */
struct new_place {
        struct pipeline *p;
        const struct match_path *path; /* of what was moved; path NULL: nobody knows */
};

static void look_there(void *userdata, const struct learn_lost *lost)
{
        const struct new_place *place = userdata;
        struct pipeline *p = place->p;
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        struct match_path path = { .fs = place->path->fs };
        uint64_t since = MAX_OF(p->oldest_usec, lost->placed_usec);

        if (!place->path->path)
                return;
        strbuf_add(&text, place->path->path, place->path->len);
        strbuf_adds(&text, lost->below);
        if (strbuf_failed(&text))
                return;
        path.path = strbuf_str(&text);
        path.len = text.len;
        if (lost->is_dir)
                adopt_directory(p, lost->handle, &path, since);
        else
                adopt_file(p, lost->handle, &path, since);
}

static void follow_rename(struct pipeline *p, const struct sight *s)
{
        struct new_place place = { .p = p, .path = &s->query.path };

        if (!fan_handle_given(s->object)) {
                if (s->query.is_dir)
                        learn_reset(p->params.learn); /* which directory was it? */
                return;
        }
        if (s->query.is_dir || learn_has(p->params.learn, s->object))
                learn_moved(p->params.learn, s->object, s->query.is_dir, &s->query.old_path, look_there,
                            &place);
}

void ignores_follow(struct pipeline *p, const struct sight *s)
{
        const struct match_query *q = &s->query;
        uint64_t mask = s->e->mask;

        if (!applies(p))
                return;
        if (p->params.until && s->is_rename && q->is_dir)
                until_moved_below(p->params.until, (fan_handle_given(&s->old_dir) ? &s->old_dir : &s->dir)->fsid,
                                  &q->old_path);
        if (p->params.until)
                until_event(p->params.until, s->object, mask,
                            s->is_rename || ((mask & FAN_ATTRIB) && !s->has_name));
        if (s->is_rename) {
                follow_rename(p, s);
        } else if (mask & FAN_DELETE_SELF) {
                learn_gone(p->params.learn, s->object);
        } else if ((mask & FAN_ATTRIB) && !s->has_name && fan_handle_given(s->object)) {
                /* the number of its names changed; which one is new, the event does not say */
                struct match_path nowhere = MATCH_PATH_NONE;
                struct new_place place = { .p = p, .path = q->alias.path ? &q->alias : &nowhere };

                learn_linked(p->params.learn, s->object, look_there, &place);
                if (q->alias.path)
                        learn_names(p->params.learn, s->object, &q->alias);
        } else if ((mask & FAN_CREATE) && q->alias.path) {
                learn_names(p->params.learn, s->object, &q->alias);
        }
}

static void look_at_moved(void *userdata, const struct fan_handle *h, bool is_dir, const struct match_path *path,
                          uint64_t since_usec)
{
        struct pipeline *p = userdata;

        if (since_usec == 0)
                return; /* all in it might be older: there is a gap anyhow */
        if (is_dir)
                adopt_directory(p, h, path, since_usec);
        else
                adopt_file(p, h, path, since_usec);
}

void pipeline_look_into_moved(struct pipeline *p, struct fan_group *g)
{
        if (!p->params.learn)
                return;
        p->group = g;
        p->key = *fan_group_key(g);
        learn_each_astray(p->params.learn, look_at_moved, p);
        p->group = NULL;
        adopt_settle(p, false);
        settle_all(p);
        resolver_end_batch(p->params.resolver);
}
