/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What cannot be covered, each with the reason and with what to do. */

#include "plan_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static int gap_push(struct plan *plan, const struct gap *gap)
{
        /* Not in the arena, since the list grows: 16, then the powers of two. */
        size_t n = plan->n_gaps;

        if (n == 0 || (n >= 16 && (n & (n - 1)) == 0)) {
                struct gap *v = reallocarray(plan->gaps, n == 0 ? 16 : n * 2, sizeof(*v));

                if (!v)
                        return -ENOMEM;
                plan->gaps = v;
        }
        plan->gaps[plan->n_gaps++] = *gap;
        return 0;
}

void planner_gap(struct planner *pl, const struct gap_facts *facts, const char *format, ...)
{
        struct arena *arena = pl->plan->arena;
        _cleanup_free_ char *text = NULL;
        struct gap gap = { .kind = facts->kind, .weight = facts->weight, .error = facts->error };
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf(&text, format, ap);
        va_end(ap);
        if (r < 0) {
                text = NULL;
                pl->no_memory = true;
                return;
        }
        gap.rule = facts->rule ? arena_strdup(arena, facts->rule) : NULL;
        gap.path = facts->path ? arena_strdup(arena, facts->path) : NULL;
        gap.reason = arena_strdup(arena, text);
        if ((facts->rule && !gap.rule) || (facts->path && !gap.path) || !gap.reason ||
            gap_push(pl->plan, &gap) < 0)
                pl->no_memory = true;
}

/* --- filesystems --- */

/* What the errors of fanotify_mark(2) with file handles mean. */
const char *planner_no_mark_advice(int error)
{
        switch (error) {
        case EOPNOTSUPP:
                return "it gives no file handles that can be opened (overlay does when mounted with "
                       "index=on,nfs_export=on)";
        case ENODEV:
                return "it has no filesystem id (FUSE, and overlay without an upper layer): watch the files "
                       "where they are stored";
        case EXDEV:
                return "it is a btrfs subvolume: mount the top of that btrfs (subvolid=5) somewhere as well";
        case EACCES:
                return "a security module refuses it (in SELinux the permission watch_sb): allow it for "
                       "fawatchd";
        case EPERM:
                return "CAP_SYS_ADMIN in the initial user namespace is needed";
        case ETIMEDOUT:
                return "it does not answer: see whether its server or its FUSE process is alive";
        case EINVAL:
                return "it is internal to the kernel";
        default:
                return "the kernel refuses the mark";
        }
}

void planner_gap_no_mark(struct planner *pl, const char *rule, const char *path, const struct world_fs *fs)
{
        planner_gap(pl,
                    &(struct gap_facts){
                            .kind = GAP_NO_MARK,
                            .weight = GAP_HOLE,
                            .rule = rule,
                            .path = path,
                            .error = fs->mark_errno,
                    },
                    "no filesystem mark on this %s filesystem (%s): %s", fs->fstype,
                    strerrorname_np(fs->mark_errno), planner_no_mark_advice(fs->mark_errno));
}

void planner_gaps_filesystems(struct planner *pl)
{
        for (uint32_t i = 0; i < pl->world->n_fs; i++) {
                const struct world_fs *fs = &pl->world->fs[i];
                const struct demand *d = &pl->demands[i];

                if (!d->reached || fs->class == FS_PSEUDO)
                        continue;
                if (fs->mark_errno != 0 && !d->refused && !world_fs_by_directories(fs))
                        planner_gap_no_mark(pl, NULL, planner_mountpoint(pl, fs), fs);
                if (fs->mark_errno == 0 && fs->class == FS_NETWORK)
                        planner_gap(pl,
                                    &(struct gap_facts){
                                            .kind = GAP_NETWORK,
                                            .weight = GAP_NOTE,
                                            .path = planner_mountpoint(pl, fs),
                                    },
                                    "%s is a network filesystem, what other hosts change there is not seen: "
                                    "run fawatchd on the server as well",
                                    fs->fstype);
        }
}

/* --- paths --- */

void planner_gap_error(struct planner *pl, const char *rule, const struct world_path *path)
{
        planner_gap(pl,
                    &(struct gap_facts){
                            .kind = GAP_PATH_ERROR,
                            .weight = GAP_PARTLY,
                            .rule = rule,
                            .path = path->path,
                            .error = path->error,
                    },
                    "the look-up fails with %s%s: watched under the name as written, links on the way are not "
                    "followed",
                    strerrorname_np(path->error),
                    path->error == EACCES ? " (a security module or the file server refuses: allow search)"
                                          : "");
}

void planner_gap_missing(struct planner *pl, const char *rule, const struct world_path *path)
{
        const char *first = path->links.n > 0 ? path->links.v[path->links.n - 1] : path->resolved;

        planner_gap(pl,
                    &(struct gap_facts){
                            .kind = GAP_PATH_MISSING,
                            .weight = GAP_NOTE,
                            .rule = rule,
                            .path = path->path,
                    },
                    "%s does not exist: watched from the moment it does", first);
}

