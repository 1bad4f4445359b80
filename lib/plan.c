/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner.  First every rule says what it needs of which filesystem or mount
 * (a demand), then each demand becomes one mark: so a mark's mask is exactly the
 * union of what the rules there need, whatever their number and order.
 *
 * Trees, directories and files are covered by the mark of their filesystem.  It
 * sees every access through every mount and every namespace; what it costs is
 * told in the prices.
 */

#include "plan_internal.h"

#include <errno.h>

#include "fan_uapi.h"
#include "plan_above.h"

/* A name that comes, goes or leads elsewhere: what a rule must see of the links
 * on its path and of a component that is missing. */
#define EV_OF_LINK (EV_CREATE | EV_DELETE | EV_RENAME)
#define EV_OF_MISSING (EV_CREATE | EV_RENAME)

/* What moves under a rule's name is one record, with both names: who asks for move_self takes renames. */
static uint32_t with_renames(uint32_t events)
{
        return events & EV_MOVE_SELF ? events | EV_RENAME : events;
}

static uint32_t scope_events(const struct clause *clause)
{
        switch (clause->scope) {
        case SCOPE_MOUNT:
                return clause->events & EV_MOUNT_SCOPE;
        case SCOPE_FILE:
        case SCOPE_DIRECTORY:
                return with_renames(clause->events & ~(uint32_t)EV_FS_ERROR);
        case SCOPE_TREE:
                return clause->events & ~(uint32_t)(EV_FS_ERROR | EV_DELETE_SELF | EV_MOVE_SELF);
        case SCOPE_FILESYSTEM:
                return clause->events & ~(uint32_t)(EV_DELETE_SELF | EV_MOVE_SELF);
        }
        return clause->events;
}

/* --- demands --- */

struct need {
        const char *rule, *path;
        uint32_t events;
        bool directories;
};

static bool watchable(const struct world_fs *fs)
{
        return fs->class != FS_PSEUDO && fs->mark_errno == 0 && fs->canonical_mount != WORLD_NONE;
}

/* The rule needs these events on fs; everywhere says that it covers all of it. */
static void demand(struct planner *pl, uint32_t fs, const struct need *need, bool everywhere)
{
        struct demand *d = &pl->demands[fs];

        d->reached = true;
        d->events |= need->events;
        d->directories |= need->directories;
        if (everywhere)
                d->whole |= need->events;
        else
                planner_ask(pl, fs, need->rule, need->path, need->events);
}

/* A tripwire: seen, but not what the rule is about, so not counted as reached. */
static void demand_tripwire(struct planner *pl, const char *path, uint32_t events, bool directories)
{
        uint32_t mount = world_mount_of(pl->world, path);
        struct demand *d;

        if (mount != WORLD_NONE && world_fs_by_directories(&pl->world->fs[pl->world->mounts[mount].fs]))
                planner_dirs_above(pl, path);
        if (mount == WORLD_NONE || !watchable(&pl->world->fs[pl->world->mounts[mount].fs]))
                return;
        d = &pl->demands[pl->world->mounts[mount].fs];
        d->events |= events;
        d->directories |= directories;
}

/*
 * The links walked through must be seen when they are replaced; the first missing
 * component, which alone is part of the resolved path, when it appears, also by a
 * directory that is moved there.  Their directories tell (plan_above.c), where these are known.
 */
static void demand_links(struct planner *pl, const struct world_path *p, uint32_t events)
{
        for (size_t i = 0; i < p->links.n; i++) {
                if (plan_dir_of(pl->world, p->links.v[i]))
                        demand_tripwire(pl, p->links.v[i], events & EV_ATTRIB, false);
                else if (world_path_is_below(p->resolved, p->links.v[i]))
                        demand_tripwire(pl, p->links.v[i], EV_OF_MISSING, true);
                else
                        demand_tripwire(pl, p->links.v[i], EV_OF_LINK | (events & EV_ATTRIB), false);
        }
}

/* Is everything on the filesystem below the place where this mount is mounted? */
static bool shows_everything(const struct world_mount *m)
{
        return streq(m->root, "/");
}

static void reach_below(struct planner *pl, const struct need *need, const char *resolved)
{
        size_t n;
        const uint32_t *below = world_mounts_below(pl->world, resolved, &n);

        for (size_t i = 0; i < n; i++) {
                const struct world_mount *m = &pl->world->mounts[below[i]];

                if (!m->visible)
                        continue;
                demand(pl, m->fs, need, shows_everything(m));
                planner_dirs_tree(pl, need->events, m->fs, m->root);
        }
}

