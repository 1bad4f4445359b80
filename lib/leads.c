/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "leads.h"

#include <errno.h>

#include "strbuf.h"

bool lead_object_same(const struct lead_object *a, const struct lead_object *b)
{
        if (!a->known || !b->known)
                return true;
        if (!a->exists || !b->exists)
                return a->exists == b->exists;
        if (a->fsid != b->fsid || a->sdev_major != b->sdev_major || a->sdev_minor != b->sdev_minor)
                return false;
        if (a->handle.len == 0 || b->handle.len == 0)
                return true;
        return a->handle.type == b->handle.type && a->handle.len == b->handle.len &&
               memcmp(a->handle.bytes, b->handle.bytes, a->handle.len) == 0;
}

/* ---- places ---- */

static uint64_t hash_place(uint32_t fs, const char *inside, size_t len)
{
        return hash_mix(hash_bytes(inside, len), fs);
}

/*
 * Where the name stands, not what it leads to: in its directory.  These are two things where
 * something is mounted on it.  "/" stands nowhere: *ret_fs is WORLD_NONE.
 */
static int place_of_name(struct leads *l, const char *name, size_t len, uint32_t *ret_fs, const char **ret_inside)
{
        _cleanup_strbuf_ struct strbuf dir = STRBUF_NULL, inside = STRBUF_NULL;
        size_t cut = len;
        uint32_t mount;

        *ret_fs = WORLD_NONE;
        while (cut > 0 && name[cut - 1] != '/')
                cut--;
        if (len <= 1 || cut == 0)
                return 0;
        strbuf_add(&dir, name, cut == 1 ? 1 : cut - 1);
        mount = world_locate(l->world, strbuf_str(&dir), &inside);
        if (mount == WORLD_NONE)
                return strbuf_failed(&dir) ? -ENOMEM : 0;
        if (inside.len != 1)
                strbuf_addc(&inside, '/');
        strbuf_add(&inside, name + cut, len - cut);
        if (strbuf_failed(&dir) || strbuf_failed(&inside))
                return -ENOMEM;
        *ret_inside = arena_strndup(l->arena, inside.data, inside.len);
        if (!*ret_inside)
                return -ENOMEM;
        *ret_fs = l->world->mounts[mount].fs;
        return 0;
}

/* ---- the builder ---- */

static int push_step(struct leads *l, const struct lead_step *step)
{
        int r;

        if (l->n_steps == l->cap_steps) {
                size_t cap = l->cap_steps ? 2 * l->cap_steps : 32;
                struct lead_step *v = reallocarray(l->steps, cap, sizeof(*v));

                if (!v)
                        return -ENOMEM;
                l->steps = v;
                l->cap_steps = cap;
        }
        r = hash_index_add(&l->index, hash_place(step->fs, step->inside, strlen(step->inside)),
                           (uint32_t)l->n_steps);
        if (r == 0)
                l->steps[l->n_steps++] = *step;
        return r;
}

static bool has_step(const struct leads *l, size_t first, const char *name, size_t len)
{
        for (size_t i = first; i < l->n_steps; i++)
                if (strncmp(l->steps[i].name, name, len) == 0 && l->steps[i].name[len] == '\0')
                        return true;
        return false;
}

/* name and every directory above it, from the root on; what is there from `first` on is the same lead's. */
static int add_steps(struct leads *l, uint32_t lead, size_t first, const char *name)
{
        const struct world_path *found = l->v[lead].found;

        for (size_t len = 1; name[len - 1] != '\0'; len++) {
                struct lead_step step = { .lead = lead };
                int r;

                if ((name[len] != '/' && name[len] != '\0') || len == 1 || has_step(l, first, name, len))
                        continue;
                step.name = arena_strndup(l->arena, name, len);
                if (!step.name)
                        return -ENOMEM;
                r = place_of_name(l, name, len, &step.fs, &step.inside);
                if (r == 0 && step.fs != WORLD_NONE) {
                        /* not where something is mounted on it: that has no name of its own */
                        step.own = streq(step.name, found->resolved) &&
                                   step.fs == l->world->mounts[found->mount].fs &&
                                   streq(step.inside, found->inside);
                        r = push_step(l, &step);
                }
                if (r < 0)
                        return r;
                if (name[len] == '\0')
                        break;
        }
        return 0;
}

static void find_object(const struct world *w, const struct world_path *p, struct lead_object *ret)
{
        *ret = (struct lead_object){ .known = p->error == 0 && !w->unsettled, .exists = p->exists };
        if (p->mount == WORLD_NONE)
                return;
        const struct world_fs *fs = &w->fs[w->mounts[p->mount].fs];
        ret->sdev_major = fs->sdev_major;
        ret->sdev_minor = fs->sdev_minor;
        ret->fsid = fs->fsid_known ? fs->fsid : 0;
        if (p->exists)
                ret->handle = p->handle;
}

static int add_lead(struct leads *l, const struct world_path *p)
{
        uint32_t lead = (uint32_t)l->n;
        size_t first = l->n_steps;
        int r;

        l->v[l->n] = (struct lead){ .path = p->path, .found = p };
        find_object(l->world, p, &l->v[l->n++].object);
        if (p->mount == WORLD_NONE)
                return 0;
        r = add_steps(l, lead, first, p->resolved);
        for (size_t i = 0; r == 0 && i < p->links.n; i++)
                r = add_steps(l, lead, first, p->links.v[i]);
        return r;
}

