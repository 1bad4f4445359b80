/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recovery_plan.h"

#include <errno.h>

/* Filesystems keep times in steps, up to two seconds (FAT), and by the last tick. */
#define MARGIN_USEC (2 * USEC_PER_SEC)

void recovery_plan_done(struct recovery_plan *p)
{
        for (size_t i = 0; i < p->n; i++)
                free(p->roots[i].path);
        free(p->roots);
        free(p->quiet_mounts);
        *p = (struct recovery_plan){};
}

/* ---- where ---- */

static bool covers(const struct recovery_root *a, const struct recovery_root *b)
{
        if (streq(a->path, b->path) && a->depth >= b->depth && a->one_mount == b->one_mount)
                return true;
        return a->depth >= RECOVERY_MAX_DEPTH && !a->one_mount && world_path_is_below(b->path, a->path);
}

static void drop_root(struct recovery_plan *p, size_t at)
{
        free(p->roots[at].path);
        p->roots[at] = p->roots[--p->n];
}

/* Nothing is looked at twice; where one root takes in another, the earlier moment counts. */
static int add_root(struct recovery_plan *p, struct recovery_root root)
{
        for (size_t i = 0; i < p->n; i++)
                if (covers(&p->roots[i], &root)) {
                        p->roots[i].from_usec = MIN_OF(p->roots[i].from_usec, root.from_usec);
                        return 0;
                }
        for (size_t i = 0; i < p->n;)
                if (covers(&root, &p->roots[i])) {
                        root.from_usec = MIN_OF(root.from_usec, p->roots[i].from_usec);
                        drop_root(p, i);
                } else {
                        i++;
                }
        if (p->n == p->cap) {
                size_t cap = MAX_OF(8u, p->cap * 2);
                struct recovery_root *roots = reallocarray(p->roots, cap, sizeof(*roots));

                if (!roots)
                        return -ENOMEM;
                p->roots = roots;
                p->cap = cap;
        }
        root.path = strdup(root.path);
        if (!root.path)
                return -ENOMEM;
        p->roots[p->n++] = root;
        return 0;
}

static unsigned levels_between(const char *path, const char *dir)
{
        unsigned n = 0;

        for (const char *c = path + (streq(dir, "/") ? 0 : strlen(dir)); *c; c++)
                n += *c == '/';
        return n;
}

/* What of the root is on the filesystem mounted there.  False: nothing. */
static bool clip(struct recovery_root *root, const char *mountpoint)
{
        if (world_path_is_below(root->path, mountpoint))
                return true;
        if (root->one_mount || !world_path_is_below(mountpoint, root->path))
                return false;
        unsigned levels = levels_between(mountpoint, root->path);
        if (levels > root->depth)
                return false;
        if (root->depth < RECOVERY_MAX_DEPTH)
                root->depth -= levels;
        root->path = (char *)mountpoint;
        return true;
}

