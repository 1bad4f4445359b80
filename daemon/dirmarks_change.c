/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Directories that are marked while events are judged, and marks that go. */

#include <errno.h>

#include "dirmarks_internal.h"
#include "fan_uapi.h"

/* All that a mark of ours may hold. */
#define MARK_BITS                                                                                            \
        ((uint32_t)(FAN_ACCESS | FAN_MODIFY | FAN_ATTRIB | FAN_CLOSE | FAN_OPEN | FAN_OPEN_EXEC | FAN_MOVE | \
                    FAN_CREATE | FAN_DELETE | FAN_DELETE_SELF | FAN_MOVE_SELF | FAN_RENAME | FAN_ONDIR |     \
                    FAN_EVENT_ON_CHILD))

/* What is done on the filesystem, by whoever may wait for it: nothing in it is borrowed. */
struct change {
        struct resolver_job job;
        struct dirplan *plan;
        struct dirlist list;
        struct strbuf bytes; /* paths and handles of what follows */
        struct off {         /* marks that lose bits */
                size_t path, handle;
                uint32_t len, bits;
                int32_t type;
        } *offs;
        size_t n_offs, cap_offs;
        /* a directory that is adopted */
        char *path;
        struct fan_handle expected;
        uint8_t expected_bytes[DIRWALK_HANDLE_BYTES];
        uint64_t since_usec;
        size_t room;
        int error;
};

static void change_free(struct resolver_job *job)
{
        struct change *c = (struct change *)job;

        dirplan_unref(c->plan);
        dirlist_done(&c->list);
        strbuf_done(&c->bytes);
        free(c->offs);
        free(c->path);
        free(c);
}

static struct change *change_new(struct dirs_fs *f, void (*run)(struct resolver_job *, int, const char *))
{
        struct change *c = calloc(1, sizeof(*c));

        if (!c)
                return NULL;
        c->job.run = run;
        c->job.free = change_free;
        c->plan = dirplan_ref(f->plan);
        return c;
}

static struct dirwalk walk_of(struct change *c, int mount_fd, const char *root)
{
        return (struct dirwalk){
                .placing = &c->plan->placing,
                .structure = c->plan->structure,
                .group_fd = c->plan->group_fd,
                .base_fd = mount_fd,
                .root = root,
                .since_usec = c->since_usec,
                .room = c->room,
                .list = &c->list,
        };
}

/* ---- a directory that is new, or moved in ---- */

static void run_adoption(struct resolver_job *job, int mount_fd, const char *root)
{
        struct change *c = (struct change *)job;
        struct dirwalk w = walk_of(c, mount_fd, root);

        job->error = dirwalk_run(&w, c->path, &c->expected);
        c->error = w.error;
}

static size_t room(const struct dirmarks *d)
{
        size_t n = dirtable_count(d->table);

        return d->max > n ? d->max - n : 0;
}

int dirmarks_adopt(struct dirmarks *d, uint32_t fs, const char *path, const struct fan_handle *expected,
                   uint64_t since_usec, struct dirlist *ret)
{
        struct dirs_fs *f = dirs_find(d, fs);
        struct change *c = f ? change_new(f, run_adoption) : NULL;
        struct dirlist empty = *ret;
        int r;

        dirlist_reset(ret);
        if (!c)
                return f ? -ENOMEM : -ENOENT;
        c->path = strdup(path);
        c->expected = *expected;
        c->expected.bytes = c->expected_bytes;
        memcpy(c->expected_bytes, expected->bytes, MIN_OF(expected->len, (uint32_t)DIRWALK_HANDLE_BYTES));
        c->since_usec = since_usec;
        c->room = room(d);
        r = c->path ? resolver_run(d->params.resolver, fs, &c->job) : -ENOMEM;
        if (r == -ETIMEDOUT) { /* the thread has it */
                dirs_note_failure(d, f, ETIMEDOUT);
                return r;
        }
        if (r == 0) {
                r = c->job.error;
                empty = *ret;
                *ret = c->list;
                c->list = empty;
                dirs_take_list(d, f, ret, true);
                if (c->error != 0)
                        dirs_note_failure(d, f, c->error);
        }
        if (r < 0 && r != -ENOENT && c->error == 0)
                dirs_note_failure(d, f, -r);
        change_free(&c->job);
        return r;
}

