/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directories that carry marks come, go and move with the events.  One that is new, or
 * moved in, is marked, then listed, and what no queued event tells of is recorded from
 * the look (adopt.c).
 */

#include <errno.h>
#include <sys/fanotify.h>

#include "pipeline_internal.h"

/* Each entry of the look waits for the queue that there is now. */
static void report_list(struct pipeline *p, uint32_t fs, const struct dirlist *l)
{
        uint64_t fsid = p->generation->world->fs[fs].fsid;
        const char *bytes = l->bytes.data;

        for (size_t i = 0; i < l->n; i++) {
                const struct dirlist_item *item = &l->items[i];
                const struct fan_handle dir = { fsid, item->dir_type, (uint32_t)item->dir_len,
                                                (const uint8_t *)bytes + item->dir };
                const struct fan_handle handle = { fsid, item->handle_type, (uint32_t)item->handle_len,
                                                   (const uint8_t *)bytes + item->handle };
                const struct match_path path = { .fs = fs, .path = bytes + item->path, .len = item->path_len };
                const struct adopt_entry e = {
                        .name = bytes + item->name,
                        .handle = item->handle_len > 0 ? &handle : NULL,
                        .object = &item->object,
                        .events = item->events,
                };

                if (item->kind == DIRLIST_ENTRY)
                        adopt_one(p, &dir, &path, &e);
        }
}

/*
 * From the path that the events so far give it.  When it is not there by now, it is gone, or it, or a
 * directory above it, was renamed: the event of that is still to come, and finds that it was missed.
 */
static void adopt(struct pipeline *p, const struct match_path *path, const struct sight *s)
{
        struct dirmarks *d = p->params.dirmarks;
        /* all that is in a new directory is new; of what was moved only what came since then */
        uint64_t since = s->is_rename ? MAX_OF(p->oldest_usec, dirmarks_since(d, path->fs)) : 0;
        struct dirtable_dir *parent;

        if (dirmarks_wanted(d, path->fs, path->path, path->len).mask == 0)
                return;
        if (dirmarks_adopt(d, path->fs, path->path, s->object, since, &p->adopted) == 0) {
                p->params.counters->directories_adopted++;
                report_list(p, path->fs, &p->adopted);
                return;
        }
        parent = dirtable_find(dirmarks_table(d), &s->dir);
        if (parent)
                parent->missed = true;
}

struct review {
        struct dirmarks *d;
        uint32_t fs;
        struct strbuf path;
        bool more, missed;
};

/* Does anything below its new place need a mark that it does not have? */
static void review(void *userdata, struct dirtable_dir *dir)
{
        struct review *r = userdata;

        strbuf_reset(&r->path);
        dirtable_path(dir, &r->path);
        r->more |= (dirmarks_wanted(r->d, r->fs, r->path.data, r->path.len).mask & ~dir->mask) != 0;
        r->missed |= dir->missed;
        dir->missed = false;
}

static void follow_known(struct pipeline *p, const struct sight *s, struct dirtable_dir *dir)
{
        struct dirmarks *d = p->params.dirmarks;
        const struct match_path *path = &s->query.path;
        struct review r = { .d = d, .fs = path->fs };

        if (!path->path || dirtable_rename(dirmarks_table(d), dir, path->path, path->len) < 0) {
                /* to where nothing of ours is: its marks go along, and what they tell has no path */
                dirtable_remove(dirmarks_table(d), dir);
                return;
        }
        dirtable_foreach(dir, review, &r);
        strbuf_done(&r.path);
        if (r.more || r.missed)
                adopt(p, path, s);
        dir = dirtable_find(dirmarks_table(d), s->object);
        if (dir)
                dirmarks_narrow(d, path->fs, dir);
}

void dirs_follow(struct pipeline *p, const struct sight *s)
{
        struct dirmarks *d = p->params.dirmarks;
        uint64_t mask = s->e->mask;
        uint32_t fs = fan_handle_given(s->object) ? resolver_fs(p->params.resolver, s->object->fsid) : WORLD_NONE;
        struct dirtable_dir *dir;

        if (!d || !(mask & FAN_ONDIR) || !dirmarks_watches(d, fs))
                return;
        dir = dirtable_find(dirmarks_table(d), s->object);
        if (s->is_rename) {
                if (dir)
                        follow_known(p, s, dir);
                else if (s->query.path.path)
                        adopt(p, &s->query.path, s);
        } else if (mask & (FAN_DELETE | FAN_DELETE_SELF)) {
                if (dir)
                        dirtable_remove(dirmarks_table(d), dir);
        } else if ((mask & FAN_CREATE) && s->query.path.path && !(dir && dir->listed)) {
                adopt(p, &s->query.path, s);
        }
}
