/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "learn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "dirtree.h"
#include "fan_uapi.h"
#include "fdutil.h"
#include "lru.h"

#define HANDLE_KEY_MAX (8u + 4u + 128u)
/* Pinned marks hold their inodes in memory, about 1 KiB each: fewer of them. */
#define MAX_PINNED 8192u
/* Until a mark is placed again that the kernel dropped; doubled each time, up to the last. */
#define RENEW_MIN_USEC USEC_PER_SEC
#define RENEW_MAX_USEC (64 * USEC_PER_SEC)
/* Until marks are tried again after a shortage. */
#define SHORTAGE_USEC (60 * USEC_PER_SEC)
/* How often the queue must have been seen empty since a mark was placed: the window that was judged
 * then, and the next one, may have been read before. */
#define EPOCHS_TO_BE_SURE 3u

struct learned {
        struct dirtree_node *node;
        uint64_t mask, ignore_mask; /* placed; both 0: nothing can be ignored here */
        uint64_t epoch;
        uint64_t placed_usec;       /* on the clock of file times, not later than that */
        uint64_t renew_usec, pause_usec; /* monotonic */
        enum { LEARNED_DIR, LEARNED_FILE, LEARNED_OBJECT } kind; /* OBJECT: a rule's own, for its attrib alone */
        bool planned;               /* in the plan's marks: pinned */
        bool evictable;
        bool gone;                  /* no call is needed to forget it */
        uint64_t fsid;
        int32_t type;
        uint32_t len;
        uint8_t bytes[];
};

struct learn {
        struct learn_params params;
        const struct generation *generation;
        struct ignore_terms *terms; /* by filesystem */
        bool *usable;               /* by filesystem: marks can be kept true there */
        struct lru *table;          /* of struct learned, by handle */
        struct dirtree *tree;       /* by path */
        size_t n[3];                /* learned, by kind, with a mark */
        size_t max;
        struct strbuf scratch;
        int error;
        uint64_t retry_usec;
};

static size_t handle_key(const struct fan_handle *h, uint8_t key[static HANDLE_KEY_MAX])
{
        size_t len = MIN_OF(h->len, 128u);

        memcpy(key, &h->fsid, 8);
        memcpy(key + 8, &h->type, 4);
        memcpy(key + 12, h->bytes, len);
        return 12 + len;
}

static struct fan_handle handle_of(const struct learned *e)
{
        return (struct fan_handle){ .fsid = e->fsid, .type = e->type, .len = e->len, .bytes = e->bytes };
}

static struct learned *look_up(const struct learn *l, const struct fan_handle *h)
{
        uint8_t key[HANDLE_KEY_MAX];

        return fan_handle_given(h) ? lru_get(l->table, key, handle_key(h, key)) : NULL;
}

static void forget(struct learn *l, const struct learned *e)
{
        const struct fan_handle h = handle_of(e);
        uint8_t key[HANDLE_KEY_MAX];

        (void)lru_remove(l->table, key, handle_key(&h, key));
}

static bool has_mark(const struct learned *e)
{
        return (e->mask | e->ignore_mask) != 0;
}

static void count(struct learn *l, const struct learned *e, bool more)
{
        if (has_mark(e) && !e->planned)
                l->n[e->kind] += more ? 1 : (size_t)-1;
}

/* ---- calls ---- */

static bool object_of(const struct learn *l, const struct fan_handle *h, struct mark_object *ret)
{
        uint32_t fs = resolver_fs(l->params.resolver, h->fsid);
        const struct world_fs *f;

        if (fs == WORLD_NONE || h->len > sizeof(ret->handle.bytes))
                return false;
        f = &l->generation->world->fs[fs];
        *ret = (struct mark_object){
                .kind = MARK_INODE, .sdev_major = f->sdev_major, .sdev_minor = f->sdev_minor,
                .handle = { .type = h->type, .len = h->len },
        };
        memcpy(ret->handle.bytes, h->bytes, h->len);
        return true;
}