static int add_clause(struct recovery_plan *p, const struct clause *c, const struct world *world,
                      const char *mountpoint, uint64_t from_usec)
{
        static const unsigned depths[] = {
                [SCOPE_FILE] = 0,
                [SCOPE_DIRECTORY] = 1,
                [SCOPE_TREE] = RECOVERY_MAX_DEPTH,
                [SCOPE_MOUNT] = RECOVERY_MAX_DEPTH,
                [SCOPE_FILESYSTEM] = RECOVERY_MAX_DEPTH,
        };

        for (size_t i = 0; i < c->paths.n; i++) {
                const struct world_path *path = world_find_path(world, c->paths.v[i]);

                if (!path || !path->exists ||
                    (path->mount != WORLD_NONE && world_mount_may_hang(world, path->mount)))
                        continue;
                struct recovery_root root = {
                        .path = (char *)path->resolved, /* copied when it is taken */
                        .depth = depths[c->scope],
                        .one_mount = c->scope == SCOPE_MOUNT || c->scope == SCOPE_FILESYSTEM,
                        .from_usec = from_usec,
                };
                if (mountpoint && !clip(&root, mountpoint))
                        continue;
                int r = add_root(p, root);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int set_quiet_mounts(struct recovery_plan *p, const struct world *world)
{
        int *ids = calloc(MAX_OF(world->n_mounts, 1u), sizeof(*ids));

        if (!ids)
                return -ENOMEM;
        free(p->quiet_mounts);
        p->quiet_mounts = ids;
        p->n_quiet_mounts = 0;
        for (uint32_t i = 0; i < world->n_mounts; i++)
                if (world_mount_may_hang(world, i) || world->fs[world->mounts[i].fs].class == FS_PSEUDO)
                        ids[p->n_quiet_mounts++] = world->mounts[i].id;
        return 0;
}

int recovery_plan_add(struct recovery_plan *p, const struct rules *rules, const struct world *world,
                      const char *mountpoint, uint64_t from_usec)
{
        int r = set_quiet_mounts(p, world);

        for (size_t i = 0; r == 0 && i < rules->n_watches; i++)
                r = add_clause(p, &rules->watches[i].clause, world, mountpoint, from_usec);
        return r;
}

uint64_t recovery_plan_from(const struct recovery_plan *p)
{
        uint64_t from = p->n > 0 ? UINT64_MAX : 0;

        for (size_t i = 0; i < p->n; i++)
                from = MIN_OF(from, p->roots[i].from_usec);
        return from;
}

bool recovery_plan_is_quiet(const struct recovery_plan *p, uint64_t mount_id)
{
        for (size_t i = 0; i < p->n_quiet_mounts; i++)
                if ((uint64_t)p->quiet_mounts[i] == mount_id)
                        return true;
        return false;
}

/* ---- what ---- */

uint32_t recovery_events(const struct recovery_times *t, uint64_t from_usec)
{
        uint64_t from = from_usec > MARGIN_USEC ? from_usec - MARGIN_USEC : 0;
        uint32_t events = 0;

        if (t->mtime_usec >= from)
                events |= t->is_dir ? EV_CREATE | EV_DELETE | EV_RENAME : EV_CONTENT;
        if (t->ctime_usec >= from)
                events |= EV_ATTRIB | EV_RENAME;
        if (t->btime_usec > 0 && t->btime_usec >= from)
                events |= EV_CREATE;
        return events;
}

/* ---- filesystems that were unmounted ---- */

static void forget(struct recovery_gone *g, size_t at)
{
        free(g->v[at].mountpoint);
        memmove(&g->v[at], &g->v[at + 1], (g->n - at - 1) * sizeof(*g->v));
        g->n--;
}

void recovery_gone_done(struct recovery_gone *g)
{
        while (g->n > 0)
                forget(g, g->n - 1);
        free(g->v);
        *g = (struct recovery_gone){};
}

int recovery_gone_add(struct recovery_gone *g, uint64_t fsid, const char *mountpoint, uint64_t since_usec)
{
        if (!g->v && !(g->v = calloc(RECOVERY_MAX_GONE, sizeof(*g->v))))
                return -ENOMEM;
        char *copy = strdup(mountpoint);
        if (!copy)
                return -ENOMEM;
        if (g->n == RECOVERY_MAX_GONE)
                forget(g, 0);
        g->v[g->n++] = (struct recovery_away){ .fsid = fsid, .since_usec = since_usec, .mountpoint = copy };
        return 0;
}

uint64_t recovery_gone_take(struct recovery_gone *g, uint64_t fsid, const char *mountpoint)
{
        size_t found = g->n;

        for (size_t i = 0; i < g->n && found == g->n; i++)
                if (fsid != 0 && g->v[i].fsid == fsid)
                        found = i;
        for (size_t i = 0; i < g->n && found == g->n; i++)
                if (streq(g->v[i].mountpoint, mountpoint))
                        found = i;
        if (found == g->n)
                return 0;
        uint64_t since = g->v[found].since_usec;
        forget(g, found);
        return since;
}

bool recovery_same_filesystem(const struct world_fs *fs, const struct world *other)
{
        for (uint32_t i = 0; i < other->n_fs; i++) {
                const struct world_fs *o = &other->fs[i];

                if (o->sdev_major == fs->sdev_major && o->sdev_minor == fs->sdev_minor &&
                    streq(o->fstype, fs->fstype) &&
                    (!o->fsid_known || !fs->fsid_known || o->fsid == fs->fsid))
                        return true;
        }
        return false;
}
