/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The builder of a world and the look-ups in it. */

#include "world.h"

#include <errno.h>

#include "strbuf.h"

struct world *world_new(void)
{
        struct arena *arena = arena_new();
        struct world *w;

        if (!arena)
                return NULL;
        w = arena_alloc(arena, sizeof(*w));
        if (!w) {
                arena_free(arena);
                return NULL;
        }
        w->arena = arena;
        return w;
}

void world_free(struct world *w)
{
        if (w)
                arena_free(w->arena);
}

/*
 * Room for one more element behind the n that are there.  The capacity is not
 * stored: it is 8, then the powers of two, so n alone says when it is full.
 */
static int grow(struct arena *arena, void **array, uint32_t n, size_t size)
{
        void *bigger;

        if (n != 0 && (n < 8 || (n & (n - 1)) != 0))
                return 0;
        bigger = arena_alloc_array(arena, n == 0 ? 8 : (size_t)n * 2, size);
        if (!bigger)
                return -ENOMEM;
        if (n > 0)
                memcpy(bigger, *array, n * size);
        *array = bigger;
        return 0;
}

/* --- mounts --- */

uint32_t world_find_fs(const struct world *w, uint32_t sdev_major, uint32_t sdev_minor)
{
        for (uint32_t i = 0; i < w->n_fs; i++)
                if (w->fs[i].sdev_major == sdev_major && w->fs[i].sdev_minor == sdev_minor)
                        return i;
        return WORLD_NONE;
}

static int add_fs(struct world *w, const struct world_mount_facts *facts, uint32_t *ret)
{
        struct world_fs fs = {
                .sdev_major = facts->sdev_major,
                .sdev_minor = facts->sdev_minor,
                .class = facts->class,
                .canonical_mount = WORLD_NONE,
        };

        fs.fstype = arena_strdup(w->arena, facts->fstype);
        fs.source = arena_strdup(w->arena, facts->source);
        if (!fs.fstype || !fs.source || grow(w->arena, (void **)&w->fs, w->n_fs, sizeof(fs)) < 0)
                return -ENOMEM;
        *ret = w->n_fs;
        w->fs[w->n_fs++] = fs;
        return 0;
}

int world_add_mount(struct world *w, const struct world_mount_facts *facts)
{
        struct world_mount m = {
                .id = facts->id,
                .parent_id = facts->parent_id,
                .noexec = facts->noexec,
                .read_only = facts->read_only,
                .parent = WORLD_NONE,
        };
        int r;

        m.fs = world_find_fs(w, facts->sdev_major, facts->sdev_minor);
        if (m.fs == WORLD_NONE) {
                r = add_fs(w, facts, &m.fs);
                if (r < 0)
                        return r;
        }
        m.root = arena_strdup(w->arena, facts->root);
        m.mountpoint = arena_strdup(w->arena, facts->mountpoint);
        if (!m.root || !m.mountpoint || grow(w->arena, (void **)&w->mounts, w->n_mounts, sizeof(m)) < 0)
                return -ENOMEM;
        w->mounts[w->n_mounts++] = m;
        return 0;
}

struct mount_key {
        const struct world_mount *mount;
        uint32_t index;
};

static int compare_mountpoints(const void *a, const void *b)
{
        const struct mount_key *x = a, *y = b;
        int c = strcmp(x->mount->mountpoint, y->mount->mountpoint);

        return c != 0 ? c : (x->index > y->index) - (x->index < y->index);
}

static int compare_mount_ids(const void *a, const void *b)
{
        const struct mount_key *x = a, *y = b;

        return (x->mount->id > y->mount->id) - (x->mount->id < y->mount->id);
}

static uint32_t find_mount_id(const struct mount_key *keys, uint32_t n, int id)
{
        struct world_mount wanted = { .id = id };
        struct mount_key key = { .mount = &wanted };
        const struct mount_key *found = bsearch(&key, keys, n, sizeof(key), compare_mount_ids);

        return found ? found->index : WORLD_NONE;
}

static unsigned depth_of(const char *path)
{
        unsigned depth = 0;

        for (; *path; path++)
                if (path[0] == '/' && path[1] != '\0')
                        depth++;
        return depth;
}