/* One call: ignore says which mask, add or remove. */
static int call(struct learn *l, const struct learned *e, int fd, struct mark_op op)
{
        const struct fan_handle h = handle_of(e);

        if (op.bits == 0)
                return 0;
        op.group = (struct group_key){ .kind = GROUP_MAIN };
        op.where = "";
        op.ignore_surv = op.ignore;
        op.ignore_new = op.ignore && l->generation->world->kernel.ignore;
        op.evictable = op.add && e->evictable;
        return object_of(l, &h, &op.object) ? marks_at(l->params.marks, &op, fd) : -ESTALE;
}

/* Takes these ignored bits, and for a whole mark its mask too, off.  What cannot be found has no mark. */
static void take_off(struct learn *l, struct learned *e, uint64_t bits)
{
        const struct fan_handle h = handle_of(e);
        _cleanup_close_ int fd = resolver_open(l->params.resolver, &h, 0);
        bool whole = (e->ignore_mask & ~bits) == 0;
        struct mark_object object;

        if (fd >= 0) {
                (void)call(l, e, fd, (struct mark_op){ .ignore = true, .bits = e->ignore_mask & bits });
                if (whole)
                        (void)call(l, e, fd, (struct mark_op){ .bits = e->mask });
        } else if (e->planned && object_of(l, &h, &object)) {
                marks_forget(l->params.marks, &object);
        }
        l->params.counters->ignores_taken_off += fd >= 0;
        count(l, e, false);
        e->ignore_mask &= ~bits;
        if (whole)
                e->mask = 0;
        count(l, e, true);
}

static void dropped(void *userdata, void *value)
{
        struct learn *l = userdata;
        struct learned *e = value;

        if (has_mark(e) && !e->gone && l->generation)
                take_off(l, e, UINT64_MAX);
        count(l, e, false);
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
        l->generation = NULL;
        if (l->table)
                lru_free(l->table);
        dirtree_free(l->tree);
        strbuf_done(&l->scratch);
        free(l->terms);
        free(l->usable);
        free(l);
}

/* A new entry at this path; what hung there before was another object of that name. */
static struct learned *enter(struct learn *l, const struct fan_handle *h, const struct match_path *path)
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
                forget(l, before);
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
static int place(struct learn *l, struct learned *e, int fd, const struct mark *m)
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
        count(l, e, false);
        e->mask |= m->mask;
        e->ignore_mask |= m->ignore_mask;
        e->placed_usec = now;
        count(l, e, true);
        return 0;
}

/* Was this event queued although the mark should have stopped it?  Then it is placed again. */
static void renew(struct learn *l, struct learned *e, uint64_t events, uint64_t epoch)
{
        const struct fan_handle h = handle_of(e);
        const struct mark again = { .mask = e->mask, .ignore_mask = e->ignore_mask };
        uint64_t now;

        if ((events & e->ignore_mask & ~(uint64_t)FAN_ONDIR) == 0 || epoch < e->epoch + EPOCHS_TO_BE_SURE)
                return;
        now = l->params.monotonic_usec();
        if (now < e->renew_usec || is_short(l))
                return;
        e->pause_usec = MIN_OF(MAX_OF(2 * e->pause_usec, RENEW_MIN_USEC), RENEW_MAX_USEC);
        e->renew_usec = now + e->pause_usec;
        e->epoch = epoch;

        _cleanup_close_ int fd = resolver_open(l->params.resolver, &h, 0);
        int r = fd < 0 ? fd : place(l, e, fd, &again);
        if (r == -ESTALE)
                return;
        if (r < 0)
                note_error(l, r);
        else
                l->params.counters->ignores_renewed++;
}

static bool allowed(const struct learn *l, uint32_t fs)
{
        return fs != WORLD_NONE && l->generation->settings->kernel_ignores && l->usable[fs];
}

