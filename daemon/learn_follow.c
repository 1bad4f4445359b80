/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "learn_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "fan_uapi.h"
#include "fdutil.h"

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
                learn_take_off(c->l, e, c->bits);
        /* without the new interface the mask has the flag */
        else if (e->fsid == c->fsid && e->kind == LEARNED_DIR && (e->mask & FAN_EVENT_ON_CHILD))
                learn_take_off(c->l, e, c->bits);
        return false;
}

/* A rule's object has other names: events under them bring what the rule wants. */
static void link_appeared(struct learn *l, uint32_t fs, uint64_t fsid, uint32_t wanted)
{
        struct correction c = {
                .l = l, .fs = fs, .fsid = fsid, .bits = vocab_to_fan(wanted & UNWANTED_CHILD)
        };

        if ((l->terms[fs].linked & wanted) == wanted)
                return;
        l->terms[fs].linked |= wanted;
        (void)lru_remove_if(l->table, take_child_bits, &c);
}

/* For the rules that will be in force: what is learned under those may not hide what comes by the name. */
static void note_late(struct learn *l, const struct fan_handle *object, const struct match_path *rule_path)
{
        struct late_name *late = NULL;

        if (object->len <= sizeof(late->handle.bytes))
                late = malloc(sizeof(*late) + rule_path->len);
        if (!late) {
                l->late_lost = true;
                return;
        }
        *late = (struct late_name){ .next = l->late, .fsid = object->fsid, .len = rule_path->len };
        late->handle.type = object->type;
        late->handle.len = object->len;
        memcpy(late->handle.bytes, object->bytes, object->len);
        memcpy(late->path, rule_path->path, rule_path->len);
        l->late = late;
}