/* Is a the better mount to name the paths of their filesystem by? */
static bool better_canonical(const struct world_mount *a, const struct world_mount *b)
{
        unsigned depth_a = depth_of(a->root), depth_b = depth_of(b->root);

        return depth_a != depth_b ? depth_a < depth_b : a->id < b->id;
}

static void judge_mount(struct world *w, uint32_t index)
{
        struct world_mount *m = &w->mounts[index];
        struct world_fs *fs = &w->fs[m->fs];

        m->visible = world_mount_of(w, m->mountpoint) == index;
        if (!m->noexec)
                fs->may_exec = true;
        if (m->visible && (fs->canonical_mount == WORLD_NONE ||
                           better_canonical(m, &w->mounts[fs->canonical_mount])))
                fs->canonical_mount = index;
}

int world_seal(struct world *w)
{
        _cleanup_free_ struct mount_key *keys = calloc(w->n_mounts + 1, sizeof(*keys));

        w->by_mountpoint = arena_alloc_array(w->arena, w->n_mounts + 1, sizeof(*w->by_mountpoint));
        if (!keys || !w->by_mountpoint)
                return -ENOMEM;
        for (uint32_t i = 0; i < w->n_mounts; i++)
                keys[i] = (struct mount_key){ .mount = &w->mounts[i], .index = i };

        qsort(keys, w->n_mounts, sizeof(*keys), compare_mount_ids);
        for (uint32_t i = 0; i < w->n_mounts; i++) {
                uint32_t parent = find_mount_id(keys, w->n_mounts, w->mounts[i].parent_id);

                w->mounts[i].parent = parent == i ? WORLD_NONE : parent;
        }

        qsort(keys, w->n_mounts, sizeof(*keys), compare_mountpoints);
        for (uint32_t i = 0; i < w->n_mounts; i++)
                w->by_mountpoint[i] = keys[i].index;
        for (uint32_t i = 0; i < w->n_mounts; i++)
                judge_mount(w, i);
        return 0;
}