static void learn(struct learn *l, struct learned *e, const struct mark *m, uint64_t epoch)
{
        const struct fan_handle h = handle_of(e);
        struct stat st;
        int r;

        e->epoch = epoch;
        e->evictable = l->params.evictable && e->kind == LEARNED_DIR;
        _cleanup_close_ int fd = resolver_open(l->params.resolver, &h, e->kind == LEARNED_DIR ? O_DIRECTORY : 0);
        if (fd < 0)
                return;
        if (e->kind == LEARNED_FILE && (fstat(fd, &st) < 0 || st.st_nlink != 1))
                return; /* the other name may be watched */
        r = place(l, e, fd, m);
        if (r < 0)
                note_error(l, r);
        else
                l->params.counters->ignores_learned++;
}

void learn_dir(struct learn *l, const struct fan_handle *dir, const struct match_path *path, uint64_t events,
               uint64_t epoch)
{
        struct learned *e = look_up(l, dir);
        struct mark m = {};
        struct unwanted u;

        if (e) {
                renew(l, e, events, epoch);
                return;
        }
        if (!allowed(l, path->fs) || is_short(l) || unwanted_in_dir(l->generation->matcher, path, &u) < 0)
                return;
        e = enter(l, dir, path);
        if (!e)
                return;
        plan_ignore_dir(&l->terms[path->fs], u.events, &m);
        if (m.ignore_mask != 0)
                learn(l, e, &m, epoch);
}

void learn_file(struct learn *l, const struct fan_handle *file, const struct match_path *path, uint64_t events,
                uint64_t epoch)
{
        struct learned *e = look_up(l, file);
        struct mark m = {};
        struct unwanted u;

        if (e) {
                renew(l, e, events, epoch);
                return;
        }
        if (!allowed(l, path->fs) || is_short(l) || !unwanted_is_named_file(l->generation->matcher, path) ||
            unwanted_of_file(l->generation->matcher, path, &u) < 0)
                return;
        e = enter(l, file, path);
        if (!e)
                return;
        e->kind = LEARNED_FILE;
        plan_ignore_file(&l->terms[path->fs], u.events, &m);
        if (m.ignore_mask != 0)
                learn(l, e, &m, epoch);
}

/* ---- names ---- */

struct correction {
        struct learn *l;
        uint32_t fs;
        uint64_t fsid, bits;
};

static bool take_child_bits(void *arg, void *value)
{
        struct correction *c = arg;
        struct learned *e = value;

        if (e->fsid == c->fsid && e->kind == LEARNED_DIR && (e->ignore_mask & FAN_EVENT_ON_CHILD) &&
            (e->ignore_mask & c->bits))
                take_off(c->l, e, c->bits);
        /* without the new interface the mask has the flag */
        else if (e->fsid == c->fsid && e->kind == LEARNED_DIR && (e->mask & FAN_EVENT_ON_CHILD))
                take_off(c->l, e, c->bits);
        return false;
}

/* A rule's object has other names: events under them bring what the rule wants. */
static void link_appeared(struct learn *l, uint32_t fs, uint64_t fsid, uint32_t wanted)
{
        struct correction c = { .l = l, .fs = fs, .fsid = fsid, .bits = vocab_to_fan(wanted & UNWANTED_CHILD) };

        if ((l->terms[fs].linked & wanted) == wanted)
                return;
        l->terms[fs].linked |= wanted;
        (void)lru_remove_if(l->table, take_child_bits, &c);
}

