/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "marks_internal.h"

#include <errno.h>

/* --- groups --- */

static struct fan_group *find_group(const struct marks *m, const struct group_key *key)
{
        for (size_t i = 0; i < m->n_groups; i++)
                if (group_key_compare(fan_group_key(m->groups[i]), key) == 0)
                        return m->groups[i];
        return NULL;
}

static void group_changed(struct marks *m, struct fan_group *g, bool opened)
{
        if (m->params.group_changed)
                m->params.group_changed(m->params.userdata, g, opened);
}

static int open_group(struct marks *m, const struct group_key *key, struct fan_group **ret)
{
        struct fan_group **groups = reallocarray(m->groups, m->n_groups + 1, sizeof(*groups));
        int r;

        if (!groups)
                return -ENOMEM;
        m->groups = groups;
        r = fan_group_open(key, &m->kernel, m->params.queue_unlimited, &m->groups[m->n_groups]);
        if (r < 0)
                return r;
        *ret = m->groups[m->n_groups++];
        group_changed(m, *ret, true);
        return 0;
}

static bool is_held(const struct marks *m, const struct group_key *key)
{
        for (size_t i = 0; i < m->n_held; i++)
                if (group_key_compare(&m->held[i], key) == 0)
                        return true;
        return false;
}

static bool group_has_marks(const struct marks *m, const struct group_key *key)
{
        if (is_held(m, key))
                return true;
        for (size_t i = 0; i < m->placed.n; i++)
                if (group_key_compare(&m->placed.marks[i].group, key) == 0)
                        return true;
        return false;
}

/* The main group stays, whatever is in it: its queue is the one that is followed. */
static void close_empty_groups(struct marks *m)
{
        size_t kept = 0;

        for (size_t i = 0; i < m->n_groups; i++) {
                struct fan_group *g = m->groups[i];

                if (fan_group_key(g)->kind == GROUP_MAIN || group_has_marks(m, fan_group_key(g))) {
                        m->groups[kept++] = g;
                        continue;
                }
                group_changed(m, g, false);
                fan_group_free(g);
        }
        m->n_groups = kept;
}

int marks_hold_group(struct marks *m, const struct group_key *key, struct fan_group **ret)
{
        struct fan_group *g = find_group(m, key);
        struct group_key *held;
        int r = g ? 0 : open_group(m, key, &g);

        if (r < 0)
                return r;
        if (!is_held(m, key)) {
                held = reallocarray(m->held, m->n_held + 1, sizeof(*held));
                if (!held)
                        return -ENOMEM;
                m->held = held;
                m->held[m->n_held++] = *key;
        }
        *ret = g;
        return 0;
}

void marks_release_group(struct marks *m, const struct group_key *key)
{
        for (size_t i = 0; i < m->n_held; i++)
                if (group_key_compare(&m->held[i], key) == 0)
                        m->held[i] = m->held[--m->n_held];
        close_empty_groups(m);
}

/* Takes the groups over, main first. */
static int adopt_groups(struct marks *m, struct fan_group *const *groups, size_t n)
{
        m->groups = calloc(n + 1, sizeof(*m->groups));
        if (!m->groups) {
                for (size_t i = 0; i < n; i++)
                        fan_group_free(groups[i]);
                return -ENOMEM;
        }
        for (size_t i = 0; i < n; i++) {
                m->groups[m->n_groups++] = groups[i];
                if (fan_group_key(groups[i])->kind == GROUP_MAIN) {
                        m->groups[i] = m->groups[0];
                        m->groups[0] = groups[i];
                }
        }
        return 0;
}

