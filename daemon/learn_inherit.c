/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a killed process had learned is still in its group, and its table is gone.  The marks
 * are held against the rules by the path that each object has now.  One that has no business
 * where it is was moved there while nobody looked, or the rules are others: it goes, and what
 * happened there meanwhile is looked for.  What was moved and is at rest again in an ignored
 * place is followed like all else, by the events that still wait.
 */

#include "learn_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "fan_uapi.h"
#include "fdutil.h"

struct inheriting {
        struct learn *l;
        const struct mark *mark;
        struct fan_handle handle;
        struct match_path path; /* NULL: none is known */
        bool is_dir;
};

static void note_astray(const struct inheriting *in)
{
        struct learn *l = in->l;
        struct astray *a = calloc(1, sizeof(*a) + in->path.len + 1);

        if (!a)
                return;
        *a = (struct astray){
                .next = l->astray,
                .handle = in->mark->object.handle,
                .fsid = in->handle.fsid,
                .since_usec = l->inherited_usec,
                .fs = in->path.fs,
                .is_dir = in->is_dir,
                .len = in->path.len,
        };
        memcpy(a->path, in->path.path, in->path.len);
        l->astray = a;
}

void learn_each_astray(struct learn *l, learn_astray_fn fn, void *userdata)
{
        while (l->astray) {
                struct astray *a = l->astray;
                const struct fan_handle h = {
                        .fsid = a->fsid,
                        .type = a->handle.type,
                        .len = a->handle.len,
                        .bytes = a->handle.bytes,
                };
                const struct match_path path = { .fs = a->fs, .path = a->path, .len = a->len };

                l->astray = a->next;
                if (fn)
                        fn(userdata, &h, a->is_dir, &path, a->since_usec);
                free(a);
        }
}

/* These ignored bits, and with the last of them the whole mark. */
static void take_off(const struct inheriting *in, int fd, uint64_t bits)
{
        const struct mark *m = in->mark;
        struct mark_op op = {
                .group = m->group,
                .object = m->object,
                .ignore = true,
                .ignore_surv = true,
                .ignore_new = m->ignore_new,
                .bits = bits,
                .where = "",
        };
        int r = marks_at(in->l->params.marks, &op, fd);

        if (r == 0 && bits == m->ignore_mask && in->is_dir && m->mask != 0) {
                op.ignore = op.ignore_surv = op.ignore_new = false;
                op.bits = m->mask;
                r = marks_at(in->l->params.marks, &op, fd);
        }
        in->l->left_behind |= r < 0 && r != -ENOENT;
        in->l->params.counters->ignores_taken_off++;
}

static bool enter(const struct inheriting *in, uint64_t ignore_mask)
{
        struct learn *l = in->l;
        struct learned *e = learn_enter(l, &in->handle, &in->path);

        if (!e)
                return false;
        e->kind = in->is_dir ? LEARNED_DIR : LEARNED_FILE;
        e->mask = in->is_dir ? in->mark->mask : 0; /* to what is no directory the kernel adds ON_CHILD */
        e->ignore_mask = ignore_mask;
        e->evictable = in->mark->evictable;
        e->placed_usec = l->inherited_usec;
        learn_count(l, e, true);
        l->params.counters->ignores_inherited++;
        return true;
}

static void inherit(const struct inheriting *in, int fd)
{
        const uint64_t all = in->mark->ignore_mask;
        uint64_t kept = 0;

        if (in->path.path)
                kept = all & learn_permitted(in->l->generation, in->l->terms, in->l->usable, in->is_dir, &in->path);
        if ((kept & vocab_to_fan(UNWANTED_ALL)) == 0)
                kept = 0;
        if (kept != all && in->path.path)
                note_astray(in);
        if (kept != all)
                take_off(in, fd, all & ~kept);
        if (kept != 0 && !enter(in, kept))
                take_off(in, fd, kept);
}

static bool find_path(const struct inheriting *in, struct strbuf *out)
{
        struct resolver *r = in->l->params.resolver;

        strbuf_reset(out);
        return (in->is_dir ? resolver_dir(r, &in->handle, out) : resolver_file(r, &in->handle, out)) == 0;
}

static void take_over(struct learn *l, const struct mark *m, struct strbuf *path)
{
        const struct world *w = l->generation->world;
        uint32_t fs = world_find_fs(w, m->object.sdev_major, m->object.sdev_minor);
        const struct handle *h = &m->object.handle;
        struct inheriting in = { .l = l, .mark = m, .path.fs = fs };
        struct stat st;

        if (fs == WORLD_NONE || !w->fs[fs].fsid_known) {
                l->left_behind = true; /* nothing leads there now */
                return;
        }
        in.handle = (struct fan_handle){
                .fsid = w->fs[fs].fsid, .type = h->type, .len = h->len, .bytes = h->bytes
        };
        _cleanup_close_ int fd = resolver_open(l->params.resolver, &in.handle, 0);
        if (fd < 0 || fstat(fd, &st) < 0) {
                l->left_behind |= fd != -ESTALE;
                return;
        }
        in.is_dir = S_ISDIR(st.st_mode);
        if (find_path(&in, path)) {
                in.path.path = strbuf_str(path);
                in.path.len = path->len;
        }
        inherit(&in, fd);
}

void learn_inherit(struct learn *l, const struct generation *first, const struct markset *found,
                   uint64_t since_usec)
{
        _cleanup_strbuf_ struct strbuf path = STRBUF_NULL;

        resolver_set_world(l->params.resolver, first->world);
        learn_set_terms(l, first);
        l->inherited_usec = since_usec;
        for (size_t i = 0; i < found->n; i++)
                take_over(l, &found->marks[i], &path);
        /* these paths are of now: the events that wait are older */
        resolver_forget_all(l->params.resolver);
        resolver_end_batch(l->params.resolver);
}
