/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "until.h"

#include <errno.h>

#include "fan_uapi.h"
#include "fdutil.h"
#include "plan_ignore.h"

struct armed {
        struct armed *next;
        uint32_t ignore; /* index in the rules in force */
        char *name, *path;
        char *inside; /* the path inside its filesystem */
        struct mark_object object;
        uint64_t fsid;
        uint64_t bits;
        enum until_state state;
        bool asks_close; /* its mask asks for close_write, which the filesystem's does not */
        bool kept;
};

struct until {
        struct until_params params;
        const struct generation *generation;
        struct armed *armed;
};

int until_new(const struct until_params *params, struct until **ret)
{
        struct until *u = calloc(1, sizeof(*u));

        if (!u)
                return -ENOMEM;
        u->params = *params;
        *ret = u;
        return 0;
}

static void armed_free(struct armed *a)
{
        free(a->name);
        free(a->path);
        free(a->inside);
        free(a);
}

static void forget_all(struct until *u)
{
        while (u->armed) {
                struct armed *next = u->armed->next;

                armed_free(u->armed);
                u->armed = next;
        }
}

void until_free(struct until *u)
{
        if (!u)
                return;
        forget_all(u);
        free(u);
}

void until_set_marks(struct until *u, struct marks *marks)
{
        forget_all(u);
        u->params.marks = marks;
}

/* ---- calls ---- */

static struct fan_handle handle_of(const struct armed *a)
{
        const struct handle *h = &a->object.handle;

        return (struct fan_handle){ .fsid = a->fsid, .type = h->type, .len = h->len, .bytes = h->bytes };
}

static int call(struct until *u, const struct armed *a, int fd, bool add, bool ignore, uint64_t bits)
{
        const struct mark_op op = {
                .group = { .kind = GROUP_MAIN },
                .object = a->object,
                .add = add,
                .ignore = ignore,
                .ignore_new = ignore && u->generation->world->kernel.ignore,
                .bits = bits,
                .where = a->path,
        };

        return marks_at(u->params.marks, &op, fd);
}

static void ask_for_close(struct until *u, struct armed *a, int fd, bool ask)
{
        if (a->asks_close != ask && call(u, a, fd, ask, false, FAN_CLOSE_WRITE) == 0)
                a->asks_close = ask;
}

/*
 * Whether anything was placed the answer does not say; but taking off a bit that is not
 * there says whether there is a mark: ENOENT, or 0 and nothing changed.
 */
static void place(struct until *u, struct armed *a)
{
        const struct fan_handle h = handle_of(a);
        _cleanup_close_ int fd = resolver_open(u->params.resolver, &h, 0);

        if (fd < 0)
                return;
        /* a mask of ours would make a mark exist, whatever becomes of the ignore */
        ask_for_close(u, a, fd, false);
        if (call(u, a, fd, true, true, a->bits) < 0) {
                u->params.counters->ignores_failed++;
                a->state = UNTIL_NONE;
                return;
        }
        if (call(u, a, fd, false, true, FAN_ATTRIB) == 0) {
                a->state = UNTIL_PLACED;
                return;
        }
        a->state = UNTIL_PENDING;
        ask_for_close(u, a, fd, true);
}

/* Effective also where the kernel has cleared the mask: the mark goes, and its interest with it. */
static void take_off(struct until *u, struct armed *a)
{
        const struct fan_handle h = handle_of(a);
        _cleanup_close_ int fd = resolver_open(u->params.resolver, &h, 0);

        if (fd >= 0 && a->state != UNTIL_NONE) {
                (void)call(u, a, fd, false, true, a->bits);
                ask_for_close(u, a, fd, false);
        }
        a->state = UNTIL_NONE;
}

static void take_off_where(struct until *u, bool (*goes)(const struct armed *a, const void *arg),
                           const void *arg)
{
        for (struct armed **link = &u->armed; *link;) {
                struct armed *a = *link;

                if (!goes(a, arg)) {
                        link = &a->next;
                        continue;
                }
                take_off(u, a);
                *link = a->next;
                armed_free(a);
        }
}

/* ---- generations ---- */

static bool same_object(const struct armed *a, const struct mark_object *o)
{
        return mark_object_compare(&a->object, o) == 0;
}

static struct armed *find(struct until *u, const struct clause *ignore, const char *path,
                          const struct mark_object *o)
{
        struct armed *a = u->armed;

        while (a && !(streq(a->name, ignore->name) && streq(a->path, path) && same_object(a, o)))
                a = a->next;
        return a;
}

static struct armed *add(struct until *u, const struct clause *ignore, const struct world_path *p)
{
        struct armed *a = calloc(1, sizeof(*a));

        if (!a)
                return NULL;
        a->name = strdup(ignore->name);
        a->path = strdup(p->path);
        a->inside = strdup(p->inside);
        if (!a->name || !a->path || !a->inside) {
                armed_free(a);
                return NULL;
        }
        a->next = u->armed;
        u->armed = a;
        return a;
}

/* On an object with another mark of ours it is done in userspace. */
static bool is_marked(const struct until *u, const struct mark_object *o)
{
        const struct group_key group = { .kind = GROUP_MAIN };

        return markset_find(marks_placed(u->params.marks), &group, o);
}

