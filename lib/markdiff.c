/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the marks that are placed to the marks that are wanted. */

#include "markdiff.h"

#include <errno.h>

#include "fan_uapi.h"

void markdiff_done(struct markdiff *d)
{
        for (size_t i = 0; i < d->n_copies; i++)
                free(d->copies[i]);
        free(d->copies);
        free(d->widen);
        free(d->narrow);
        *d = (struct markdiff){};
}

/* The ops of both lists as they are found; the first failed allocation sticks. */
struct builder {
        struct markdiff diff;
        size_t cap_widen, cap_narrow, cap_copies;
        bool no_memory;
};

static void push(struct builder *b, struct mark_op **list, size_t *n, size_t *cap, const struct mark_op *op)
{
        if (op->bits == 0 || b->no_memory)
                return;
        if (*n == *cap) {
                size_t bigger = *cap == 0 ? 16 : *cap * 2;
                struct mark_op *v = reallocarray(*list, bigger, sizeof(*v));

                if (!v) {
                        b->no_memory = true;
                        return;
                }
                *list = v;
                *cap = bigger;
        }
        (*list)[(*n)++] = *op;
}

static const char *keep_copy(struct builder *b, const char *where)
{
        struct markdiff *d = &b->diff;
        char *copy;

        if (d->n_copies == b->cap_copies) {
                size_t bigger = b->cap_copies == 0 ? 16 : b->cap_copies * 2;
                char **v = reallocarray(d->copies, bigger, sizeof(*v));

                if (!v) {
                        b->no_memory = true;
                        return "";
                }
                d->copies = v;
                b->cap_copies = bigger;
        }
        copy = strdup(where);
        if (!copy) {
                b->no_memory = true;
                return "";
        }
        return d->copies[d->n_copies++] = copy;
}

static void widen(struct builder *b, const struct mark_op *op)
{
        push(b, &b->diff.widen, &b->diff.n_widen, &b->cap_widen, op);
}

static void narrow(struct builder *b, const struct mark_op *op)
{
        push(b, &b->diff.narrow, &b->diff.n_narrow, &b->cap_narrow, op);
}

static struct mark_op op_on(const struct mark *m, const char *where)
{
        return (struct mark_op){
                .group = m->group,
                .object = m->object,
                .may_hang = m->may_hang,
                .where = where,
        };
}

/* An op on the ignore mask, with the flags the kernel wants to see for that mark. */
static struct mark_op ignore_op(const struct mark *m, const char *where, bool add, uint64_t bits)
{
        struct mark_op op = op_on(m, where);

        op.add = add;
        op.ignore = true;
        op.ignore_surv = m->ignore_surv;
        op.ignore_new = m->ignore_new;
        op.evictable = add && m->evictable;
        op.bits = bits;
        return op;
}

static struct mark_op mask_op(const struct mark *m, const char *where, bool add, uint64_t bits)
{
        struct mark_op op = op_on(m, where);

        op.add = add;
        op.evictable = add && m->evictable;
        op.bits = bits;
        return op;
}

/*
 * Can the ignore mask not be changed in place?  The kernel sets the surviving
 * flag but never clears it, makes an evictable mark permanent but never the
 * other way round, and refuses the old interface once the new one was used
 * (fanotify_add_mark(), fanotify_may_update_existing_mark()).  And a legacy
 * ignore applies to children when the mask of the same mark has ON_CHILD, so
 * that adding ON_CHILD there would both widen and narrow.
 */
static bool ignore_must_be_renewed(const struct mark *placed, const struct mark *wanted)
{
        if (placed->ignore_mask == 0)
                return false;
        if (!placed->ignore_new && ((placed->mask ^ wanted->mask) & FAN_EVENT_ON_CHILD) != 0)
                return true;
        if (wanted->ignore_mask == 0)
                return false; /* it is only taken off */
        if (placed->ignore_new != wanted->ignore_new)
                return true;
        if (placed->ignore_surv && !wanted->ignore_surv)
                return true;
        return !placed->evictable && wanted->evictable;
}

