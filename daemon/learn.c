/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "learn_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "fan_uapi.h"
#include "fdutil.h"

#define HANDLE_KEY_MAX (8u + 4u + 128u)
/* Pinned marks hold their inodes in memory, about 1 KiB each: fewer of them. */
#define MAX_PINNED 8192u
/* Until a mark is placed again that the kernel dropped; doubled each time, up to the last. */
#define RENEW_MIN_USEC USEC_PER_SEC
#define RENEW_MAX_USEC (64 * USEC_PER_SEC)
/* Until marks are tried again after a shortage. */
#define SHORTAGE_USEC (60 * USEC_PER_SEC)

static size_t handle_key(const struct fan_handle *h, uint8_t key[static HANDLE_KEY_MAX])
{
        size_t len = MIN_OF(h->len, 128u);

        memcpy(key, &h->fsid, 8);
        memcpy(key + 8, &h->type, 4);
        memcpy(key + 12, h->bytes, len);
        return 12 + len;
}

struct fan_handle learn_handle_of(const struct learned *e)
{
        return (struct fan_handle){ .fsid = e->fsid, .type = e->type, .len = e->len, .bytes = e->bytes };
}

struct learned *learn_look_up(const struct learn *l, const struct fan_handle *h)
{
        uint8_t key[HANDLE_KEY_MAX];

        size_t len;

        if (!fan_handle_given(h))
                return NULL;
        len = handle_key(h, key);
        /* while slices of the table are corrected, their order is the order of use */
        return l->paused ? lru_peek(l->table, key, len) : lru_get(l->table, key, len);
}

void learn_forget(struct learn *l, const struct learned *e)
{
        const struct fan_handle h = learn_handle_of(e);
        uint8_t key[HANDLE_KEY_MAX];

        (void)lru_remove(l->table, key, handle_key(&h, key));
}

bool learn_has_mark(const struct learned *e)
{
        return (e->mask | e->ignore_mask) != 0;
}

void learn_count(struct learn *l, const struct learned *e, bool more)
{
        if (learn_has_mark(e) && !e->planned)
                l->n[e->kind] += more ? 1 : (size_t)-1;
}

/* ---- calls ---- */

bool learn_object_of(const struct learn *l, const struct fan_handle *h, struct mark_object *ret)
{
        uint32_t fs = resolver_fs(l->params.resolver, h->fsid);
        const struct world_fs *f;

        if (fs == WORLD_NONE || h->len > sizeof(ret->handle.bytes))
                return false;
        f = &l->generation->world->fs[fs];
        *ret = (struct mark_object){
                .kind = MARK_INODE,
                .sdev_major = f->sdev_major,
                .sdev_minor = f->sdev_minor,
                .handle = { .type = h->type, .len = h->len },
        };
        memcpy(ret->handle.bytes, h->bytes, h->len);
        return true;
}

/* One call: ignore says which mask, add or remove. */
static int call(struct learn *l, const struct learned *e, int fd, struct mark_op op)
{
        const struct fan_handle h = learn_handle_of(e);

        if (op.bits == 0)
                return 0;
        op.group = (struct group_key){ .kind = GROUP_MAIN };
        op.where = "";
        op.ignore_surv = op.ignore;
        op.ignore_new = op.ignore && l->generation->world->kernel.ignore;
        op.evictable = op.add && e->evictable;
        return learn_object_of(l, &h, &op.object) ? marks_at(l->params.marks, &op, fd) : -ESTALE;
}

/* Takes these ignored bits, and for a whole mark its mask too, off.  What cannot be found has no mark. */
void learn_take_off(struct learn *l, struct learned *e, uint64_t bits)
{
        const struct fan_handle h = learn_handle_of(e);
        _cleanup_close_ int fd = resolver_open(l->params.resolver, &h, 0);
        bool whole = (e->ignore_mask & ~bits) == 0;
        struct mark_object object;
        int r = fd;

        if (fd >= 0) {
                r = call(l, e, fd, (struct mark_op){ .ignore = true, .bits = e->ignore_mask & bits });
                if (whole && r == 0)
                        r = call(l, e, fd, (struct mark_op){ .bits = e->mask });
        } else if (e->planned && learn_object_of(l, &h, &object)) {
                marks_forget(l->params.marks, &object);
        }
        /* that of an object which is gone went with it */
        l->left_behind |= r < 0 && r != -ESTALE && !(fd >= 0 && r == -ENOENT);
        l->params.counters->ignores_taken_off += fd >= 0;
        learn_count(l, e, false);
        e->ignore_mask &= ~bits;
        if (whole)
                e->mask = 0;
        learn_count(l, e, true);
}