void learn_names(struct learn *l, const struct fan_handle *object, const struct match_path *rule_path)
{
        const struct mark attrib = { .mask = FAN_ATTRIB };
        uint32_t fs = rule_path->fs, wanted;
        struct stat st;

        if (l->paused) {
                note_late(l, object, rule_path);
                return;
        }
        if (!learn_allowed(l, fs) || unwanted_not_by_alias(l->generation->matcher, rule_path, &wanted) < 0)
                return;
        wanted &= vocab_from_fan(l->terms[fs].requested);
        if (wanted == 0)
                return;
        _cleanup_close_ int fd = resolver_open(l->params.resolver, object, 0);
        if (fd < 0 || fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
                return;
        if (st.st_nlink > 1) {
                link_appeared(l, fs, object->fsid, wanted);
        } else if (!(l->terms[fs].requested & FAN_ATTRIB) && !learn_look_up(l, object)) {
                struct learned *e = learn_enter(l, object, rule_path);

                if (e) {
                        e->kind = LEARNED_OBJECT;
                        (void)learn_place(l, e, fd, &attrib);
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
        const struct fan_handle h = learn_handle_of(e);
        struct learn_lost lost = { .handle = &h,
                                   .is_dir = e->kind == LEARNED_DIR,
                                   .placed_usec = e->placed_usec };
        bool ignored = e->ignore_mask != 0;

        strbuf_reset(&l->scratch);
        dirtree_path(e->node, &l->scratch);
        lost.below = l->scratch.len >= skip ? strbuf_str(&l->scratch) + skip : "";
        if (learn_has_mark(e))
                learn_take_off(l, e, UINT64_MAX);
        if (ignored)
                fn(userdata, &lost);
        learn_forget(l, e);
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

void learn_moved(struct learn *l, const struct fan_handle *object, bool is_dir,
                 const struct match_path *old_path, learn_lost_fn fn, void *userdata)
{
        struct learned *own = learn_look_up(l, object);
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
        struct learned *e = learn_look_up(l, object);
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
        return learn_look_up(l, object);
}

void learn_gone(struct learn *l, const struct fan_handle *object)
{
        struct learned *e = learn_look_up(l, object);
        struct mark_object o;

        if (!e)
                return;
        if (e->planned && learn_object_of(l, object, &o))
                marks_forget(l->params.marks, &o);
        e->gone = true;
        learn_forget(l, e);
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

static uint32_t fs_of(const struct world *w, uint64_t fsid)
{
        for (uint32_t i = 0; i < w->n_fs; i++)
                if (w->fs[i].fsid_known && w->fs[i].fsid == fsid)
                        return i;
        return WORLD_NONE;
}

uint64_t learn_permitted(const struct generation *g, const struct ignore_terms *terms, const bool *usable, bool is_dir,
                         const struct match_path *path)
{
        struct mark m = {};
        struct unwanted u;

        if (path->fs == WORLD_NONE || !usable[path->fs] || !g->settings->kernel_ignores ||
            (is_dir ? unwanted_in_dir(g->matcher, path, &u) : unwanted_of_file(g->matcher, path, &u)) < 0)
                return 0;
        if (is_dir)
                plan_ignore_dir(&terms[path->fs], u.events, &m);
        else if (unwanted_is_named_file(g->matcher, path))
                plan_ignore_file(&terms[path->fs], u.events, &m);
        return (m.ignore_mask & vocab_to_fan(UNWANTED_ALL)) != 0 ? m.ignore_mask : 0;
}

/* Entries that stand for nothing, and rules' own objects, are learned anew. */
static bool does_not_fit(void *arg, void *value)
{
        struct learn *l = arg;
        const struct correcting *c = &l->correcting;
        struct learned *e = value;
        struct match_path path = { .fs = fs_of(c->after->world, e->fsid) };
        uint64_t permitted;

        if (e->planned)
                return false;
        if (e->ignore_mask == 0)
                return true;
        strbuf_reset(&l->scratch);
        dirtree_path(e->node, &l->scratch);
        if (strbuf_failed(&l->scratch))
                return true;
        path.path = strbuf_str(&l->scratch);
        path.len = l->scratch.len;
        permitted = learn_permitted(c->after, c->terms, c->usable, e->kind == LEARNED_DIR, &path);
        if (permitted == 0)
                return true;
        /* what nobody asks for any more would only cost: it goes, too */
        if (e->ignore_mask & ~permitted)
                learn_take_off(l, e, e->ignore_mask & ~permitted);
        return false;
}

void learn_correct(struct learn *l, const struct generation *after)
{
        struct correcting *c = &l->correcting;

        learn_end_correcting(l);
        l->paused = true;
        if (!l->generation || lru_count(l->table) == 0)
                return;
        if (new_terms(after, &c->terms, &c->usable) < 0) {
                learn_reset(l);
                return;
        }
        c->after = after;
        c->n = lru_count(l->table);
}

bool learn_correct_slice(struct learn *l)
{
        struct correcting *c = &l->correcting;
        size_t n = MIN_OF(c->n, (size_t)LEARN_SLICE);

        lru_turn(l->table, n, does_not_fit, l);
        c->n -= n;
        return c->n > 0;
}

void learn_end_correcting(struct learn *l)
{
        free(l->correcting.terms);
        free(l->correcting.usable);
        l->correcting = (struct correcting){};
        l->paused = false;
}

void learn_forget_late(struct learn *l)
{
        while (l->late) {
                struct late_name *late = l->late;

                l->late = late->next;
                free(late);
        }
        l->late_lost = false;
}

/* The rules are known by which something is learned again. */
static void end_pause(struct learn *l)
{
        learn_end_correcting(l);
        if (l->late_lost && l->usable) /* which name is unknown: nothing is ignored until there are other rules */
                memset(l->usable, 0, l->generation->world->n_fs * sizeof(*l->usable));
        for (const struct late_name *late = l->late; late; late = late->next) {
                const struct fan_handle h = {
                        .fsid = late->fsid, .type = late->handle.type, .len = late->handle.len,
                        .bytes = late->handle.bytes,
                };
                const struct match_path path = {
                        .fs = fs_of(l->generation->world, late->fsid), .path = late->path, .len = late->len
                };

                if (path.fs != WORLD_NONE)
                        learn_names(l, &h, &path);
        }
        learn_forget_late(l);
}

void learn_resume(struct learn *l)
{
        end_pause(l);
}

static bool is_planned(void *arg, void *value)
{
        struct learned *e = value;

        e->gone = e->planned;
        return e->planned;
}

/* A directory's mark that ignores nothing: lib/plan_above.h. */
static bool is_of_names(const struct mark *m)
{
        return m->ignore_mask == 0 && (m->mask & FAN_ONDIR);
}

/* A planned mark moves as a learned one does. */
static void enter_planned(struct learn *l, const struct mark *m)
{
        const struct world *w = l->generation->world;
        uint32_t fs = world_find_fs(w, m->object.sdev_major, m->object.sdev_minor);
        const struct world_path *p = NULL;
        struct fan_handle h = {
                .type = m->object.handle.type,
                .len = m->object.handle.len,
                .bytes = m->object.handle.bytes,
        };
        struct match_path path = { .fs = fs };
        struct learned *e;

        for (uint32_t i = 0; fs != WORLD_NONE && !p && i < w->n_paths; i++)
                if (w->paths[i].handle.len == h.len && w->paths[i].handle.type == h.type &&
                    memcmp(w->paths[i].handle.bytes, h.bytes, h.len) == 0 &&
                    w->paths[i].mount != WORLD_NONE && w->mounts[w->paths[i].mount].fs == fs)
                        p = &w->paths[i];
        if (!p || !w->fs[fs].fsid_known)
                return;
        h.fsid = w->fs[fs].fsid;
        path.path = p->inside;
        path.len = strlen(p->inside);
        e = learn_look_up(l, &h);
        if (e) {
                e->gone = true; /* the kernel has one mark for both, which is the planned one now */
                learn_forget(l, e);
        }
        e = learn_enter(l, &h, &path);
        if (!e)
                return;
        e->planned = true;
        e->kind = p->type == TYPE_DIRECTORY ? LEARNED_DIR
                  : m->ignore_mask != 0     ? LEARNED_FILE
                                            : LEARNED_OBJECT;
        e->mask = m->mask;
        e->ignore_mask = m->ignore_mask;
        e->placed_usec = l->inherited_usec > 0 ? l->inherited_usec : l->params.file_usec();
        e->epoch = UINT64_MAX - EPOCHS_TO_BE_SURE;
}

void learn_set_terms(struct learn *l, const struct generation *g)
{
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
}

void learn_set_generation(struct learn *l, const struct generation *g)
{
        const struct markset *placed = marks_placed(l->params.marks);

        learn_set_terms(l, g);
        (void)lru_remove_if(l->table, is_planned, NULL);
        for (size_t i = 0; i < placed->n; i++)
                if (placed->marks[i].object.kind == MARK_INODE && !is_of_names(&placed->marks[i]))
                        enter_planned(l, &placed->marks[i]);
        l->inherited_usec = 0;
        end_pause(l);
}