int marks_new(const struct marks_params *params, struct marks **ret)
{
        static const struct group_key main_key = { .kind = GROUP_MAIN };
        _cleanup_(marks_freep) struct marks *m = calloc(1, sizeof(*m));
        struct fan_group *main_group;
        int r;

        if (!m)
                return -ENOMEM;
        m->params = *params;
        if (params->kernel)
                m->kernel = *params->kernel;
        m->params.kernel = &m->kernel;
        if (params->found) {
                m->placed = *params->found;
                *params->found = MARKSET_NULL;
        }
        if (params->n_adopted > 0) {
                r = adopt_groups(m, params->adopted, params->n_adopted);
                if (r < 0)
                        return r;
        }
        if (!params->mark && !find_group(m, &main_key)) {
                r = open_group(m, &main_key, &main_group);
                if (r < 0)
                        return r;
                m->groups[m->n_groups - 1] = m->groups[0];
                m->groups[0] = main_group;
        }
        *ret = STEAL(m);
        return 0;
}

static void forget_failures(struct marks *m)
{
        for (size_t i = 0; i < m->n_failures; i++)
                free(m->failures[i].where);
        m->n_failures = 0;
}

void marks_free(struct marks *m)
{
        if (!m)
                return;
        for (size_t i = 0; i < m->n_groups; i++)
                fan_group_free(m->groups[i]);
        free(m->groups);
        free(m->held);
        markset_done(&m->placed);
        forget_failures(m);
        free(m->failures);
        free(m);
}

/* --- ops --- */

int marks_call(struct marks *m, const struct mark_op *op)
{
        struct fan_group *g;
        int r;

        if (m->params.mark)
                return m->params.mark(m->params.userdata, op);
        g = find_group(m, &op->group);
        if (!g) {
                if (!op->add)
                        return -ENOENT;
                r = open_group(m, &op->group, &g);
                if (r < 0)
                        return r;
        }
        return fan_group_mark(g, op);
}

/* What is to be removed is not there: the filesystem was unmounted, or the mark's
 * object is gone, and the kernel has dropped the mark with it. */
static bool is_gone(const struct mark_op *op, int r)
{
        return !op->add && (r == -ENOENT || r == -ESTALE);
}

static void drop_vanished(struct markset *placed, const struct mark_op *op)
{
        struct mark *mark = markset_find(placed, &op->group, &op->object);

        if (mark)
                markset_remove(placed, mark);
}

/* One op, and placed as it is afterwards. */
static int execute(struct marks *m, const struct mark_op *op)
{
        int r = marks_call(m, op);

        if (is_gone(op, r)) {
                drop_vanished(&m->placed, op);
                return 0;
        }
        if (r < 0)
                return r;
        r = mark_op_apply(&m->placed, op);
        if (r < 0 && op->add) {
                /* What cannot be noted must not stay in force unknown. */
                struct mark_op back = mark_op_inverse(op);

                (void)marks_call(m, &back);
        }
        return r;
}

int marks_at(struct marks *m, const struct mark_op *op, int fd)
{
        int r = m->params.mark ? m->params.mark(m->params.userdata, op) : fan_group_mark_at(m->groups[0], op, fd);

        if (r < 0 || !markset_find(&m->placed, &op->group, &op->object))
                return r;
        return mark_op_apply(&m->placed, op);
}

void marks_forget(struct marks *m, const struct mark_object *object)
{
        static const struct group_key main_key = { .kind = GROUP_MAIN };
        struct mark *mark = markset_find(&m->placed, &main_key, object);

        if (mark)
                markset_remove(&m->placed, mark);
}

static void note_failure(struct marks *m, const struct mark_op *op, int error)
{
        char *where = strdup(op->where);

        if (m->n_failures == m->cap_failures) {
                size_t cap = m->cap_failures == 0 ? 16 : m->cap_failures * 2;
                struct mark_failure *v = reallocarray(m->failures, cap, sizeof(*v));

                if (!v) {
                        free(where);
                        return;
                }
                m->failures = v;
                m->cap_failures = cap;
        }
        m->failures[m->n_failures++] = (struct mark_failure){
                .object = op->object,
                .group = op->group,
                .error = -error,
                .uncovered = op->add && !op->ignore ? op->bits : 0,
                .where = where,
        };
}

