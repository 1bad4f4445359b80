/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "dirmarks_internal.h"
#include "fdutil.h"

/* How long rules wait to be in force for marks that a walk places. */
#define WAIT_MSEC 500

/* ---- what is to be marked ---- */

int dirplan_new(const struct generation *g, uint32_t fs, int group_fd, struct dirplan **ret)
{
        const struct placing *from = &g->plan->placement;
        struct dirplan *p = calloc(1, sizeof(*p));
        int r;

        if (!p)
                return -ENOMEM;
        atomic_init(&p->users, 1);
        p->structure = placement_structure(&g->world->kernel);
        p->arena = arena_new();
        p->group_fd = fcntl(group_fd, F_DUPFD_CLOEXEC, 0);
        r = p->group_fd < 0 ? -errno : p->arena ? 0 : -ENOMEM;
        for (size_t i = 0; r == 0 && i < from->n; i++) {
                struct placement_root root = from->roots[i];

                root.fs = 0;
                if (from->roots[i].fs == fs)
                        r = placement_add(&p->placing, p->arena, &root);
        }
        if (r < 0) {
                dirplan_unref(p);
                return r;
        }
        placement_seal(&p->placing);
        *ret = p;
        return 0;
}

struct dirplan *dirplan_ref(struct dirplan *p)
{
        (void)atomic_fetch_add(&p->users, 1);
        return p;
}

void dirplan_unref(struct dirplan *p)
{
        if (!p || atomic_fetch_sub(&p->users, 1) != 1)
                return;
        placement_done(&p->placing);
        arena_free(p->arena);
        (void)close_fd(p->group_fd);
        free(p);
}

bool dirplan_equal(const struct dirplan *a, const struct dirplan *b)
{
        if (a->placing.n != b->placing.n || a->structure != b->structure)
                return false;
        for (size_t i = 0; i < a->placing.n; i++) {
                const struct placement_root *x = &a->placing.roots[i], *y = &b->placing.roots[i];

                if (x->mask != y->mask || x->below != y->below || x->skip != y->skip || !streq(x->inside, y->inside))
                        return false;
        }
        return true;
}

/* ---- life ---- */

int dirmarks_new(const struct dirmarks_params *params, struct dirmarks **ret)
{
        _cleanup_(dirmarks_freep) struct dirmarks *d = calloc(1, sizeof(*d));
        int r;

        if (!d)
                return -ENOMEM;
        d->params = *params;
        d->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        r = d->event_fd < 0 ? -errno : dirtable_new(&d->table);
        if (r < 0)
                return r;
        resolver_set_table(params->resolver, d->table);
        *ret = STEAL(d);
        return 0;
}

static void fs_free(struct dirs_fs *f)
{
        dirs_walk_free(f->walk);
        dirplan_unref(f->plan);
        free(f);
}

void dirmarks_free(struct dirmarks *d)
{
        if (!d)
                return;
        resolver_set_table(d->params.resolver, NULL);
        for (size_t i = 0; i < d->n_fs; i++)
                fs_free(d->fs[i]);
        free(d->fs);
        dirtable_free(d->table);
        dirlist_done(&d->list);
        (void)close_fd(d->event_fd);
        free(d);
}

/* The filesystem goes: from the table, and its group with all its marks where it is its own. */
static void forget(struct dirmarks *d, size_t i)
{
        struct dirs_fs *f = d->fs[i];

        dirtable_remove_filesystem(d->table, f->fsid);
        if (f->group.kind == GROUP_FILESYSTEM)
                marks_release_group(d->params.marks, &f->group);
        fs_free(f);
        d->fs[i] = d->fs[--d->n_fs];
}

void dirmarks_set_marks(struct dirmarks *d, struct marks *marks)
{
        while (d->n_fs > 0)
                forget(d, d->n_fs - 1);
        d->params.marks = marks;
}

/* ---- look-up ---- */