static void arm(struct until *u, const struct generation *g, const struct plan_ignore *planned)
{
        const struct world_path *p = world_find_path(g->world, planned->path);
        uint32_t ignore = (uint32_t)(planned->ignore - g->rules->ignores), fs = g->world->mounts[p->mount].fs;
        const struct mark_object object = {
                .kind = MARK_INODE,
                .sdev_major = g->world->fs[fs].sdev_major,
                .sdev_minor = g->world->fs[fs].sdev_minor,
                .handle = p->handle,
        };
        const struct match_path path = { .fs = fs, .path = p->inside, .len = strlen(p->inside) };
        struct ignore_terms terms;
        struct mark mark = {};
        struct unwanted w;
        struct armed *a;

        if (!g->world->fs[fs].fsid_known || matcher_is_spent(g->matcher, ignore) || is_marked(u, &object) ||
            unwanted_until_modified(g->matcher, &path, &w) < 0 ||
            plan_ignore_terms(g->plan, g->settings, g->matcher, fs, &terms) < 0)
                return;
        plan_ignore_file(&terms, w.events, &mark);
        a = find(u, planned->ignore, planned->path, &object);
        if (mark.ignore_mask == 0 || (a && a->bits != mark.ignore_mask))
                return; /* nothing asks for what it would stop; or it is placed anew by the next load */
        if (!a)
                a = add(u, planned->ignore, p);
        if (!a)
                return;
        a->ignore = ignore;
        a->kept = true;
        if (a->state != UNTIL_NONE)
                return;
        a->object = object;
        a->fsid = g->world->fs[fs].fsid;
        a->bits = mark.ignore_mask;
        place(u, a);
}

static bool is_left(const struct armed *a, const void *arg)
{
        return !a->kept;
}

void until_set_generation(struct until *u, const struct generation *g)
{
        u->generation = g;
        for (struct armed *a = u->armed; a; a = a->next)
                a->kept = false;
        for (size_t i = 0; i < g->plan->n_ignores; i++)
                if (g->plan->ignores[i].done == IGNORE_UNTIL_MODIFIED)
                        arm(u, g, &g->plan->ignores[i]);
        take_off_where(u, is_left, NULL);
}

/* ---- events ---- */

static bool is_of(const struct armed *a, const void *arg)
{
        const struct fan_handle h = handle_of(a);

        return fan_handle_equal(&h, arg);
}

void until_event(struct until *u, const struct fan_handle *object, uint64_t events, bool is_moved)
{
        if (!u->armed || !fan_handle_given(object))
                return;
        if (is_moved || (events & (FAN_MODIFY | FAN_DELETE_SELF))) {
                take_off_where(u, is_of, object);
                return;
        }
        for (struct armed *a = u->armed; (events & FAN_CLOSE_WRITE) && a; a = a->next)
                if (a->state == UNTIL_PENDING && is_of(a, object))
                        place(u, a);
}

struct subtree {
        uint64_t fsid;
        const struct match_path *path;
};

static bool is_below(const struct armed *a, const void *arg)
{
        const struct subtree *s = arg;
        const struct match_path *dir = s->path;

        return a->fsid == s->fsid && (!dir->path || (strncmp(a->inside, dir->path, dir->len) == 0 &&
                                                     (dir->len == 1 || a->inside[dir->len] == '/')));
}

void until_moved_below(struct until *u, uint64_t fsid, const struct match_path *old_path)
{
        const struct subtree s = { .fsid = fsid, .path = old_path };

        take_off_where(u, is_below, &s);
}

static bool is_ignore(const struct armed *a, const void *arg)
{
        return a->ignore == *(const uint32_t *)arg;
}

void until_spend(struct until *u, uint32_t ignore)
{
        take_off_where(u, is_ignore, &ignore);
}

/* ---- answers ---- */

enum until_state until_state(const struct until *u, uint32_t ignore, const char *path)
{
        for (const struct armed *a = u->armed; a; a = a->next)
                if (a->ignore == ignore && streq(a->path, path))
                        return a->state;
        return UNTIL_NONE;
}

const char *until_state_name(enum until_state s)
{
        static const char *const names[] = {
                [UNTIL_NONE] = "in userspace",
                [UNTIL_PLACED] = "in the kernel",
                [UNTIL_PENDING] = "pending: open for writing",
        };

        return names[s];
}

bool until_knows(const struct until *u, const struct mark *actual)
{
        for (const struct armed *a = u->armed; a; a = a->next)
                if (same_object(a, &actual->object))
                        return (actual->ignore_mask & ~a->bits) == 0 && !actual->ignore_surv;
        return false;
}

int until_list(const struct until *u, struct markset *ret)
{
        int r = 0;

        for (const struct armed *a = u->armed; r == 0 && a; a = a->next) {
                const bool placed = a->state == UNTIL_PLACED;
                const struct mark m = {
                        .object = a->object,
                        .mask = a->asks_close ? FAN_CLOSE_WRITE : 0,
                        .ignore_mask = placed ? a->bits : 0,
                        .ignore_new = placed && u->generation->world->kernel.ignore,
                        .where = a->path,
                };

                if ((m.mask | m.ignore_mask) != 0)
                        r = markset_append(ret, &m);
        }
        markset_sort(ret);
        return r;
}

const char *until_where(const struct until *u, const struct mark *actual)
{
        for (const struct armed *a = u->armed; a; a = a->next)
                if (same_object(a, &actual->object))
                        return a->path;
        return NULL;
}

size_t until_count(const struct until *u)
{
        size_t n = 0;

        for (const struct armed *a = u->armed; a; a = a->next)
                n++;
        return n;
}
