/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fake_kernel.h"

#include <errno.h>

#include "fan_uapi.h"

void fake_kernel_done(struct fake_kernel *k)
{
        markset_done(&k->marks);
}

/* fanotify_may_update_existing_mark() */
static int may_update(const struct mark *m, const struct mark_op *op)
{
        if (op->evictable && !m->evictable)
                return -EEXIST;
        if (op->ignore && !op->ignore_new && m->ignore_new)
                return -EEXIST;
        if (op->ignore && op->ignore_new && !op->ignore_surv && m->ignore_surv)
                return -EEXIST;
        return 0;
}

/* fanotify_add_mark() */
static int add(struct fake_kernel *k, const struct mark_op *op)
{
        struct mark *m = markset_find(&k->marks, &op->group, &op->object);
        int r;

        if (op->evictable && op->object.kind != MARK_INODE)
                return -EINVAL;
        if (op->ignore && op->ignore_new && !op->ignore_surv && op->object.kind != MARK_INODE)
                return -EINVAL;
        if (!m) {
                r = markset_get(&k->marks, &op->group, &op->object, op->where, &m);
                if (r < 0)
                        return r;
                m->evictable = op->evictable;
        }
        r = may_update(m, op);
        if (r < 0)
                return r;
        if (!op->evictable)
                m->evictable = false; /* the update pins the inode */
        if (!op->ignore) {
                m->mask |= op->bits;
                return 0;
        }
        m->ignore_mask |= op->bits;
        m->ignore_surv |= op->ignore_surv;
        m->ignore_new |= op->ignore_new;
        return 0;
}

/* fanotify_remove_mark(), fanotify_mark_remove_from_mask() */
static int take(struct fake_kernel *k, const struct mark_op *op)
{
        struct mark *m = markset_find(&k->marks, &op->group, &op->object);

        if (!m)
                return -ENOENT;
        if (op->ignore)
                m->ignore_mask &= ~op->bits;
        else
                m->mask &= ~op->bits;
        if ((m->mask | m->ignore_mask) == 0)
                markset_remove(&k->marks, m);
        return 0;
}

int fake_kernel_mark(void *userdata, const struct mark_op *op)
{
        struct fake_kernel *k = userdata;
        int r;

        k->n_calls++;
        if (k->n_calls == k->fail_at)
                r = k->fail_error;
        else if (op->bits == 0)
                r = -EINVAL;
        else
                r = op->add ? add(k, op) : take(k, op);
        if (k->after)
                k->after(k->userdata, k);
        return r;
}

/* send_to_group(), fanotify_group_event_mask(): the union of the masks but the union of the ignore masks */
bool fake_kernel_delivers(const struct markset *marks, const struct mark_object *met, size_t n,
                          uint64_t event)
{
        static const struct group_key group = { .kind = GROUP_MAIN };
        uint64_t asked = 0, ignored = 0;

        for (size_t i = 0; i < n; i++) {
                const struct mark *m = markset_find(marks, &group, &met[i]);

                asked |= m ? m->mask : 0;
                ignored |= m ? m->ignore_mask : 0;
        }
        return (event & asked & ~ignored) != 0;
}