static struct dirs_fs *find(const struct dirmarks *d, const struct world_fs *fs)
{
        for (size_t i = 0; i < d->n_fs; i++)
                if (d->fs[i]->sdev_major == fs->sdev_major && d->fs[i]->sdev_minor == fs->sdev_minor)
                        return d->fs[i];
        return NULL;
}

struct dirs_fs *dirs_find(const struct dirmarks *d, uint32_t fs)
{
        for (size_t i = 0; i < d->n_fs; i++)
                if (d->fs[i]->fs == fs)
                        return d->fs[i];
        return NULL;
}

bool dirmarks_watches(const struct dirmarks *d, uint32_t fs)
{
        return fs != WORLD_NONE && dirs_find(d, fs);
}

struct dirtable *dirmarks_table(struct dirmarks *d)
{
        return d->table;
}

struct placed_here dirmarks_wanted(const struct dirmarks *d, uint32_t fs, const char *path, size_t len)
{
        const struct dirs_fs *f = dirs_find(d, fs);

        return f ? placement_at(&f->plan->placing, 0, path, len, f->plan->structure) : (struct placed_here){};
}

uint64_t dirmarks_since(const struct dirmarks *d, uint32_t fs)
{
        const struct dirs_fs *f = dirs_find(d, fs);

        return f ? f->since_usec : UINT64_MAX;
}

bool dirmarks_knows(const struct dirmarks *d, const struct mark *actual)
{
        const struct mark_object *o = &actual->object;

        for (size_t i = 0; o->kind == MARK_INODE && i < d->n_fs; i++) {
                const struct dirs_fs *f = d->fs[i];

                if (f->sdev_major == o->sdev_major && f->sdev_minor == o->sdev_minor &&
                    group_key_compare(&f->group, &actual->group) == 0)
                        return true;
        }
        return false;
}

/* ---- taking in ---- */

static struct fan_handle handle_at(const struct dirlist *l, const struct dirs_fs *f, size_t at, size_t len,
                                   int32_t type)
{
        return (struct fan_handle){ f->fsid, type, (uint32_t)len, (const uint8_t *)l->bytes.data + at };
}

/* Where the directory is by the table's account of the one that it was found in; that may have been renamed. */
static int path_now(struct dirmarks *d, const struct dirs_fs *f, const struct dirlist *l,
                    const struct dirlist_item *item, struct strbuf *ret)
{
        const char *path = l->bytes.data + item->path, *slash = strrchr(path, '/');
        const struct fan_handle above = handle_at(l, f, item->parent, item->parent_len, item->parent_type);
        const struct dirtable_dir *parent = f->correct ? NULL : dirtable_find(d->table, &above);

        if (!parent) {
                strbuf_add(ret, path, item->path_len);
        } else {
                dirtable_path(parent, ret);
                if (ret->len > 1)
                        strbuf_addc(ret, '/');
                strbuf_adds(ret, slash + 1);
        }
        return strbuf_failed(ret) ? -ENOMEM : 0;
}

/*
 * A directory that events have told of is where they say: of what a walk saw the events may still be in the
 * queue.  After a loss of events the walk is right.
 */
static void take_item(struct dirmarks *d, struct dirs_fs *f, const struct dirlist *l,
                      const struct dirlist_item *item, bool listed)
{
        const struct fan_handle h = handle_at(l, f, item->dir, item->dir_len, item->dir_type);
        struct dirtable_dir *dir = dirtable_find(d->table, &h), *there;

        if (item->kind != DIRLIST_MARKED)
                return;
        _cleanup_strbuf_ struct strbuf path = STRBUF_NULL;

        if (path_now(d, f, l, item, &path) < 0)
                return;
        there = dirtable_at(d->table, f->fsid, path.data, path.len);
        if (dir && f->correct && there != dir)
                (void)dirtable_rename(d->table, dir, path.data, path.len);
        if (!dir && (!there || f->correct || listed) &&
            dirtable_add(d->table, &h, path.data, path.len, &dir) < 0)
                d->params.counters->events_no_memory++;
        if (!dir)
                return;
        dir->mask |= item->mask;
        dir->listed |= listed;
}