/* The gaps of a rule's own path on this filesystem.  Returns whether it can be watched. */
static bool check_own_fs(struct planner *pl, const struct need *need, const struct world_fs *fs)
{
        struct demand *d = &pl->demands[fs - pl->world->fs];

        if (fs->class == FS_PSEUDO) {
                planner_gap(pl,
                            &(struct gap_facts){
                                    .kind = GAP_PSEUDO,
                                    .weight = GAP_HOLE,
                                    .rule = need->rule,
                                    .path = need->path,
                            },
                            "%s holds no files, the kernel makes up what is read there and reports no "
                            "changes: take the path out of the rule",
                            fs->fstype);
                return false;
        }
        if (fs->mark_errno != 0 && !world_fs_by_directories(fs)) {
                planner_gap_no_mark(pl, need->rule, need->path, fs);
                d->refused = true;
                return false;
        }
        return true;
}

/* --- the scopes --- */

static void reach_name(struct planner *pl, const struct rule *rule, const struct need *need,
                       const struct world_path *p)
{
        const struct world *w = pl->world;
        const struct world_mount *m = &w->mounts[p->mount];
        bool everywhere = rule->clause.scope == SCOPE_TREE && p->exists && shows_everything(m) &&
                          streq(p->resolved, m->mountpoint);

        if (p->error != 0)
                planner_gap_error(pl, need->rule, p);
        else if (!p->exists)
                planner_gap_missing(pl, need->rule, p);
        check_own_fs(pl, need, &w->fs[m->fs]);
        demand(pl, m->fs, need, everywhere);
        planner_dirs_path(pl, rule, need->events, p);
        demand_links(pl, p, need->events);
        if (rule->clause.scope == SCOPE_TREE)
                reach_below(pl, need, p->resolved);
}

static void reach_filesystem(struct planner *pl, const struct rule *rule, const struct need *need,
                             const struct world_path *p)
{
        uint32_t mount = world_mount_at(pl->world, p->resolved);
        const struct world_mount *m;

        demand_links(pl, p, need->events);
        if (mount == WORLD_NONE || !p->exists) {
                planner_gap_no_mountpoint(pl, rule, need->path, p->resolved);
                return;
        }
        m = &pl->world->mounts[mount];
        check_own_fs(pl, need, &pl->world->fs[m->fs]);
        demand(pl, m->fs, need, true);
        planner_dirs_tree(pl, need->events, m->fs, "/");
        if (!shows_everything(&pl->world->mounts[pl->world->fs[m->fs].canonical_mount]))
                planner_gap(pl,
                            &(struct gap_facts){
                                    .kind = GAP_UNREACHABLE,
                                    .weight = GAP_PARTLY,
                                    .rule = need->rule,
                                    .path = need->path,
                            },
                            "only a part of this filesystem is mounted, what changes outside of it has no "
                            "path: mount its root somewhere");
}

static void add_mount_mark(struct planner *pl, const struct need *need, const struct world_mount *m)
{
        struct group_key group = { .kind = GROUP_MOUNT, .mount_id = m->id };
        struct mark_object object = { .kind = MARK_MOUNT, .mount_id = m->id };
        struct mark *mark;

        if (markset_get(&pl->plan->wanted, &group, &object, m->mountpoint, &mark) < 0) {
                pl->no_memory = true;
                return;
        }
        mark->mask |= vocab_to_fan(need->events) | (need->directories ? FAN_ONDIR : 0);
        mark->may_hang = world_mount_may_hang(pl->world, (uint32_t)(m - pl->world->mounts));
}

