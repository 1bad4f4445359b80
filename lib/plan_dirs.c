/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Filesystems that take no filesystem mark with file handles: which of their directories get which mark. */

#include "plan_internal.h"

#include "fan_uapi.h"
#include "strbuf.h"
#include "unwanted.h"

/* What a mark on a directory can bring of these events, beside those of its structure. */
static uint32_t mask_of(uint32_t events)
{
        uint64_t mask = vocab_to_fan(events & (UNWANTED_CHILD | UNWANTED_SELF));

        if (events & UNWANTED_CHILD)
                mask |= FAN_EVENT_ON_CHILD;
        return (uint32_t)mask;
}

static void add(struct planner *pl, uint32_t fs, const char *inside, uint32_t mask, uint32_t below)
{
        const struct placement_root root = {
                .fs = fs,
                .inside = inside,
                .mask = mask | placement_structure(&pl->world->kernel),
                .below = below,
        };

        if (placement_add(&pl->plan->placement, pl->plan->arena, &root) < 0)
                pl->no_memory = true;
}

static void add_parent(struct planner *pl, uint32_t fs, const char *inside, uint32_t mask)
{
        const char *slash = strrchr(inside, '/');
        size_t len = slash ? (size_t)(slash - inside) : 0;
        _cleanup_free_ char *parent = len == 0 ? strdup("/") : strndup(inside, len);

        if (parent)
                add(pl, fs, parent, mask, 0);
        else
                pl->no_memory = true;
}

void planner_dirs_tree(struct planner *pl, uint32_t events, uint32_t fs, const char *inside)
{
        /* the objects of these are files and directories that a rule names */
        uint32_t mask = mask_of(events & ~(uint32_t)(EV_DELETE_SELF | EV_MOVE_SELF));

        if (world_fs_by_directories(&pl->world->fs[fs]))
                add(pl, fs, inside, mask, mask | placement_structure(&pl->world->kernel));
}

void planner_dirs_path(struct planner *pl, const struct rule *rule, uint32_t events, const struct world_path *p)
{
        uint32_t fs = pl->world->mounts[p->mount].fs;
        _cleanup_strbuf_ struct strbuf located = STRBUF_NULL;
        const char *inside = p->inside;

        if (!world_fs_by_directories(&pl->world->fs[fs]))
                return;
        if (!inside) {
                (void)world_locate(pl->world, p->resolved, &located);
                inside = strbuf_str(&located);
                pl->no_memory |= strbuf_failed(&located);
        }
        /* what the name itself is told of comes from the directory that it is in */
        add_parent(pl, fs, inside, mask_of(events & UNWANTED_CHILD));
        if (rule->clause.scope == SCOPE_TREE)
                planner_dirs_tree(pl, events, fs, inside);
        else if (rule->clause.scope == SCOPE_DIRECTORY)
                add(pl, fs, inside, mask_of(events), 0);
        else if (!p->exists || p->type == TYPE_DIRECTORY)
                add(pl, fs, inside, mask_of(events & UNWANTED_SELF), 0);
}

void planner_dirs_above(struct planner *pl, const char *path)
{
        _cleanup_strbuf_ struct strbuf inside = STRBUF_NULL;
        uint32_t mount = world_locate(pl->world, path, &inside);

        if (strbuf_failed(&inside))
                pl->no_memory = true;
        else if (mount != WORLD_NONE)
                add_parent(pl, pl->world->mounts[mount].fs, strbuf_str(&inside), 0);
}

/* ---- ignores ---- */

static bool is_unconditional(const struct clause *c)
{
        return c->scope == SCOPE_TREE && c->events == EV_RULE_ALL && c->types == 0 && c->match.n == 0 &&
               !c->until_modified && actors_empty(&c->actors);
}

static bool a_rule_is_always(const struct rules *rules)
{
        for (size_t i = 0; i < rules->n_watches; i++)
                if (rules->watches[i].always)
                        return true;
        return false;
}

static void skip(struct planner *pl, const char *path)
{
        _cleanup_strbuf_ struct strbuf inside = STRBUF_NULL;
        uint32_t mount = world_locate(pl->world, path, &inside);
        struct placement_root root = { .skip = true };

        if (mount == WORLD_NONE || !world_fs_by_directories(&pl->world->fs[pl->world->mounts[mount].fs]))
                return;
        root.fs = pl->world->mounts[mount].fs;
        root.inside = strbuf_str(&inside);
        if (strbuf_failed(&inside) || placement_add(&pl->plan->placement, pl->plan->arena, &root) < 0)
                pl->no_memory = true;
}

void planner_dirs_ignores(struct planner *pl)
{
        if (!pl->settings->kernel_ignores || a_rule_is_always(pl->rules))
                return;
        for (size_t i = 0; i < pl->rules->n_ignores; i++) {
                const struct clause *c = &pl->rules->ignores[i];

                for (size_t k = 0; is_unconditional(c) && k < c->paths.n; k++) {
                        const struct world_path *p = world_find_path(pl->world, c->paths.v[k]);

                        skip(pl, p ? p->resolved : c->paths.v[k]);
                }
        }
}