void dirs_take_list(struct dirmarks *d, struct dirs_fs *f, const struct dirlist *l, bool listed)
{
        for (size_t i = 0; i < l->n; i++)
                take_item(d, f, l, &l->items[i], listed);
}

static void take_walk(struct dirmarks *d, struct dirs_fs *f)
{
        bool over = dirs_walk_take(f->walk, &d->list);

        dirs_take_list(d, f, &d->list, false);
        if (!over)
                return;
        dirs_walk_result(f->walk, &f->failed, &f->error);
        dirs_walk_free(f->walk);
        f->walk = NULL;
        f->correct = false;
}

/* The loop is to look at the news. */
void dirs_note_failure(struct dirmarks *d, struct dirs_fs *f, int error)
{
        f->failed++;
        if (f->error == 0)
                (void)eventfd_write(d->event_fd, 1);
        if (f->error == 0 || error == ENOSPC)
                f->error = error;
}

bool dirmarks_next_news(struct dirmarks *d, uint32_t *ret_fs)
{
        for (size_t i = 0; i < d->n_fs; i++) {
                struct dirs_fs *f = d->fs[i];

                if (f->fs == WORLD_NONE || f->walk || f->error == f->told)
                        continue;
                f->told = f->error;
                *ret_fs = f->fs;
                return true;
        }
        return false;
}

int dirmarks_fd(const struct dirmarks *d)
{
        return d->event_fd;
}

void dirmarks_take(struct dirmarks *d)
{
        eventfd_t count;

        (void)eventfd_read(d->event_fd, &count);
        for (size_t i = 0; i < d->n_fs; i++)
                if (d->fs[i]->walk)
                        take_walk(d, d->fs[i]);
}

static bool any_walk(const struct dirmarks *d)
{
        for (size_t i = 0; i < d->n_fs; i++)
                if (d->fs[i]->walk)
                        return true;
        return false;
}

/* What is small is marked when the rules are in force; what is large, or hangs, is not waited for. */
static void wait_for_walks(struct dirmarks *d)
{
        uint64_t until = d->params.monotonic_usec() + WAIT_MSEC * USEC_PER_MSEC;

        while (any_walk(d)) {
                struct pollfd p = { .fd = d->event_fd, .events = POLLIN };
                uint64_t now = d->params.monotonic_usec();

                if (now >= until || poll(&p, 1, (int)((until - now) / USEC_PER_MSEC) + 1) <= 0)
                        return;
                dirmarks_take(d);
        }
}

/* ---- generations ---- */

static void start_walk(struct dirmarks *d, struct dirs_fs *f, const struct world *w, uint32_t fs)
{
        /* each directory that has its mark already takes of the room, too */
        int r = dirs_walk_start(w, fs, f->plan, d->max, d->event_fd, &f->walk);

        if (r < 0)
                f->error = -r;
}

static struct dirs_fs *add_fs(struct dirmarks *d, const struct world *w, uint32_t index)
{
        struct dirs_fs **v = reallocarray(d->fs, d->n_fs + 1, sizeof(*v));
        struct dirs_fs *f = v ? calloc(1, sizeof(*f)) : NULL;
        const struct world_fs *fs = &w->fs[index];

        if (v)
                d->fs = v;
        if (!f)
                return NULL;
        *f = (struct dirs_fs){
                .fs = WORLD_NONE,
                .sdev_major = fs->sdev_major,
                .sdev_minor = fs->sdev_minor,
                .fsid = fs->fsid,
                .mount_id = w->mounts[fs->canonical_mount].id,
                .since_usec = d->params.realtime_usec(),
                .group = fs->own_group ? group_key_filesystem(fs->sdev_major, fs->sdev_minor)
                                       : (struct group_key){ .kind = GROUP_MAIN },
        };
        return d->fs[d->n_fs++] = f;
}

