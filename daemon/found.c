/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a scan found after a gap meets the rules, and becomes a record. */

#include "pipeline_internal.h"

/* Absolute path → filesystem and path inside it. */
static bool place(const struct world *w, const char *path, struct strbuf *inside, struct match_path *ret)
{
        uint32_t mount = world_mount_of(w, path);
        const struct world_mount *m = mount == WORLD_NONE ? NULL : &w->mounts[mount];
        const char *rest;

        if (!m)
                return false;
        rest = path + (streq(m->mountpoint, "/") ? 0 : strlen(m->mountpoint));
        strbuf_reset(inside);
        if (!streq(m->root, "/"))
                strbuf_adds(inside, m->root);
        if (*rest && !streq(rest, "/"))
                strbuf_adds(inside, rest);
        if (inside->len == 0)
                strbuf_addc(inside, '/');
        if (strbuf_failed(inside))
                return false;
        *ret = (struct match_path){ .fs = m->fs, .path = inside->data, .len = inside->len };
        return true;
}

static void fill_filesystem(const struct world *w, uint32_t fs, struct event *e)
{
        e->fstype = w->fs[fs].fstype;
        e->sdev_major = w->fs[fs].sdev_major;
        e->sdev_minor = w->fs[fs].sdev_minor;
}

static void fill_owner(struct pipeline *p, struct object *o)
{
        if (!p->params.names)
                return;
        o->owner = names_get(p->params.names, NAME_USER, o->uid);
        o->owner_group = names_get(p->params.names, NAME_GROUP, o->gid);
}

void pipeline_found(struct pipeline *p, const char *path, uint32_t events, const struct object *object)
{
        const struct world *world = p->generation->world;
        struct match_query q = {
                .events = events,
                .is_dir = object->type == TYPE_DIRECTORY,
                .path = MATCH_PATH_NONE,
                .old_path = MATCH_PATH_NONE,
                .alias = MATCH_PATH_NONE,
                .unresolved_fs = WORLD_NONE,
        };
        const struct match_facts facts = {
                .type = object->type,
                .actor = &actor_nobody,
                .owner_uid = object->uid,
                .owner_gid = object->gid,
                .dir_uid = ID_UNKNOWN,
                .dir_gid = ID_UNKNOWN,
        };

        /* the place is filled in first: the query borrows the text */
        if (!place(world, path, &p->path, &q.path))
                return;
        if (matcher_match(p->generation->matcher, &q, &facts, &p->hits) < 0) {
                p->params.counters->events_no_memory++;
                return;
        }
        if (p->hits.n == 0 || matcher_is_journal_dir(p->generation->matcher, &q.path))
                return;
        /* which of them it was, nobody knows */
        for (size_t i = 0; i < p->hits.n; i++)
                p->hits.v[i].events = EV_CHANGED;
        p->hits.events = EV_CHANGED;

        struct event e = {
                .events = EV_CHANGED,
                .is_dir = q.is_dir,
                .path = { .p = path, .len = strlen(path) },
                .object = *object,
                .attribution = ATTRIBUTION_UNKNOWN,
                .actor = &actor_nobody,
                .origin = ORIGIN_RECOVERY,
        };
        fill_filesystem(world, q.path.fs, &e);
        fill_owner(p, &e.object);
        p->params.counters->events_recovered++;
        reporter_event(p->params.reporter, &e, &p->hits);
}
