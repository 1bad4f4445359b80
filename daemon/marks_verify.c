/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is placed against what the kernel has.  It shows all of a group's marks in fdinfo;
 * but to read that of a group with evictable marks may never come back
 * (doc/decisions/0003-a-crash-and-the-marks.md).  Then the marks are asked for one by one.
 */

#include <errno.h>

#include "fan_uapi.h"
#include "marks_internal.h"
#include "strbuf.h"

/* ---- one by one ---- */

static struct mark_op op_of(const struct mark *p)
{
        return (struct mark_op){
                .group = p->group,
                .object = p->object,
                .may_hang = p->may_hang,
                .where = p->where,
        };
}

/* Bits that every kind of mark and object takes, and that the mark does not have; false: it has them all. */
static bool pick_absent_bit(const struct mark *p, struct mark_op *op)
{
        static const uint64_t bits[] = {
                FAN_ACCESS, FAN_CLOSE_NOWRITE, FAN_OPEN, FAN_MODIFY, FAN_CLOSE_WRITE,
        };

        for (unsigned ignore = 0; ignore < 2; ignore++)
                for (size_t i = 0; i < ELEMENTSOF(bits); i++)
                        if (((ignore ? p->ignore_mask : p->mask) & bits[i]) == 0) {
                                op->ignore = ignore;
                                op->ignore_surv = ignore && (p->ignore_surv || p->ignore_mask == 0);
                                op->ignore_new = ignore && (p->ignore_new || p->ignore_mask == 0);
                                op->bits = bits[i];
                                return true;
                        }
        return false;
}

/*
 * To take off a bit that is not there changes nothing and says whether there is a mark
 * (fanotify_remove_mark()).  Returns 0; -ENOENT: the object has none; -ESTALE: there is no
 * object; other negative errno: not known.
 */
static int ask_for(struct marks *m, const struct mark *p)
{
        struct mark_op op = op_of(p);

        if (p->may_hang)
                return -ETIMEDOUT;
        return pick_absent_bit(p, &op) ? marks_call(m, &op) : -EBUSY;
}

/* To add what is there changes nothing, what is not there it mends. */
static void add_again(struct marks *m, const struct mark *p)
{
        struct mark_op op = op_of(p);

        op.add = true;
        op.bits = p->mask;
        if (op.bits != 0)
                (void)marks_call(m, &op);
        op.ignore = true;
        op.ignore_surv = p->ignore_surv;
        op.ignore_new = p->ignore_new;
        op.bits = p->ignore_mask;
        if (op.bits != 0)
                (void)marks_call(m, &op);
}

static int add_asked(struct marks *m, const struct group_key *key, struct markset *all)
{
        int r = 0;

        for (size_t i = 0; r == 0 && i < m->placed.n; i++) {
                const struct mark *p = &m->placed.marks[i];
                int there;

                if (group_key_compare(&p->group, key) != 0)
                        continue;
                there = ask_for(m, p);
                if (there == 0)
                        add_again(m, p);
                if (there != -ENOENT && there != -ESTALE)
                        r = markset_append(all, p);
        }
        return r;
}

/* ---- fdinfo ---- */

/* The kernel adds ON_CHILD to the mask of every mark but those of directories. */
static bool same_mark(const struct mark *placed, const struct mark *actual)
{
        uint64_t mask = actual->mask;

        if ((placed->mask & FAN_EVENT_ON_CHILD) == 0)
                mask &= ~(uint64_t)FAN_EVENT_ON_CHILD;
        return placed->mask == mask && placed->ignore_mask == actual->ignore_mask &&
               (actual->ignore_mask == 0 || (placed->ignore_surv == actual->ignore_surv &&
                                             placed->ignore_new == actual->ignore_new)) &&
               placed->evictable == actual->evictable;
}

/* With the paths that we know. */
static int add_shown(struct marks *m, struct fan_group *g, struct markset *all)
{
        _cleanup_markset_ struct markset shown = MARKSET_NULL;
        int r = fan_group_read_marks(g, &shown);

        for (size_t i = 0; r == 0 && i < shown.n; i++) {
                const struct mark *actual = &shown.marks[i];
                const struct mark *known = markset_find(&m->placed, &actual->group, &actual->object);
                struct mark mark = *actual;

                mark.where = known ? known->where : actual->where;
                mark.may_hang = known && known->may_hang;
                if (known && same_mark(known, actual))
                        mark.mask = known->mask;
                r = markset_append(all, &mark);
        }
        return r;
}