/* Did a process before leave marks there? */
static bool was_watched(const struct dirmarks *d, const struct dirs_fs *f)
{
        const struct markset *placed = marks_placed(d->params.marks);

        for (size_t i = 0; i < placed->n; i++) {
                const struct mark *m = &placed->marks[i];

                if (m->object.kind == MARK_INODE && m->object.sdev_major == f->sdev_major &&
                    m->object.sdev_minor == f->sdev_minor && group_key_compare(&m->group, &f->group) == 0)
                        return true;
        }
        return false;
}

/* Its marks go with the mount that they were placed through, or with their group. */
static bool is_another(const struct dirs_fs *f, const struct world *w, const struct world_fs *fs)
{
        return f->fsid != fs->fsid || f->mount_id != w->mounts[fs->canonical_mount].id ||
               (f->group.kind == GROUP_FILESYSTEM) != fs->own_group;
}

static void begin_fs(struct dirmarks *d, const struct generation *after, uint32_t index, uint64_t watched_usec)
{
        const struct world_fs *fs = &after->world->fs[index];
        struct dirs_fs *f = find(d, fs);
        struct dirplan *plan;
        struct fan_group *group;
        int r;

        for (size_t i = 0; f && i < d->n_fs; i++)
                if (d->fs[i] == f && is_another(f, after->world, fs)) {
                        forget(d, i);
                        f = NULL;
                }
        if (!f) {
                f = add_fs(d, after->world, index);
                if (f && watched_usec > 0 && was_watched(d, f))
                        f->since_usec = watched_usec;
        }
        if (!f)
                return;
        r = marks_hold_group(d->params.marks, &f->group, &group);
        if (r == 0)
                r = dirplan_new(after, index, fan_group_fd(group), &plan);
        if (r < 0) {
                f->error = -r;
                return;
        }
        if (f->plan && f->error == 0 && dirplan_equal(f->plan, plan)) {
                dirplan_unref(plan);
                return;
        }
        dirplan_unref(f->plan);
        f->plan = plan;
        dirs_walk_free(f->walk);
        f->walk = NULL;
        f->error = 0;
        f->replanned = true;
        start_walk(d, f, after->world, index);
}

void dirmarks_begin(struct dirmarks *d, const struct generation *after, uint64_t watched_usec)
{
        d->max = (size_t)after->settings->max_directory_marks;
        for (uint32_t i = 0; i < after->world->n_fs; i++)
                if (world_fs_by_directories(&after->world->fs[i]) && placement_uses(&after->plan->placement, i))
                        begin_fs(d, after, i, watched_usec);
        wait_for_walks(d);
}

void dirmarks_set_generation(struct dirmarks *d, const struct generation *g)
{
        for (size_t i = 0; i < d->n_fs;) {
                struct dirs_fs *f = d->fs[i];

                f->fs = world_find_fs(g->world, f->sdev_major, f->sdev_minor);
                if (f->fs == WORLD_NONE || !f->plan || !placement_uses(&g->plan->placement, f->fs)) {
                        dirs_take_all_off(d, f);
                        forget(d, i);
                        continue;
                }
                if (f->replanned)
                        dirs_narrow_all(d, f);
                f->replanned = false;
                i++;
        }
        d->generation = g;
}

void dirmarks_walk_again(struct dirmarks *d, const struct group_key *group)
{
        for (size_t i = 0; d->generation && i < d->n_fs; i++) {
                struct dirs_fs *f = d->fs[i];

                if (group_key_compare(&f->group, group) != 0 || f->fs == WORLD_NONE || !f->plan)
                        continue;
                dirs_walk_free(f->walk);
                f->walk = NULL;
                f->correct = true;
                start_walk(d, f, d->generation->world, f->fs);
        }
}

void dirmarks_status(const struct dirmarks *d, uint32_t fs, struct dirmarks_status *ret)
{
        *ret = (struct dirmarks_status){ .marks = dirtable_count(d->table), .max = d->max };
        for (size_t i = 0; i < d->n_fs; i++) {
                const struct dirs_fs *f = d->fs[i];

                if (fs != WORLD_NONE && f->fs != fs)
                        continue;
                ret->walking |= f->walk != NULL;
                ret->failed += f->failed;
                if (ret->error == 0)
                        ret->error = f->error;
        }
}