/* ---- marks that go ---- */

static void run_offs(struct resolver_job *job, int mount_fd, const char *root)
{
        struct change *c = (struct change *)job;
        const struct dirwalk w = walk_of(c, mount_fd, root);

        for (size_t i = 0; i < c->n_offs; i++) {
                const struct off *o = &c->offs[i];
                const struct fan_handle h = { 0, o->type, o->len, (const uint8_t *)c->bytes.data + o->handle };

                /* what cannot be found any more is gone, or tells what is then filtered */
                (void)dirwalk_take_off(&w, c->bytes.data + o->path, &h, o->bits);
        }
}

static void add_off(struct change *c, const struct dirtable_dir *dir, uint32_t bits)
{
        if (c->n_offs == c->cap_offs) {
                size_t cap = c->cap_offs ? 2 * c->cap_offs : 64;
                struct off *v = reallocarray(c->offs, cap, sizeof(*v));

                if (!v)
                        return;
                c->offs = v;
                c->cap_offs = cap;
        }
        struct off *o = &c->offs[c->n_offs++];
        *o = (struct off){ .path = c->bytes.len, .type = dir->type, .len = dir->len, .bits = bits };
        dirtable_path(dir, &c->bytes);
        strbuf_addc(&c->bytes, '\0');
        o->handle = c->bytes.len;
        strbuf_add(&c->bytes, (const char *)dir->bytes, dir->len);
}

struct narrowing {
        struct dirs_fs *f;
        struct change *change;
        struct strbuf path;
        bool all;
};

static void narrow(void *userdata, struct dirtable_dir *dir)
{
        struct narrowing *n = userdata;
        uint32_t wanted = 0;

        strbuf_reset(&n->path);
        dirtable_path(dir, &n->path);
        if (!n->all)
                wanted = placement_at(&n->f->plan->placing, 0, n->path.data, n->path.len, n->f->plan->structure).mask;
        if ((dir->mask & ~wanted) == 0)
                return;
        /* a mark that is to go is emptied of everything, else it would linger and hold its inode */
        add_off(n->change, dir, wanted == 0 ? MARK_BITS : dir->mask & ~wanted);
        dir->mask &= wanted;
}

static void run_narrowing(struct dirmarks *d, struct narrowing *n)
{
        struct change *c = n->change;

        for (size_t i = 0; i < c->n_offs && !strbuf_failed(&c->bytes); i++) {
                const struct off *o = &c->offs[i];
                const struct fan_handle h = { n->f->fsid, o->type, o->len,
                                              (const uint8_t *)c->bytes.data + o->handle };
                struct dirtable_dir *dir = o->bits == MARK_BITS ? dirtable_find(d->table, &h) : NULL;

                if (dir) /* where nothing is wanted, nothing below is */
                        dirtable_remove(d->table, dir);
        }
        if (c->n_offs == 0 || strbuf_failed(&c->bytes) ||
            resolver_run(d->params.resolver, n->f->fs, &c->job) != -ETIMEDOUT)
                change_free(&c->job);
        strbuf_done(&n->path);
}

void dirmarks_narrow(struct dirmarks *d, uint32_t fs, struct dirtable_dir *dir)
{
        struct narrowing n = { .f = dirs_find(d, fs) };

        n.change = n.f ? change_new(n.f, run_offs) : NULL;
        if (!n.change)
                return;
        dirtable_foreach(dir, narrow, &n);
        run_narrowing(d, &n);
}

void dirs_narrow_all(struct dirmarks *d, struct dirs_fs *f)
{
        struct narrowing n = { .f = f, .change = change_new(f, run_offs) };

        if (!n.change)
                return;
        dirtable_foreach_of(d->table, f->fsid, narrow, &n);
        run_narrowing(d, &n);
}

/* Marks in a group of their own go with it. */
void dirs_take_all_off(struct dirmarks *d, struct dirs_fs *f)
{
        struct narrowing n = { .f = f, .all = true };

        if (f->group.kind != GROUP_MAIN || f->fs == WORLD_NONE || !f->plan)
                return;
        n.change = change_new(f, run_offs);
        if (!n.change)
                return;
        dirtable_foreach_of(d->table, f->fsid, narrow, &n);
        run_narrowing(d, &n);
}