static void dropped(void *userdata, void *value)
{
        struct learn *l = userdata;
        struct learned *e = value;

        if (learn_has_mark(e) && !e->gone && l->generation)
                learn_take_off(l, e, UINT64_MAX);
        learn_count(l, e, false);
        if (dirtree_value(e->node) == e)
                dirtree_set(e->node, NULL);
        dirtree_prune(l->tree, e->node);
        free(e);
}

int learn_new(const struct learn_params *params, struct learn **ret)
{
        _cleanup_(learn_freep) struct learn *l = calloc(1, sizeof(*l));

        if (!l)
                return -ENOMEM;
        l->params = *params;
        l->max = params->evictable ? params->max_marks : MIN_OF(params->max_marks, (size_t)MAX_PINNED);
        l->max = MAX_OF(l->max, (size_t)16);
        if (dirtree_new(&l->tree) < 0 || lru_new(l->max, SIZE_MAX, dropped, l, &l->table) < 0)
                return -ENOMEM;
        *ret = STEAL(l);
        return 0;
}

void learn_free(struct learn *l)
{
        if (!l)
                return;
        learn_each_astray(l, NULL, NULL);
        l->generation = NULL;
        if (l->table)
                lru_free(l->table);
        dirtree_free(l->tree);
        strbuf_done(&l->scratch);
        learn_end_correcting(l);
        learn_forget_late(l);
        free(l->terms);
        free(l->usable);
        free(l);
}

void learn_set_marks(struct learn *l, struct marks *marks)
{
        const struct generation *g = l->generation;

        l->generation = NULL; /* without one, nothing is taken off */
        lru_clear(l->table);
        l->generation = g;
        l->params.marks = marks;
        l->left_behind = false;
}

static bool is_learned(void *arg, void *value)
{
        return !((const struct learned *)value)->planned;
}

void learn_retire(struct learn *l)
{
        l->retired = true;
        (void)lru_remove_if(l->table, is_learned, NULL);
}

/* A new entry at this path; what hung there before was another object of that name. */
struct learned *learn_enter(struct learn *l, const struct fan_handle *h, const struct match_path *path)
{
        struct dirtree_node *node = dirtree_add(l->tree, h->fsid, path->path, path->len);
        struct learned *e, *before;
        uint8_t key[HANDLE_KEY_MAX];

        if (!node)
                return NULL;
        e = malloc(sizeof(*e) + h->len);
        if (!e) {
                dirtree_prune(l->tree, node);
                return NULL;
        }
        *e = (struct learned){ .node = node, .fsid = h->fsid, .type = h->type, .len = h->len };
        memcpy(e->bytes, h->bytes, h->len);
        before = dirtree_value(node);
        dirtree_set(node, e);
        if (before)
                learn_forget(l, before);
        if (lru_put(l->table, key, handle_key(h, key), e, 1) < 0) {
                dirtree_set(node, NULL);
                dirtree_prune(l->tree, node);
                free(e);
                return NULL;
        }
        return e;
}

/* ---- placing ---- */

static void note_error(struct learn *l, int r)
{
        l->params.counters->ignores_failed++;
        if (r != -ENOSPC && r != -ENOMEM)
                return;
        l->error = -r;
        l->retry_usec = l->params.monotonic_usec() + SHORTAGE_USEC;
}

static bool is_short(struct learn *l)
{
        if (l->error != 0 && l->params.monotonic_usec() >= l->retry_usec)
                l->error = 0;
        return l->error != 0;
}

