/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a rule's path lies: the filesystem and the path in it, what is mounted
 * below it, and the symbolic links on the way.
 */
#include "match_internal.h"

#include <errno.h>

void match_places_done(struct match_places *p)
{
        free(p->v);
        *p = (struct match_places){};
}

/* What is on a pseudo filesystem is never watched: no place. */
static int add_place(const struct world *world, const struct match_place *place, struct match_places *places)
{
        if (world->fs[place->fs].class == FS_PSEUDO)
                return 0;
        if (places->n == places->cap) {
                size_t cap = places->cap ? 2 * places->cap : 8;
                struct match_place *v = reallocarray(places->v, cap, sizeof(*v));

                if (!v)
                        return -ENOMEM;
                places->v = v;
                places->cap = cap;
        }
        places->v[places->n++] = *place;
        return 0;
}

const char *match_path_inside(const struct world_mount *mount, const char *path, struct arena *arena)
{
        const char *rest = path + (streq(mount->mountpoint, "/") ? 0 : strlen(mount->mountpoint));

        if (streq(rest, "") || streq(rest, "/"))
                return mount->root;
        return streq(mount->root, "/") ? rest : arena_printf(arena, "%s%s", mount->root, rest);
}

/* Where a path of the rules leads; what the world was not asked for is taken as written. */
struct lead {
        const struct world_path *known;
        const char *resolved;
        uint32_t mount; /* WORLD_NONE = nowhere */
        const char *inside;
};

static int follow(const struct world *world, const char *path, struct arena *arena, struct lead *ret)
{
        struct lead lead = { .known = world_find_path(world, path), .resolved = path };

        if (lead.known) {
                lead.resolved = lead.known->resolved;
                lead.mount = lead.known->mount;
                lead.inside = lead.known->inside;
        } else {
                lead.mount = world_mount_of(world, path);
                if (lead.mount != WORLD_NONE) {
                        lead.inside = match_path_inside(&world->mounts[lead.mount], path, arena);
                        if (!lead.inside)
                                return -ENOMEM;
                }
        }
        *ret = lead;
        return 0;
}

/* Mounts below: for a tree all of each, for a directory the root of each that is a child. */
static int add_mounts_below(const struct world *world, const char *resolved, enum match_reach reach,
                            struct match_places *places)
{
        size_t n, skip = streq(resolved, "/") ? 1 : strlen(resolved) + 1;
        const uint32_t *below = world_mounts_below(world, resolved, &n);

        for (size_t i = 0; i < n; i++) {
                const struct world_mount *mount = &world->mounts[below[i]];
                struct match_place place = {
                        .fs = mount->fs, .path = mount->root, .reach = reach,
                        .below = mount->mountpoint + skip, .mount_id = MATCH_NO_MOUNT,
                };

                if (!mount->visible || (reach == REACH_SELF && strchr(place.below, '/')))
                        continue;
                int r = add_place(world, &place, places);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_names(const struct world *world, const struct lead *lead, enum scope scope,
                     struct match_places *places)
{
        bool is_file = lead->known && lead->known->exists && lead->known->type != 0 &&
                       lead->known->type != TYPE_DIRECTORY;
        struct match_place place = {
                .fs = world->mounts[lead->mount].fs,
                .path = lead->inside,
                .reach = scope == SCOPE_FILE        ? REACH_SELF
                         : scope == SCOPE_DIRECTORY ? REACH_CHILDREN
                                                    : REACH_TREE,
                .below = "",
                .mount_id = MATCH_NO_MOUNT,
                .own = scope != SCOPE_TREE || is_file,
                .handle = lead->known ? &lead->known->handle : NULL,
        };
        int r = add_place(world, &place, places);

        if (r < 0 || scope == SCOPE_FILE)
                return r;
        return add_mounts_below(world, lead->resolved, scope == SCOPE_TREE ? REACH_TREE : REACH_SELF, places);
}

/* What is mounted at the path, never what the directory below it belongs to. */
static int add_whole(const struct world *world, const struct lead *lead, enum scope scope,
                     struct match_places *places)
{
        uint32_t at = world_mount_at(world, lead->resolved);
        struct match_place place = { .reach = REACH_TREE, .below = "", .mount_id = MATCH_NO_MOUNT };

        if (at == WORLD_NONE)
                return 0;
        place.fs = world->mounts[at].fs;
        place.path = scope == SCOPE_MOUNT ? world->mounts[at].root : "/";
        if (scope == SCOPE_MOUNT)
                place.mount_id = world->mounts[at].id;
        return add_place(world, &place, places);
}

static const char *last_name(const char *path)
{
        return strrchr(path, '/') + 1;
}

/* Is this link, of those walked through, the one that path itself names?  Links
 * above it lie on path or on what it resolves to; a link's own links end
 * in other names, as a rule. */
static bool ends_in_link(const char *path, const struct lead *lead, const char *link)
{
        if (streq(link, path))
                return true;
        return streq(last_name(link), last_name(path)) && !world_path_is_below(path, link) &&
               !world_path_is_below(lead->resolved, link);
}

static int add_links(const struct world *world, const struct lead *lead, struct match_target target,
                     struct arena *arena, struct match_places *places)
{
        const struct strings *links = &lead->known->links;

        for (size_t i = 0; i < links->n; i++) {
                uint32_t mount = world_mount_of(world, links->v[i]);
                struct match_place place = { .reach = REACH_SELF, .below = "", .mount_id = MATCH_NO_MOUNT };
                int r;

                if (mount == WORLD_NONE)
                        continue;
                place.fs = world->mounts[mount].fs;
                place.path = match_path_inside(&world->mounts[mount], links->v[i], arena);
                if (!place.path)
                        return -ENOMEM;
                place.tripwire = true;
                place.link = target.scope <= SCOPE_TREE && ends_in_link(target.path, lead, links->v[i]);
                r = add_place(world, &place, places);
                if (r < 0)
                        return r;
        }
        return 0;
}

int match_places_find(const struct world *world, struct match_target target, struct arena *arena,
                      struct match_places *places)
{
        struct lead lead;
        int r = follow(world, target.path, arena, &lead);

        if (r < 0)
                return r;
        if (target.scope == SCOPE_MOUNT || target.scope == SCOPE_FILESYSTEM)
                r = add_whole(world, &lead, target.scope, places);
        else if (lead.mount != WORLD_NONE)
                r = add_names(world, &lead, target.scope, places);
        if (r < 0 || !lead.known)
                return r;
        return add_links(world, &lead, target, arena, places);
}