/* The first place in by_mountpoint whose mountpoint is not before path[0..len). */
static uint32_t lower_bound(const struct world *w, const char *path, size_t len)
{
        uint32_t low = 0, high = w->n_mounts;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;
                const char *point = w->mounts[w->by_mountpoint[middle]].mountpoint;

                if (strncmp(point, path, len) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* Climbs from the mount `on` to the topmost one stacked exactly at path[0..len). */
static uint32_t step_into(const struct world *w, uint32_t on, const char *path, size_t len)
{
        uint32_t first = lower_bound(w, path, len);
        bool moved;

        do {
                moved = false;
                for (uint32_t i = first; i < w->n_mounts; i++) {
                        uint32_t index = w->by_mountpoint[i];
                        const struct world_mount *m = &w->mounts[index];

                        if (strncmp(m->mountpoint, path, len) != 0 || m->mountpoint[len] != '\0')
                                break;
                        if (m->parent == on && index != on) {
                                on = index;
                                moved = true;
                        }
                }
        } while (moved);
        return on;
}

uint32_t world_mount_of(const struct world *w, const char *path)
{
        uint32_t on = step_into(w, WORLD_NONE, "/", 1);

        if (path[0] != '/' || path[1] == '\0')
                return on;
        for (const char *end = path + 1;; end++) {
                if (*end != '/' && *end != '\0')
                        continue;
                on = step_into(w, on, path, (size_t)(end - path));
                if (*end == '\0')
                        return on;
        }
}

uint32_t world_mount_at(const struct world *w, const char *path)
{
        uint32_t on = world_mount_of(w, path);

        return on != WORLD_NONE && streq(w->mounts[on].mountpoint, path) ? on : WORLD_NONE;
}

/* Where does point stand to the names that begin with path[0..len) and a slash? */
static int compare_below(const char *point, const char *path, size_t len)
{
        int c = strncmp(point, path, len);

        return c != 0 ? c : (int)(unsigned char)point[len] - '/';
}

const uint32_t *world_mounts_below(const struct world *w, const char *path, size_t *ret_n)
{
        size_t len = streq(path, "/") ? 0 : strlen(path);
        uint32_t low = 0, high = w->n_mounts, end;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;

                if (compare_below(w->mounts[w->by_mountpoint[middle]].mountpoint, path, len) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        /* "/" begins with its own slash, but is not below itself */
        while (len == 0 && low < w->n_mounts && streq(w->mounts[w->by_mountpoint[low]].mountpoint, "/"))
                low++;
        for (end = low; end < w->n_mounts; end++)
                if (compare_below(w->mounts[w->by_mountpoint[end]].mountpoint, path, len) != 0)
                        break;
        *ret_n = end - low;
        return w->by_mountpoint + low;
}

bool world_fs_may_hang(const struct world_fs *fs)
{
        return fs->class == FS_NETWORK || strncmp(fs->fstype, "fuse", 4) == 0 || streq(fs->fstype, "autofs");
}

bool world_mount_may_hang(const struct world *w, uint32_t mount)
{
        for (; mount != WORLD_NONE; mount = w->mounts[mount].parent)
                if (world_fs_may_hang(&w->fs[w->mounts[mount].fs]))
                        return true;
        return false;
}

/* --- paths --- */

bool world_path_is_below(const char *path, const char *dir)
{
        size_t len = streq(dir, "/") ? 0 : strlen(dir);

        return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* Where an object is under another root: from[0..] is a root above path, which to
 * replaces.  Both are absolute; "/" joins without doubling. */
static void rebase(const char *path, size_t len, const char *from, const char *to, struct strbuf *out)
{
        size_t skip = streq(from, "/") ? 0 : strlen(from);
        size_t rest = len > skip ? len - skip : 0;

        if (rest == 1 && path[skip] == '/')
                rest = 0;
        if (!streq(to, "/") || rest == 0)
                strbuf_adds(out, to);
        strbuf_add(out, path + skip, rest);
}

static int copy_strings(struct arena *arena, const struct strings *from, struct strings *ret)
{
        const char **v = arena_alloc_array(arena, from->n, sizeof(*v));

        if (!v)
                return -ENOMEM;
        for (size_t i = 0; i < from->n; i++) {
                v[i] = arena_strdup(arena, from->v[i]);
                if (!v[i])
                        return -ENOMEM;
        }
        *ret = (struct strings){ .v = v, .n = from->n };
        return 0;
}

uint32_t world_locate(const struct world *w, const char *path, struct strbuf *inside)
{
        uint32_t mount = world_mount_of(w, path);

        if (mount != WORLD_NONE)
                rebase(path, strlen(path), w->mounts[mount].mountpoint, w->mounts[mount].root, inside);
        else
                strbuf_adds(inside, path);
        return mount;
}

/* How many of the last directories are compared with a new one: paths that follow each other share theirs. */
#define DIRS_COMPARED 32u

int world_add_dir(struct world *w, const struct world_dir *facts)
{
        struct world_dir d = *facts;

        for (uint32_t i = w->n_dirs; i-- > 0 && w->n_dirs - i <= DIRS_COMPARED;)
                if (streq(w->dirs[i].path, d.path))
                        return 0;
        d.mount = world_mount_of(w, d.path);
        d.path = arena_strdup(w->arena, d.path);
        if (!d.path || grow(w->arena, (void **)&w->dirs, w->n_dirs, sizeof(d)) < 0)
                return -ENOMEM;
        w->dirs[w->n_dirs++] = d;
        return 0;
}

int world_add_path(struct world *w, const struct world_path *facts)
{
        _cleanup_strbuf_ struct strbuf inside = STRBUF_NULL;
        struct world_path p = *facts;

        p.mount = world_locate(w, facts->resolved, &inside);
        p.path = arena_strdup(w->arena, facts->path);
        p.resolved = arena_strdup(w->arena, facts->resolved);
        p.inside = arena_strndup(w->arena, strbuf_str(&inside), inside.len);
        if (strbuf_failed(&inside) || !p.path || !p.resolved || !p.inside ||
            copy_strings(w->arena, &facts->links, &p.links) < 0 ||
            grow(w->arena, (void **)&w->paths, w->n_paths, sizeof(p)) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < facts->n_dirs; i++)
                if (world_add_dir(w, &facts->dirs[i]) < 0)
                        return -ENOMEM;
        p.dirs = NULL;
        p.n_dirs = 0;
        w->paths[w->n_paths++] = p;
        return 0;
}

int world_add_name(struct world *w, const struct world_name *facts)
{
        struct world_name name = *facts;

        name.name = arena_strdup(w->arena, facts->name);
        if (!name.name || grow(w->arena, (void **)&w->names, w->n_names, sizeof(name)) < 0)
                return -ENOMEM;
        w->names[w->n_names++] = name;
        return 0;
}

static int compare_paths(const void *a, const void *b)
{
        const struct world_path *x = a, *y = b;

        return strcmp(x->path, y->path);
}

static int compare_names(const void *a, const void *b)
{
        const struct world_name *x = a, *y = b;

        return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind) : strcmp(x->name, y->name);
}

static int compare_dirs(const void *a, const void *b)
{
        const struct world_dir *x = a, *y = b;

        return strcmp(x->path, y->path);
}

static void sort_dirs(struct world *w)
{
        uint32_t n = 0;

        if (w->n_dirs > 0)
                qsort(w->dirs, w->n_dirs, sizeof(*w->dirs), compare_dirs);
        for (uint32_t i = 0; i < w->n_dirs; i++)
                if (n == 0 || !streq(w->dirs[n - 1].path, w->dirs[i].path))
                        w->dirs[n++] = w->dirs[i];
        w->n_dirs = n;
}

void world_finish(struct world *w)
{
        sort_dirs(w);
        if (w->n_paths > 0)
                qsort(w->paths, w->n_paths, sizeof(*w->paths), compare_paths);
        if (w->n_names > 0)
                qsort(w->names, w->n_names, sizeof(*w->names), compare_names);
}

const struct world_path *world_find_path(const struct world *w, const char *path)
{
        struct world_path key = { .path = path };

        return w->n_paths == 0 ? NULL : bsearch(&key, w->paths, w->n_paths, sizeof(key), compare_paths);
}

const struct world_dir *world_find_dir(const struct world *w, const char *path)
{
        struct world_dir key = { .path = path };

        return w->n_dirs == 0 ? NULL : bsearch(&key, w->dirs, w->n_dirs, sizeof(key), compare_dirs);
}

const struct world_name *world_find_name(const struct world *w, enum name_kind kind, const char *name)
{
        struct world_name key = { .kind = kind, .name = name };

        return w->n_names == 0 ? NULL : bsearch(&key, w->names, w->n_names, sizeof(key), compare_names);
}

static bool mount_shows(const struct world_mount *m, const char *inside, size_t len)
{
        size_t root = streq(m->root, "/") ? 0 : strlen(m->root);

        return len >= root && memcmp(inside, m->root, root) == 0 && (len == root || inside[root] == '/');
}

static uint32_t mount_that_shows(const struct world *w, uint32_t fs, const char *inside, size_t len)
{
        uint32_t canonical = w->fs[fs].canonical_mount;

        if (canonical == WORLD_NONE || mount_shows(&w->mounts[canonical], inside, len))
                return canonical;
        for (uint32_t i = 0; i < w->n_mounts; i++)
                if (w->mounts[i].fs == fs && w->mounts[i].visible && mount_shows(&w->mounts[i], inside, len))
                        return i;
        return WORLD_NONE;
}

int world_canonical_path(const struct world *w, uint32_t fs, const char *inside, size_t len,
                         struct strbuf *ret, bool *ret_hidden)
{
        uint32_t mount = mount_that_shows(w, fs, inside, len);

        strbuf_reset(ret);
        if (mount == WORLD_NONE) {
                strbuf_add(ret, inside, len);
                *ret_hidden = false;
                return strbuf_failed(ret) ? -ENOMEM : -ENOENT;
        }
        rebase(inside, len, w->mounts[mount].root, w->mounts[mount].mountpoint, ret);
        if (strbuf_failed(ret))
                return -ENOMEM;
        *ret_hidden = world_mount_of(w, strbuf_str(ret)) != mount;
        return 0;
}