/* The mask first: the old interface reads its ON_CHILD for the ignore. */
int learn_place(struct learn *l, struct learned *e, int fd, const struct mark *m)
{
        uint64_t now = l->params.file_usec();
        int r = call(l, e, fd, (struct mark_op){ .add = true, .bits = m->mask });

        if (r == 0)
                r = call(l, e, fd, (struct mark_op){ .add = true, .ignore = true, .bits = m->ignore_mask });
        if (r < 0) {
                if (m->mask != 0)
                        (void)call(l, e, fd, (struct mark_op){ .bits = m->mask });
                return r;
        }
        learn_count(l, e, false);
        e->mask |= m->mask;
        e->ignore_mask |= m->ignore_mask;
        e->placed_usec = now;
        learn_count(l, e, true);
        return 0;
}

/* Was this event queued although the mark should have stopped it?  Then it is placed again. */
static void renew(struct learn *l, struct learned *e, uint64_t events, uint64_t epoch)
{
        const struct fan_handle h = learn_handle_of(e);
        const struct mark again = { .mask = e->mask, .ignore_mask = e->ignore_mask };
        uint64_t now;

        if (l->paused || (events & e->ignore_mask & ~(uint64_t)FAN_ONDIR) == 0 || epoch < e->epoch + EPOCHS_TO_BE_SURE)
                return;
        now = l->params.monotonic_usec();
        if (now < e->renew_usec || is_short(l))
                return;
        e->pause_usec = MIN_OF(MAX_OF(2 * e->pause_usec, RENEW_MIN_USEC), RENEW_MAX_USEC);
        e->renew_usec = now + e->pause_usec;
        e->epoch = epoch;

        _cleanup_close_ int fd = resolver_open(l->params.resolver, &h, 0);
        int r = fd < 0 ? fd : learn_place(l, e, fd, &again);
        if (r == -ESTALE)
                return;
        if (r < 0)
                note_error(l, r);
        else
                l->params.counters->ignores_renewed++;
}

bool learn_allowed(const struct learn *l, uint32_t fs)
{
        return fs != WORLD_NONE && !l->paused && !l->retired && l->generation->settings->kernel_ignores &&
               l->usable[fs];
}

static void learn(struct learn *l, struct learned *e, const struct mark *m, uint64_t epoch)
{
        const struct fan_handle h = learn_handle_of(e);
        struct stat st;
        int r;

        e->epoch = epoch;
        e->evictable = l->params.evictable && e->kind == LEARNED_DIR;
        _cleanup_close_ int fd =
                        resolver_open(l->params.resolver, &h, e->kind == LEARNED_DIR ? O_DIRECTORY : 0);
        if (fd < 0)
                return;
        if (e->kind == LEARNED_FILE && (fstat(fd, &st) < 0 || st.st_nlink != 1))
                return; /* the other name may be watched */
        r = learn_place(l, e, fd, m);
        if (r == 0) {
                l->params.counters->ignores_learned++;
                return;
        }
        note_error(l, r);
        if (l->error != 0)
                learn_forget(l, e); /* tried again when the shortage may be over */
}

void learn_dir(struct learn *l, const struct fan_handle *dir, const struct match_path *path, uint64_t events,
               uint64_t epoch)
{
        struct learned *e = learn_look_up(l, dir);
        struct mark m = {};
        struct unwanted u;

        if (e) {
                renew(l, e, events, epoch);
                return;
        }
        if (!learn_allowed(l, path->fs) || is_short(l) ||
            unwanted_in_dir(l->generation->matcher, path, &u) < 0)
                return;
        e = learn_enter(l, dir, path);
        if (!e)
                return;
        plan_ignore_dir(&l->terms[path->fs], u.events, &m);
        if (m.ignore_mask != 0)
                learn(l, e, &m, epoch);
}

void learn_file(struct learn *l, const struct fan_handle *file, const struct match_path *path,
                uint64_t events, uint64_t epoch)
{
        struct learned *e = learn_look_up(l, file);
        struct mark m = {};
        struct unwanted u;

        if (e) {
                renew(l, e, events, epoch);
                return;
        }
        if (!learn_allowed(l, path->fs) || is_short(l) ||
            !unwanted_is_named_file(l->generation->matcher, path) ||
            unwanted_of_file(l->generation->matcher, path, &u) < 0)
                return;
        e = learn_enter(l, file, path);
        if (!e)
                return;
        e->kind = LEARNED_FILE;
        plan_ignore_file(&l->terms[path->fs], u.events, &m);
        if (m.ignore_mask != 0)
                learn(l, e, &m, epoch);
}