/* Flags that the mark gains although no bit of its ignore mask does. */
static bool ignore_gains_flags(const struct mark *placed, const struct mark *wanted)
{
        return (!placed->ignore_surv && wanted->ignore_surv) || (placed->evictable && !wanted->evictable);
}

/* wanted == NULL: the mark goes.  placed == NULL: it is new. */
static void compare(struct builder *b, const struct mark *placed, const struct mark *wanted)
{
        static const struct mark none;
        const struct mark *p = placed ? placed : &none, *w = wanted ? wanted : &none;
        const struct mark *subject = wanted ? wanted : placed;
        const char *where = wanted ? wanted->where : keep_copy(b, placed->where);
        struct mark old = placed ? *placed : *wanted;
        bool renew = ignore_must_be_renewed(p, w);
        uint64_t ignore_off = renew ? p->ignore_mask : p->ignore_mask & ~w->ignore_mask;
        uint64_t ignore_on = renew ? w->ignore_mask : w->ignore_mask & ~p->ignore_mask;
        struct mark_op op;

        if (w->ignore_mask != 0 && p->ignore_mask != 0 && !renew && ignore_gains_flags(p, w))
                ignore_on = w->ignore_mask;
        old.may_hang = subject->may_hang;

        /* The ignore goes first where the mask would change what it means; else the
         * mask comes first, so that the mark never becomes empty in between. */
        op = ignore_op(&old, where, false, ignore_off);
        if (renew)
                widen(b, &op);
        op = mask_op(subject, where, true, w->mask & ~p->mask);
        widen(b, &op);
        if (!renew) {
                op = ignore_op(&old, where, false, ignore_off);
                widen(b, &op);
        }

        /* The mask goes first, so that the mark is new, and may be evictable, when
         * nothing but an ignore is to be left of it. */
        op = mask_op(&old, where, false, p->mask & ~w->mask);
        narrow(b, &op);
        op = ignore_op(subject, where, true, ignore_on);
        narrow(b, &op);
}

static int mark_compare(const struct mark *a, const struct mark *b)
{
        int c = group_key_compare(&a->group, &b->group);

        return c != 0 ? c : mark_object_compare(&a->object, &b->object);
}

int markdiff_build(const struct markset *placed, const struct markset *wanted, struct markdiff *ret)
{
        struct builder b = {};
        size_t i = 0, k = 0;

        while (i < placed->n || k < wanted->n) {
                const struct mark *p = i < placed->n ? &placed->marks[i] : NULL;
                const struct mark *w = k < wanted->n ? &wanted->marks[k] : NULL;
                int c = !p ? 1 : !w ? -1 : mark_compare(p, w);

                compare(&b, c <= 0 ? p : NULL, c >= 0 ? w : NULL);
                i += c <= 0;
                k += c >= 0;
        }
        if (b.no_memory) {
                markdiff_done(&b.diff);
                return -ENOMEM;
        }
        *ret = b.diff;
        return 0;
}

static void apply_add(struct mark *m, const struct mark_op *op, bool is_new)
{
        if (op->ignore) {
                m->ignore_mask |= op->bits;
                m->ignore_surv |= op->ignore_surv;
                m->ignore_new |= op->ignore_new;
        } else {
                m->mask |= op->bits;
        }
        m->evictable = op->evictable && (is_new || m->evictable);
        m->may_hang = op->may_hang;
}

int mark_op_apply(struct markset *placed, const struct mark_op *op)
{
        struct mark *m = markset_find(placed, &op->group, &op->object);
        bool is_new = !m;
        int r;

        if (op->add) {
                r = markset_get(placed, &op->group, &op->object, op->where, &m);
                if (r < 0)
                        return r;
                apply_add(m, op, is_new);
                return 0;
        }
        if (!m)
                return 0;
        if (op->ignore)
                m->ignore_mask &= ~op->bits;
        else
                m->mask &= ~op->bits;
        /* The kernel frees a mark with both masks empty, and its flags with it. */
        if (m->mask == 0 && m->ignore_mask == 0)
                markset_remove(placed, m);
        return 0;
}

struct mark_op mark_op_inverse(const struct mark_op *op)
{
        struct mark_op inverse = *op;

        inverse.add = !op->add;
        return inverse;
}