void planner_gap_no_mountpoint(struct planner *pl, const struct rule *rule, const char *path,
                               const char *resolved)
{
        uint32_t mount = world_mount_of(pl->world, resolved);

        planner_gap(pl,
                    &(struct gap_facts){
                            .kind = GAP_NOT_A_MOUNTPOINT,
                            .weight = GAP_HOLE,
                            .rule = rule->clause.name,
                            .path = path,
                    },
                    "nothing is mounted at this path, and scope = \"%s\" means what is: watched once "
                    "something is; the mount point that holds it is %s",
                    scope_name(rule->clause.scope),
                    mount == WORLD_NONE ? "?" : pl->world->mounts[mount].mountpoint);
}

/* --- the kernel --- */

static void kernel_gap(struct planner *pl, enum gap_weight weight, const char *rule, const char *reason)
{
        const struct gap_facts facts = { .kind = GAP_KERNEL, .weight = weight, .rule = rule };

        planner_gap(pl, &facts, "%s", reason);
}

void planner_gaps_kernel(struct planner *pl)
{
        const struct kernel_abilities *k = &pl->world->kernel;
        uint32_t events = 0;

        for (uint32_t i = 0; i < pl->world->n_fs; i++)
                events |= pl->demands[i].events;
        if (pl->rules->n_watches == 0)
                return;
        if (!k->fanotify) {
                kernel_gap(pl, GAP_HOLE, NULL, "this kernel has no fanotify: build it with CONFIG_FANOTIFY");
                return;
        }
        if (!k->dfid_name)
                kernel_gap(pl, GAP_HOLE, NULL,
                           "this kernel has no FAN_REPORT_DFID_NAME: names are reported from Linux 5.9 on");
        if ((events & EV_RENAME) != 0 && !k->rename)
                kernel_gap(pl, GAP_PARTLY, NULL,
                           "this kernel has no FAN_RENAME: the two names of a rename are paired by guess "
                           "before Linux 5.17");
        for (size_t i = 0; i < pl->rules->n_watches; i++) {
                const struct clause *c = &pl->rules->watches[i].clause;

                if (c->scope == SCOPE_FILESYSTEM && (c->events & EV_FS_ERROR) != 0 && !k->fs_error)
                        kernel_gap(pl, GAP_PARTLY, c->name,
                                   "this kernel has no FAN_FS_ERROR: errors of filesystems are reported from "
                                   "Linux 5.16 on");
        }
}

/* --- names of users and groups --- */

static void check_names(struct planner *pl, const char *owner, bool only, enum name_kind kind,
                        const struct strings *values)
{
        for (size_t i = 0; i < values->n; i++) {
                const struct world_name *name;

                if (!world_value_is_name(values->v[i]))
                        continue;
                name = world_find_name(pl->world, kind, values->v[i]);
                if (name && name->known)
                        continue;
                planner_gap(pl,
                            &(struct gap_facts){
                                    .kind = GAP_NAME_UNKNOWN,
                                    .weight = only ? GAP_PARTLY : GAP_NOTE,
                                    .rule = owner,
                            },
                            "no %s is called \"%s\": %s until there is one; it is looked up again at each "
                            "load",
                            kind == NAME_USER ? "user" : "group", values->v[i],
                            only ? "what it would do is not reported" : "the name takes nothing out");
        }
}

static void check_actors(struct planner *pl, const char *owner, bool only, const struct actors *a)
{
        check_names(pl, owner, only, NAME_USER, &a->user);
        check_names(pl, owner, only, NAME_USER, &a->login);
        check_names(pl, owner, only, NAME_GROUP, &a->group);
}

static const struct actor_set *find_actor_set(const struct rules *rules, const char *name)
{
        for (size_t i = 0; i < rules->n_actor_sets; i++)
                if (streq(rules->actor_sets[i].name, name))
                        return &rules->actor_sets[i];
        return NULL;
}

/* A clause's own names and those of the actors it refers to (which refer no further). */
static void check_clause(struct planner *pl, const char *owner, bool only, const struct actors *a)
{
        check_actors(pl, owner, only, a);
        for (size_t i = 0; i < a->actor.n; i++) {
                const struct actor_set *set = find_actor_set(pl->rules, a->actor.v[i]);

                if (set)
                        check_actors(pl, owner, only, &set->actors);
        }
}

void planner_gaps_names(struct planner *pl)
{
        for (size_t i = 0; i < pl->rules->n_watches; i++) {
                const struct rule *rule = &pl->rules->watches[i];

                check_clause(pl, rule->clause.name, true, &rule->only);
                for (size_t k = 0; k < rule->n_excepts; k++)
                        check_clause(pl, rule->clause.name, false, &rule->excepts[k].actors);
        }
        for (size_t i = 0; i < pl->rules->n_ignores; i++)
                check_clause(pl, pl->rules->ignores[i].name, false, &pl->rules->ignores[i].actors);
}