static void reach_mount(struct planner *pl, const struct rule *rule, const struct need *need,
                        const struct world_path *p)
{
        uint32_t mount = world_mount_at(pl->world, p->resolved);
        const struct world_mount *m;
        struct demand *d;

        demand_links(pl, p, 0);
        if (mount == WORLD_NONE || !p->exists) {
                planner_gap_no_mountpoint(pl, rule, need->path, p->resolved);
                return;
        }
        m = &pl->world->mounts[mount];
        d = &pl->demands[m->fs];
        d->reached = true;
        d->by_mount = true;
        d->mount_events |= need->events;
        if (!check_own_fs(pl, need, &pl->world->fs[m->fs]))
                return;
        if (world_fs_by_directories(&pl->world->fs[m->fs])) {
                planner_gap_no_mark(pl, need->rule, need->path, &pl->world->fs[m->fs]);
                return;
        }
        planner_gap(pl,
                    &(struct gap_facts){
                            .kind = GAP_MOUNT_BLIND,
                            .weight = GAP_PARTLY,
                            .rule = need->rule,
                            .path = need->path,
                    },
                    "a mount mark sees no truncation, no other mount of the same files and no other mount "
                    "namespace: scope = \"filesystem\" sees them");
        add_mount_mark(pl, need, m);
}

static void reach(struct planner *pl, const struct rule *rule, const char *path)
{
        struct world_path unknown = { .path = path, .resolved = path, .exists = true };
        const struct world_path *p = world_find_path(pl->world, path);
        struct need need = {
                .rule = rule->clause.name,
                .path = path,
                .events = scope_events(&rule->clause),
                .directories = (rule->clause.types & TYPE_DIRECTORY) != 0 || rule->clause.types == 0,
        };

        if (!p) {
                unknown.mount = world_mount_of(pl->world, path);
                p = &unknown;
        }
        if (p->mount == WORLD_NONE) {
                planner_gap(pl,
                            &(struct gap_facts){
                                    .kind = GAP_UNREACHABLE,
                                    .weight = GAP_HOLE,
                                    .rule = need.rule,
                                    .path = path,
                            },
                            "no mount in sight holds this path: start fawatchd outside the chroot");
                return;
        }
        if (rule->clause.scope == SCOPE_MOUNT)
                reach_mount(pl, rule, &need, p);
        else if (rule->clause.scope == SCOPE_FILESYSTEM)
                reach_filesystem(pl, rule, &need, p);
        else
                reach_name(pl, rule, &need, p);
}

/* An ignore until the file changes must see the change, where there is anything to ignore. */
static void reach_until(struct planner *pl, const struct clause *ignore)
{
        for (size_t i = 0; i < ignore->paths.n; i++) {
                const struct world_path *p = world_find_path(pl->world, ignore->paths.v[i]);
                uint32_t mount = p ? p->mount : world_mount_of(pl->world, ignore->paths.v[i]);
                uint32_t fs;

                if (mount == WORLD_NONE)
                        continue;
                fs = pl->world->mounts[mount].fs;
                if (pl->demands[fs].events == 0)
                        continue;
                pl->demands[fs].events |= EV_MODIFY;
                planner_ask(pl, fs, ignore->name, ignore->paths.v[i], EV_MODIFY);
        }
}

/* --- demands → marks --- */

static uint64_t fan_mask(const struct planner *pl, const struct demand *d)
{
        uint32_t events = d->events;

        if ((events & EV_RENAME) != 0 && !pl->world->kernel.rename)
                events = (events & ~(uint32_t)EV_RENAME) | EV_MOVED_FROM | EV_MOVED_TO;
        if (!pl->world->kernel.fs_error)
                events &= ~(uint32_t)EV_FS_ERROR;
        return vocab_to_fan(events);
}

/*
 * The start of a program is seen in the same queue as what the program does, in
 * its own order: that tells which program of a process caused an event.  It costs
 * writers and other opens nothing.
 */
static bool tells_programs(const struct planner *pl, const struct world_fs *fs)
{
        return pl->settings->process_tracking && pl->rules->n_watches > 0 && fs->class == FS_REAL &&
               fs->may_exec;
}

static void place_filesystem(struct planner *pl, uint32_t index)
{
        static const struct group_key group = { .kind = GROUP_MAIN };
        const struct world_fs *fs = &pl->world->fs[index];
        const struct demand *d = &pl->demands[index];
        struct mark_object object = {
                .kind = MARK_FILESYSTEM,
                .sdev_major = fs->sdev_major,
                .sdev_minor = fs->sdev_minor,
        };
        uint64_t mask;
        struct mark *mark;

        if (!watchable(fs))
                return;
        mask = fan_mask(pl, d);
        if (mask != 0 && d->directories)
                mask |= FAN_ONDIR;
        if (tells_programs(pl, fs))
                mask |= FAN_OPEN_EXEC;
        if (mask == 0)
                return;
        if (markset_get(&pl->plan->wanted, &group, &object, planner_mountpoint(pl, fs), &mark) < 0) {
                pl->no_memory = true;
                return;
        }
        mark->mask = mask;
        mark->may_hang = world_mount_may_hang(pl->world, fs->canonical_mount);
}