static int compare_strings(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The paths of all watch rules, sorted, with those twice that several rules name. */
static int list_paths(const struct rules *rules, struct arena *arena, const char ***ret, size_t *ret_n)
{
        const char **v;
        size_t n = 0;

        for (size_t i = 0; i < rules->n_watches; i++)
                n += rules->watches[i].clause.paths.n;
        v = arena_alloc_array(arena, n, sizeof(*v));
        if (!v)
                return -ENOMEM;
        n = 0;
        for (size_t i = 0; i < rules->n_watches; i++)
                for (size_t k = 0; k < rules->watches[i].clause.paths.n; k++)
                        v[n++] = rules->watches[i].clause.paths.v[k];
        if (n > 1)
                qsort(v, n, sizeof(*v), compare_strings);
        *ret = v;
        *ret_n = n;
        return 0;
}

int leads_build(const struct rules *rules, const struct world *world, struct leads **ret)
{
        _cleanup_(leads_freep) struct leads *l = calloc(1, sizeof(*l));
        const char **paths;
        size_t n;
        int r;

        if (!l)
                return -ENOMEM;
        l->world = world;
        l->arena = arena_new();
        if (!l->arena || list_paths(rules, l->arena, &paths, &n) < 0)
                return -ENOMEM;
        l->v = arena_alloc_array(l->arena, n, sizeof(*l->v));
        if (!l->v)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                const struct world_path *p = world_find_path(world, paths[i]);

                if (!p || (l->n > 0 && streq(l->v[l->n - 1].path, p->path)))
                        continue;
                r = add_lead(l, p);
                if (r < 0)
                        return r;
        }
        *ret = STEAL(l);
        return 0;
}

void leads_free(struct leads *l)
{
        if (!l)
                return;
        hash_index_done(&l->index);
        free(l->steps);
        arena_free(l->arena);
        free(l);
}

/* ---- questions ---- */

static int compare_leads(const void *a, const void *b)
{
        return strcmp(((const struct lead *)a)->path, ((const struct lead *)b)->path);
}

struct lead *leads_find(const struct leads *l, const char *path)
{
        const struct lead key = { .path = path };

        return l->n == 0 ? NULL : bsearch(&key, l->v, l->n, sizeof(key), compare_leads);
}

struct leads_cursor leads_at(uint32_t fs, const char *inside, size_t len)
{
        uint64_t hash = hash_place(fs, inside, len);

        return (struct leads_cursor){ .hash = hash, .pos = hash_tag(hash) };
}

const struct lead_step *leads_next(const struct leads *l, struct leads_cursor *c, uint32_t fs,
                                   const char *inside, size_t len)
{
        uint32_t i;

        while ((i = hash_index_next(&l->index, c->hash, &c->pos)) != HASH_NONE) {
                const struct lead_step *s = &l->steps[i];

                if (s->fs == fs && strncmp(s->inside, inside, len) == 0 && s->inside[len] == '\0')
                        return s;
        }
        return NULL;
}

static bool same_fs(const struct world_fs *a, const struct world_fs *b)
{
        return a->sdev_major == b->sdev_major && a->sdev_minor == b->sdev_minor &&
               (!a->fsid_known || !b->fsid_known || a->fsid == b->fsid);
}

bool leads_same_place(const struct leads *la, const struct lead *a, const struct leads *lb,
                      const struct lead *b)
{
        uint32_t ma = a->found->mount, mb = b->found->mount;

        if (ma == WORLD_NONE || mb == WORLD_NONE)
                return ma == mb && streq(a->found->resolved, b->found->resolved);
        return same_fs(&la->world->fs[la->world->mounts[ma].fs], &lb->world->fs[lb->world->mounts[mb].fs]) &&
               streq(a->found->inside, b->found->inside);
}

bool leads_is_of_rule(const struct leads *l, const struct lead *lead, const struct rule *rule)
{
        for (size_t i = 0; i < rule->clause.paths.n; i++) {
                const struct lead *other = leads_find(l, rule->clause.paths.v[i]);

                if (other && (other == lead || leads_same_place(l, other, l, lead)))
                        return true;
        }
        return false;
}

static bool same_mount(const struct world *wa, const struct world_mount *a, const struct world *wb,
                       const struct world_mount *b)
{
        return a->id == b->id && streq(a->mountpoint, b->mountpoint) && streq(a->root, b->root) &&
               same_fs(&wa->fs[a->fs], &wb->fs[b->fs]);
}

/* Of the mounts on the way to mount `from`, the one nearest to the root that is not on the way to `to`. */
static const char *first_missing(const struct world *wf, uint32_t from, const struct world *wt, uint32_t to)
{
        const char *found = NULL;

        for (uint32_t f = from; f != WORLD_NONE; f = wf->mounts[f].parent) {
                uint32_t t = to;

                while (t != WORLD_NONE && !same_mount(wf, &wf->mounts[f], wt, &wt->mounts[t]))
                        t = wt->mounts[t].parent;
                if (t == WORLD_NONE)
                        found = wf->mounts[f].mountpoint;
        }
        return found;
}

const char *leads_changed_mount(const struct leads *before, const struct lead *b, const struct leads *after,
                                const struct lead *a)
{
        const char *new = first_missing(after->world, a->found->mount, before->world, b->found->mount);

        return new ? new : first_missing(before->world, b->found->mount, after->world, a->found->mount);
}