/* A shortage is of the machine: the next call would fail as well. */
static bool is_shortage(int r)
{
        return r == -ENOMEM || r == -ENOSPC || r == -EMFILE || r == -ENFILE;
}

/* Takes back the first n widening ops but those that had failed, last one first. */
static void take_back(struct marks *m, const struct mark_op *ops, const bool *done, size_t n)
{
        for (size_t i = n; i-- > 0;) {
                struct mark_op back = mark_op_inverse(&ops[i]);

                if (done[i])
                        (void)execute(m, &back);
        }
        close_empty_groups(m);
}

/* Where a mark that stays is reached by now may be another path than at first. */
static void refresh_where(struct marks *m, const struct mark_op *op)
{
        struct mark *mark = markset_find(&m->placed, &op->group, &op->object);
        char *where;

        if (!mark || streq(mark->where, op->where))
                return;
        where = strdup(op->where);
        if (!where)
                return;
        free(mark->where);
        mark->where = where;
}

void marks_name(struct marks *m, const struct markset *wanted)
{
        for (size_t i = 0; i < wanted->n; i++) {
                const struct mark *w = &wanted->marks[i];
                struct mark *mark = markset_find(&m->placed, &w->group, &w->object);
                char *where = mark && !*mark->where && *w->where ? strdup(w->where) : NULL;

                if (!where)
                        continue;
                free(mark->where);
                mark->where = where;
                mark->may_hang = w->may_hang;
        }
}

int marks_widen(struct marks *m, const struct markdiff *d)
{
        _cleanup_free_ bool *done = calloc(d->n_widen + 1, sizeof(*done));

        forget_failures(m);
        if (!done)
                return -ENOMEM;
        for (size_t i = 0; i < d->n_widen; i++) {
                int r = execute(m, &d->widen[i]);

                if (is_shortage(r)) {
                        take_back(m, d->widen, done, i);
                        return r;
                }
                if (r < 0)
                        note_failure(m, &d->widen[i], r);
                else
                        refresh_where(m, &d->widen[i]);
                done[i] = r == 0;
        }
        return 0;
}

/* Can an event meet both marks? */
static bool overlap(const struct mark_object *a, const struct mark_object *b)
{
        if (a->kind == MARK_MOUNT || b->kind == MARK_MOUNT)
                return mark_object_compare(a, b) == 0;
        return a->sdev_major == b->sdev_major && a->sdev_minor == b->sdev_minor;
}

/*
 * Where a mark that was to take over could not be placed, the one that it replaces
 * keeps those bits: surplus events are filtered, missing ones are lost.  What is
 * withheld stays in the difference and goes when the failure is mended.
 */
static uint64_t withheld(const struct marks *m, size_t n_failures, const struct mark_op *op)
{
        uint64_t bits = 0;

        if (op->add || op->ignore)
                return 0;
        for (size_t i = 0; i < n_failures; i++)
                if (group_key_compare(&m->failures[i].group, &op->group) == 0 &&
                    overlap(&m->failures[i].object, &op->object))
                        bits |= m->failures[i].uncovered;
        return bits & op->bits;
}

void marks_narrow(struct marks *m, const struct markdiff *d)
{
        size_t n_widening = m->n_failures;

        for (size_t i = 0; i < d->n_narrow; i++) {
                struct mark_op op = d->narrow[i];
                int r;

                op.bits &= ~withheld(m, n_widening, &op);
                r = op.bits == 0 ? 0 : execute(m, &op);
                if (r < 0)
                        note_failure(m, &op, r);
        }
        close_empty_groups(m);
}

const struct markset *marks_placed(const struct marks *m)
{
        return &m->placed;
}

const struct mark_failure *marks_failures(const struct marks *m, size_t *ret_n)
{
        *ret_n = m->n_failures;
        return m->failures;
}

size_t marks_groups(const struct marks *m, struct fan_group *const **ret)
{
        *ret = m->groups;
        return m->n_groups;
}