/* ---- verification, status ---- */

enum learn_check learn_verify(struct learn *l, const struct mark *actual)
{
        const struct world *w = l->generation ? l->generation->world : NULL;
        uint32_t fs = w ? world_find_fs(w, actual->object.sdev_major, actual->object.sdev_minor) : WORLD_NONE;
        const struct handle *handle = &actual->object.handle;
        struct fan_handle h = { .type = handle->type, .len = handle->len, .bytes = handle->bytes };
        struct learned *e;
        uint64_t mask;

        if (fs == WORLD_NONE || actual->object.kind != MARK_INODE || actual->group.kind != GROUP_MAIN)
                return LEARN_UNKNOWN;
        h.fsid = w->fs[fs].fsid;
        e = learn_look_up(l, &h);
        if (!e || e->planned)
                return LEARN_UNKNOWN;
        /* the kernel adds this flag to marks of everything but directories */
        mask = e->kind == LEARNED_DIR ? actual->mask : actual->mask & ~(uint64_t)FAN_EVENT_ON_CHILD;
        if (mask == e->mask && actual->ignore_mask == e->ignore_mask && actual->evictable == e->evictable &&
            (actual->ignore_mask == 0 || (actual->ignore_surv && actual->ignore_new == w->kernel.ignore)))
                return LEARN_SAME;
        learn_count(l, e, false);
        e->mask = mask;
        e->ignore_mask = actual->ignore_mask;
        learn_count(l, e, true);
        learn_forget(l, e);
        return LEARN_DIFFERENT;
}

bool learn_evictable(const struct learn *l)
{
        return l->params.evictable && (l->n[LEARNED_DIR] > 0 || l->left_behind);
}

/* All but where it is. */
static bool mark_of(const struct learn *l, const struct learned *e, struct mark *ret)
{
        const struct fan_handle h = learn_handle_of(e);

        ret->mask = e->mask;
        ret->ignore_mask = e->ignore_mask;
        ret->ignore_surv = e->ignore_mask != 0;
        ret->ignore_new = e->ignore_mask != 0 && l->generation->world->kernel.ignore;
        ret->evictable = e->evictable;
        return learn_has_mark(e) && learn_object_of(l, &h, &ret->object);
}

struct listing {
        const struct learn *l;
        struct markset *to;
        int error;
};

static bool add_to_list(void *arg, void *value)
{
        struct listing *list = arg;
        const struct learned *e = value;
        struct mark m = { .where = (char *)"" };

        if (list->error == 0 && !e->planned && mark_of(list->l, e, &m))
                list->error = markset_append(list->to, &m);
        return false;
}

int learn_list(struct learn *l, struct markset *ret)
{
        struct listing list = { .l = l, .to = ret };

        (void)lru_remove_if(l->table, add_to_list, &list);
        markset_sort(ret);
        return list.error;
}

bool learn_where(const struct learn *l, const struct mark *actual, uint32_t *ret_fs, struct strbuf *inside)
{
        const struct world *w = l->generation->world;
        uint32_t fs = world_find_fs(w, actual->object.sdev_major, actual->object.sdev_minor);
        const struct handle *handle = &actual->object.handle;
        struct fan_handle h = { .type = handle->type, .len = handle->len, .bytes = handle->bytes };
        const struct learned *e;

        if (fs == WORLD_NONE)
                return false;
        h.fsid = w->fs[fs].fsid;
        e = learn_look_up(l, &h);
        if (!e)
                return false;
        dirtree_path(e->node, inside);
        *ret_fs = fs;
        return true;
}

void learn_status(const struct learn *l, struct learn_status *ret)
{
        *ret = (struct learn_status){
                .dirs = l->n[LEARNED_DIR],
                .files = l->n[LEARNED_FILE],
                .max = l->max,
                .error = l->error,
        };
}

bool learn_find(const struct learn *l, uint64_t fsid, const char *path, size_t len, struct mark *ret)
{
        const struct dirtree_node *node = dirtree_find(l->tree, fsid, path, len);
        const struct learned *e = node ? dirtree_value(node) : NULL;

        *ret = (struct mark){};
        return e && mark_of(l, e, ret);
}
