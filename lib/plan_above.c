/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan_above.h"

#include <errno.h>

#include "fan_uapi.h"
#include "strbuf.h"

static const struct group_key main_group = { .kind = GROUP_MAIN };

static bool takes_marks(const struct world *world, const struct world_dir *d)
{
        const struct world_fs *fs;

        if (d->handle.len == 0 || d->mount == WORLD_NONE)
                return false;
        fs = &world->fs[world->mounts[d->mount].fs];
        return fs->class != FS_PSEUDO && fs->mark_errno == 0 && !world_mount_may_hang(world, d->mount);
}

static const struct world_dir *find_dir(const struct world *world, const char *path, size_t len)
{
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        const struct world_dir *d;

        strbuf_add(&text, path, len);
        d = strbuf_failed(&text) ? NULL : world_find_dir(world, strbuf_str(&text));
        return d && takes_marks(world, d) ? d : NULL;
}

const struct world_dir *plan_dir_of(const struct world *world, const char *name)
{
        size_t len = strlen(name);

        while (len > 1 && name[len - 1] != '/')
                len--;
        return find_dir(world, name, MAX_OF(len - 1, (size_t)1));
}

static uint64_t names_mask(const struct world *world)
{
        return FAN_CREATE | FAN_DELETE | FAN_ONDIR |
               (world->kernel.rename ? FAN_RENAME : FAN_MOVED_FROM | FAN_MOVED_TO);
}

static int mark_dir(struct plan *plan, const struct world *world, const struct world_dir *d)
{
        const uint64_t mask = names_mask(world);
        const struct world_fs *fs = &world->fs[world->mounts[d->mount].fs];
        const struct mark_object whole = {
                .kind = MARK_FILESYSTEM, .sdev_major = fs->sdev_major, .sdev_minor = fs->sdev_minor,
        };
        const struct mark_object object = {
                .kind = MARK_INODE, .sdev_major = fs->sdev_major, .sdev_minor = fs->sdev_minor, .handle = d->handle,
        };
        const struct mark *filesystem = markset_find(&plan->wanted, &main_group, &whole);
        struct mark *mark;

        if (filesystem && (filesystem->mask & mask) == mask)
                return 0;
        if (markset_get(&plan->wanted, &main_group, &object, d->path, &mark) < 0)
                return -ENOMEM;
        mark->mask |= mask;
        return 0;
}

/* Every directory above the name. */
static int mark_above(struct plan *plan, const struct world *world, const char *name)
{
        for (const char *slash = strchr(name, '/'); slash && slash[1] != '\0'; slash = strchr(slash + 1, '/')) {
                const struct world_dir *d = find_dir(world, name, slash == name ? 1 : (size_t)(slash - name));
                int r = d ? mark_dir(plan, world, d) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

int plan_above(struct plan *plan, const struct rules *rules, const struct world *world)
{
        for (size_t i = 0; i < rules->n_watches; i++) {
                const struct strings *paths = &rules->watches[i].clause.paths;

                for (size_t k = 0; k < paths->n; k++) {
                        const struct world_path *p = world_find_path(world, paths->v[k]);
                        int r = p ? mark_above(plan, world, p->resolved) : 0;

                        for (size_t n = 0; r == 0 && p && n < p->links.n; n++)
                                r = mark_above(plan, world, p->links.v[n]);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}