/* ---- both ---- */

static int collect_actual(struct marks *m, bool evictable, struct markset *ret)
{
        struct markset all = MARKSET_NULL;
        int r = 0;

        for (size_t i = 0; r == 0 && i < m->n_groups; i++) {
                const struct group_key *key = fan_group_key(m->groups[i]);

                r = key->kind == GROUP_MAIN && evictable ? add_asked(m, key, &all)
                                                         : add_shown(m, m->groups[i], &all);
        }
        if (r < 0) {
                markset_done(&all);
                return r;
        }
        markset_sort(&all);
        *ret = all;
        return 0;
}

static void report_mark(struct strbuf *report, const char *what, const struct mark *mark)
{
        if (!report)
                return;
        strbuf_addf(report, "%s: ", what);
        mark_print(mark, report);
        strbuf_addc(report, '\n');
}

/* Takes out of what the kernel has the marks that somebody else here remembers. */
static int check_others(const struct markset *placed, const struct marks_known *known, struct markset *actual,
                        struct strbuf *report)
{
        size_t kept = 0;
        int n = 0;

        for (size_t i = 0; i < actual->n; i++) {
                struct mark *mark = &actual->marks[i];
                bool ours = markset_find(placed, &mark->group, &mark->object);
                enum marks_is is = ours || !known ? MARKS_NOT_OURS : known->check(known->userdata, mark);

                if (!ours && is != MARKS_AS_KNOWN) {
                        n++;
                        report_mark(report, is == MARKS_REPAIRED ? "changed" : "not ours", mark);
                }
                if (ours || is == MARKS_NOT_OURS)
                        actual->marks[kept++] = *mark;
                else
                        free(mark->where);
        }
        actual->n = kept;
        return n;
}

int marks_verify(struct marks *m, const struct marks_known *known, struct strbuf *report)
{
        _cleanup_markset_ struct markset actual = MARKSET_NULL;
        struct markset old;
        int r, n = 0;

        if (m->params.mark)
                return 0;
        r = collect_actual(m, known && known->evictable, &actual);
        if (r < 0)
                return r;
        for (size_t i = 0; i < m->placed.n; i++) {
                const struct mark *placed = &m->placed.marks[i];
                const struct mark *real = markset_find(&actual, &placed->group, &placed->object);

                if (real && same_mark(placed, real))
                        continue;
                /* our inode marks pin the inode: when it was deleted, its mark went with it */
                if (!real && placed->object.kind == MARK_INODE && ask_for(m, placed) != -ENOENT)
                        continue;
                n++;
                report_mark(report, real ? "changed" : "gone", real ? real : placed);
        }
        n += check_others(&m->placed, known, &actual, report);
        old = m->placed;
        m->placed = actual;
        actual = old;
        return n;
}

/* ---- what a process before left ---- */

void marks_leave_to_others(struct marks *m, const struct markset *wanted, const struct marks_known *known)
{
        struct markset *placed = &m->placed;
        size_t kept = 0;

        for (size_t i = 0; i < placed->n; i++) {
                struct mark *mark = &placed->marks[i];

                if (!markset_find(wanted, &mark->group, &mark->object) &&
                    known->check(known->userdata, mark) == MARKS_AS_KNOWN)
                        free(mark->where);
                else
                        placed->marks[kept++] = *mark;
        }
        placed->n = kept;
}

/* An ignore mark without a mask: the plan's are pinned and wanted, those of events are not. */
static bool may_be_learned(const struct mark *m, const struct markset *wanted)
{
        return m->object.kind == MARK_INODE && m->group.kind == GROUP_MAIN && m->ignore_surv &&
               m->ignore_mask != 0 && (m->mask & ~(uint64_t)FAN_EVENT_ON_CHILD) == 0 &&
               (m->evictable || !markset_find(wanted, &m->group, &m->object));
}

void marks_take_learned(struct marks *m, const struct markset *wanted, struct markset *ret)
{
        struct markset *placed = &m->placed;
        size_t kept = 0;

        *ret = MARKSET_NULL;
        for (size_t i = 0; i < placed->n; i++) {
                struct mark *mark = &placed->marks[i];

                if (may_be_learned(mark, wanted) && markset_append(ret, mark) == 0)
                        free(mark->where);
                else
                        placed->marks[kept++] = *mark;
        }
        placed->n = kept;
}