void learn_names(struct learn *l, const struct fan_handle *object, const struct match_path *rule_path)
{
        const struct mark attrib = { .mask = FAN_ATTRIB };
        uint32_t fs = rule_path->fs, wanted;
        struct stat st;

        if (!allowed(l, fs) || unwanted_not_by_alias(l->generation->matcher, rule_path, &wanted) < 0)
                return;
        wanted &= vocab_from_fan(l->terms[fs].requested);
        if (wanted == 0)
                return;
        _cleanup_close_ int fd = resolver_open(l->params.resolver, object, 0);
        if (fd < 0 || fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
                return;
        if (st.st_nlink > 1) {
                link_appeared(l, fs, object->fsid, wanted);
        } else if (!(l->terms[fs].requested & FAN_ATTRIB) && !look_up(l, object)) {
                struct learned *e = enter(l, object, rule_path);

                if (e) {
                        e->kind = LEARNED_OBJECT;
                        (void)place(l, e, fd, &attrib);
                }
        }
}

/* ---- moves ---- */

struct moving {
        struct learned **v;
        size_t n, cap;
        bool failed;
};

static void collect(void *userdata, void *value)
{
        struct moving *m = userdata;

        if (m->n == m->cap) {
                size_t cap = m->cap ? 2 * m->cap : 64;
                struct learned **v = reallocarray(m->v, cap, sizeof(*v));

                if (!v) {
                        m->failed = true;
                        return;
                }
                m->v = v;
                m->cap = cap;
        }
        m->v[m->n++] = value;
}

static void lose(struct learn *l, struct learned *e, size_t skip, learn_lost_fn fn, void *userdata)
{
        const struct fan_handle h = handle_of(e);
        struct learn_lost lost = { .handle = &h, .is_dir = e->kind == LEARNED_DIR, .placed_usec = e->placed_usec };
        bool ignored = e->ignore_mask != 0;

        strbuf_reset(&l->scratch);
        dirtree_path(e->node, &l->scratch);
        lost.below = l->scratch.len >= skip ? strbuf_str(&l->scratch) + skip : "";
        if (has_mark(e))
                take_off(l, e, UINT64_MAX);
        if (ignored)
                fn(userdata, &lost);
        forget(l, e);
}

static void lose_below(struct learn *l, const struct dirtree_node *node, learn_lost_fn fn, void *userdata)
{
        struct moving m = {};
        size_t len;

        strbuf_reset(&l->scratch);
        dirtree_path(node, &l->scratch);
        len = l->scratch.len;
        dirtree_foreach(node, collect, &m);
        for (size_t i = 0; i < m.n; i++)
                lose(l, m.v[i], len, fn, userdata);
        free(m.v);
        if (m.failed)
                learn_reset(l);
}

void learn_moved(struct learn *l, const struct fan_handle *object, bool is_dir, const struct match_path *old_path,
                 learn_lost_fn fn, void *userdata)
{
        struct learned *own = look_up(l, object);
        const struct dirtree_node *node;

        if (own) {
                lose_below(l, own->node, fn, userdata);
        } else if (is_dir && !old_path->path) {
                learn_reset(l); /* it may have been above anything */
                return;
        }
        if (!is_dir || !old_path->path)
                return;
        node = dirtree_find(l->tree, object->fsid, old_path->path, old_path->len);
        if (node)
                lose_below(l, node, fn, userdata);
}

void learn_linked(struct learn *l, const struct fan_handle *object, learn_lost_fn fn, void *userdata)
{
        struct learned *e = look_up(l, object);
        struct stat st;

        if (!e || e->kind != LEARNED_FILE || e->ignore_mask == 0)
                return;
        _cleanup_close_ int fd = resolver_open(l->params.resolver, object, 0);
        if (fd < 0 || fstat(fd, &st) < 0 || st.st_nlink <= 1)
                return;
        strbuf_reset(&l->scratch);
        dirtree_path(e->node, &l->scratch);
        lose(l, e, l->scratch.len, fn, userdata);
}

bool learn_has(const struct learn *l, const struct fan_handle *object)
{
        return look_up(l, object);
}

void learn_gone(struct learn *l, const struct fan_handle *object)
{
        struct learned *e = look_up(l, object);
        struct mark_object o;

        if (!e)
                return;
        if (e->planned && object_of(l, object, &o))
                marks_forget(l->params.marks, &o);
        e->gone = true;
        forget(l, e);
}

void learn_reset(struct learn *l)
{
        lru_clear(l->table);
}

/* ---- generations ---- */

static int new_terms(const struct generation *g, struct ignore_terms **ret_terms, bool **ret_usable)
{
        uint32_t n = g->world->n_fs;
        _cleanup_free_ struct ignore_terms *terms = calloc(n + 1, sizeof(*terms));
        _cleanup_free_ bool *usable = calloc(n + 1, sizeof(*usable));

        if (!terms || !usable)
                return -ENOMEM;
        for (uint32_t i = 0; i < n; i++) {
                int r = plan_ignore_terms(g->plan, g->settings, g->matcher, i, &terms[i]);

                if (r < 0)
                        return r;
                usable[i] = g->world->fs[i].fsid_known && plan_sees_moves(terms[i].requested) &&
                            !world_fs_may_hang(&g->world->fs[i]);
        }
        *ret_terms = STEAL(terms);
        *ret_usable = STEAL(usable);
        return 0;
}

struct correcting {
        struct learn *l;
        const struct generation *after;
        const struct ignore_terms *terms;
        const bool *usable;
};

static uint32_t fs_of(const struct world *w, uint64_t fsid)
{
        for (uint32_t i = 0; i < w->n_fs; i++)
                if (w->fs[i].fsid_known && w->fs[i].fsid == fsid)
                        return i;
        return WORLD_NONE;
}

/* Entries that stand for nothing, and rules' own objects, are learned anew. */
static bool does_not_fit(void *arg, void *value)
{
        struct correcting *c = arg;
        struct learned *e = value;
        uint32_t fs = fs_of(c->after->world, e->fsid);
        struct match_path path = { .fs = fs };
        struct mark m = {};
        struct unwanted u;
        int r;

        if (e->planned)
                return false;
        if (e->ignore_mask == 0 || fs == WORLD_NONE || !c->usable[fs] || !c->after->settings->kernel_ignores)
                return true;
        strbuf_reset(&c->l->scratch);
        dirtree_path(e->node, &c->l->scratch);
        path.path = strbuf_str(&c->l->scratch);
        path.len = c->l->scratch.len;
        r = e->kind == LEARNED_DIR ? unwanted_in_dir(c->after->matcher, &path, &u) :
                                     unwanted_of_file(c->after->matcher, &path, &u);
        if (r < 0 || strbuf_failed(&c->l->scratch))
                return true;
        if (e->kind == LEARNED_DIR)
                plan_ignore_dir(&c->terms[fs], u.events, &m);
        else if (unwanted_is_named_file(c->after->matcher, &path))
                plan_ignore_file(&c->terms[fs], u.events, &m);
        if ((m.ignore_mask & vocab_to_fan(UNWANTED_ALL)) == 0)
                return true;
        /* what nobody asks for any more would only cost: it goes, too */
        if (e->ignore_mask & ~m.ignore_mask)
                take_off(c->l, e, e->ignore_mask & ~m.ignore_mask);
        return false;
}

void learn_correct(struct learn *l, const struct generation *after)
{
        _cleanup_free_ struct ignore_terms *terms = NULL;
        _cleanup_free_ bool *usable = NULL;
        struct correcting c = { .l = l, .after = after };

        if (!l->generation || lru_count(l->table) == 0)
                return;
        if (new_terms(after, &terms, &usable) < 0) {
                learn_reset(l);
                return;
        }
        c.terms = terms;
        c.usable = usable;
        (void)lru_remove_if(l->table, does_not_fit, &c);
}

static bool is_planned(void *arg, void *value)
{
        struct learned *e = value;

        e->gone = e->planned;
        return e->planned;
}

/* A planned mark moves as a learned one does. */
static void enter_planned(struct learn *l, const struct mark *m)
{
        const struct world *w = l->generation->world;
        uint32_t fs = world_find_fs(w, m->object.sdev_major, m->object.sdev_minor);
        const struct world_path *p = NULL;
        struct fan_handle h = {
                .type = m->object.handle.type, .len = m->object.handle.len, .bytes = m->object.handle.bytes,
        };
        struct match_path path = { .fs = fs };
        struct learned *e;

        for (uint32_t i = 0; fs != WORLD_NONE && !p && i < w->n_paths; i++)
                if (w->paths[i].handle.len == h.len && w->paths[i].handle.type == h.type &&
                    memcmp(w->paths[i].handle.bytes, h.bytes, h.len) == 0 && w->paths[i].mount != WORLD_NONE &&
                    w->mounts[w->paths[i].mount].fs == fs)
                        p = &w->paths[i];
        if (!p || !w->fs[fs].fsid_known)
                return;
        h.fsid = w->fs[fs].fsid;
        path.path = p->inside;
        path.len = strlen(p->inside);
        e = look_up(l, &h);
        if (e) {
                e->gone = true; /* the kernel has one mark for both, which is the planned one now */
                forget(l, e);
        }
        e = enter(l, &h, &path);
        if (!e)
                return;
        e->planned = true;
        e->kind = p->type == TYPE_DIRECTORY ? LEARNED_DIR : m->ignore_mask != 0 ? LEARNED_FILE : LEARNED_OBJECT;
        e->mask = m->mask;
        e->ignore_mask = m->ignore_mask;
        e->placed_usec = l->params.file_usec();
        e->epoch = UINT64_MAX - EPOCHS_TO_BE_SURE;
}

void learn_set_generation(struct learn *l, const struct generation *g)
{
        const struct markset *placed = marks_placed(l->params.marks);
        struct ignore_terms *terms;
        bool *usable;

        if (new_terms(g, &terms, &usable) < 0) {
                terms = calloc(g->world->n_fs + 1, sizeof(*terms));
                usable = calloc(g->world->n_fs + 1, sizeof(*usable));
        }
        free(l->terms);
        free(l->usable);
        l->terms = terms;
        l->usable = usable;
        l->generation = g;
        (void)lru_remove_if(l->table, is_planned, NULL);
        for (size_t i = 0; i < placed->n; i++)
                if (placed->marks[i].object.kind == MARK_INODE)
                        enter_planned(l, &placed->marks[i]);
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
        e = look_up(l, &h);
        if (!e || e->planned)
                return LEARN_UNKNOWN;
        /* the kernel adds this flag to marks of everything but directories */
        mask = e->kind == LEARNED_DIR ? actual->mask : actual->mask & ~(uint64_t)FAN_EVENT_ON_CHILD;
        if (mask == e->mask && actual->ignore_mask == e->ignore_mask && actual->evictable == e->evictable &&
            (actual->ignore_mask == 0 || (actual->ignore_surv && actual->ignore_new == w->kernel.ignore)))
                return LEARN_SAME;
        count(l, e, false);
        e->mask = mask;
        e->ignore_mask = actual->ignore_mask;
        count(l, e, true);
        forget(l, e);
        return LEARN_DIFFERENT;
}

void learn_status(const struct learn *l, struct learn_status *ret)
{
        *ret = (struct learn_status){
                .dirs = l->n[LEARNED_DIR], .files = l->n[LEARNED_FILE], .max = l->max, .error = l->error,
        };
}

bool learn_find(const struct learn *l, uint64_t fsid, const char *path, size_t len, struct mark *ret)
{
        const struct dirtree_node *node = dirtree_find(l->tree, fsid, path, len);
        const struct learned *e = node ? dirtree_value(node) : NULL;
        const struct fan_handle h = e ? handle_of(e) : (struct fan_handle){};

        if (!e || !has_mark(e))
                return false;
        *ret = (struct mark){
                .mask = e->mask, .ignore_mask = e->ignore_mask, .ignore_surv = true,
                .ignore_new = l->generation->world->kernel.ignore, .evictable = e->evictable,
        };
        return object_of(l, &h, &ret->object);
}