static void cover(struct planner *pl, uint32_t index, struct coverage *ret)
{
        const struct world_fs *fs = &pl->world->fs[index];
        const struct demand *d = &pl->demands[index];
        const uint32_t structure = EV_RENAME | EV_DELETE;

        *ret = (struct coverage){
                .fs = index,
                .state = COVERED,
                .events = d->events | d->mount_events,
                .how = "filesystem mark",
                .follows_names = d->directories && (d->events & structure) == structure,
        };
        if (fs->class == FS_PSEUDO) {
                ret->state = SKIPPED;
                ret->how = "pseudo filesystem";
        } else if (world_fs_by_directories(fs)) {
                /* a directory made a moment ago is listed: what was made and removed before is not known */
                ret->state = d->events != 0 ? PARTLY_COVERED : NOT_COVERED;
                ret->how = d->events != 0 ? "directory marks; what was made and removed again in the first "
                                            "moments of a new directory is not seen"
                                          : "directory marks, which see nothing of a rule for a mount";
                ret->follows_names = d->events != 0;
        } else if (fs->mark_errno != 0) {
                ret->state = NOT_COVERED;
                ret->how = planner_no_mark_advice(fs->mark_errno);
        } else if (d->by_mount && d->events == 0) {
                ret->state = PARTLY_COVERED;
                ret->how = "mount mark";
        } else if (fs->class == FS_NETWORK) {
                ret->state = PARTLY_COVERED;
                ret->how = "filesystem mark, sees this host only";
        }
        if (ret->state == SKIPPED || ret->state == NOT_COVERED)
                ret->follows_names = false;
}

static void add_coverage(struct planner *pl)
{
        struct plan *plan = pl->plan;

        plan->coverage = arena_alloc_array(plan->arena, pl->world->n_fs, sizeof(*plan->coverage));
        if (!plan->coverage) {
                pl->no_memory = true;
                return;
        }
        for (uint32_t i = 0; i < pl->world->n_fs; i++)
                if (pl->demands[i].reached)
                        cover(pl, i, &plan->coverage[plan->n_coverage++]);
}

static void make_plan(struct planner *pl)
{
        for (size_t i = 0; i < pl->rules->n_watches; i++) {
                const struct rule *rule = &pl->rules->watches[i];

                for (size_t k = 0; k < rule->clause.paths.n; k++)
                        reach(pl, rule, rule->clause.paths.v[k]);
        }
        for (size_t i = 0; i < pl->rules->n_ignores; i++)
                if (pl->rules->ignores[i].until_modified)
                        reach_until(pl, &pl->rules->ignores[i]);
        planner_dirs_ignores(pl);
        placement_seal(&pl->plan->placement);
        planner_gaps_filesystems(pl);
        planner_gaps_kernel(pl);
        planner_gaps_names(pl);
        planner_prices(pl);
        add_coverage(pl);
        for (uint32_t i = 0; i < pl->world->n_fs; i++)
                place_filesystem(pl, i);
}

int plan_build(const struct rules *rules, const struct settings *settings, const struct world *world,
               struct plan **ret)
{
        _cleanup_free_ struct demand *demands = calloc(world->n_fs + 1, sizeof(*demands));
        _cleanup_(plan_freep) struct plan *plan = calloc(1, sizeof(*plan));
        struct planner pl = {
                .rules = rules,
                .settings = settings,
                .world = world,
                .plan = plan,
                .demands = demands,
        };

        if (!demands || !plan)
                return -ENOMEM;
        plan->arena = arena_new();
        if (!plan->arena)
                return -ENOMEM;
        make_plan(&pl);
        if (pl.no_memory)
                return -ENOMEM;
        *ret = STEAL(plan);
        return 0;
}

void plan_free(struct plan *p)
{
        if (!p)
                return;
        markset_done(&p->wanted);
        placement_done(&p->placement);
        free(p->gaps);
        arena_free(p->arena);
        free(p);
}

const struct coverage *plan_find_coverage(const struct plan *p, uint32_t fs)
{
        for (size_t i = 0; i < p->n_coverage; i++)
                if (p->coverage[i].fs == fs)
                        return &p->coverage[i];
        return NULL;
}
