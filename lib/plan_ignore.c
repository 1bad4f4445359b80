/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan_ignore.h"

#include <errno.h>

#include "fan_uapi.h"

static const struct group_key main_group = { .kind = GROUP_MAIN };

/* ---- arithmetic ---- */

bool plan_sees_moves(uint64_t requested)
{
        const uint64_t halves = FAN_MOVED_FROM | FAN_MOVED_TO;

        return (requested & FAN_ONDIR) && ((requested & FAN_RENAME) || (requested & halves) == halves);
}

static struct mark *filesystem_mark(const struct plan *plan, const struct world_fs *fs)
{
        const struct mark_object object = {
                .kind = MARK_FILESYSTEM,
                .sdev_major = fs->sdev_major,
                .sdev_minor = fs->sdev_minor,
        };

        return markset_find(&plan->wanted, &main_group, &object);
}

uint64_t plan_requested(const struct plan *plan, const struct world *world, uint32_t fs)
{
        const struct mark *mark = filesystem_mark(plan, &world->fs[fs]);

        return mark ? mark->mask : 0;
}

int plan_ignore_terms(const struct plan *plan, const struct settings *settings, const struct matcher *m,
                      uint32_t fs, struct ignore_terms *ret)
{
        const struct world *world = matcher_world(m);
        struct ignore_terms t = {
                .requested = plan_requested(plan, world, fs),
                .keep_exec = settings->process_tracking,
                .ignore_new = world->kernel.ignore,
        };
        int r = unwanted_linked(m, fs, &t.linked);

        if (r == 0)
                *ret = t;
        return r;
}

static uint64_t ignorable(const struct ignore_terms *t, uint32_t unwanted)
{
        return vocab_to_fan(unwanted & ~(t->keep_exec ? (uint32_t)EV_OPEN_EXEC : 0)) & t->requested;
}

/*
 * ONDIR always, or what happens to subdirectories arrives; ON_CHILD only with a child
 * event, since it makes the kernel look at the parent for each event of each child.
 * The old interface knows neither: its ignores always take in directories, and
 * children when the mask of the same mark has ON_CHILD (fsnotify_ignore_mask()).
 */
void plan_ignore_dir(const struct ignore_terms *t, uint32_t unwanted, struct mark *mark)
{
        uint64_t bits = ignorable(t, unwanted & ~(t->linked & UNWANTED_CHILD));
        bool children = bits & vocab_to_fan(UNWANTED_CHILD);

        mark->ignore_surv = true;
        mark->ignore_new = t->ignore_new;
        mark->ignore_mask = bits;
        if (bits == 0)
                return;
        if (t->ignore_new)
                mark->ignore_mask |= FAN_ONDIR | (children ? FAN_EVENT_ON_CHILD : 0);
        else if (children)
                mark->mask |= FAN_EVENT_ON_CHILD;
}

/* A second name of the file is told by its attrib, which the mark therefore asks for where the
 * filesystem's does not. */
void plan_ignore_file(const struct ignore_terms *t, uint32_t unwanted, struct mark *mark)
{
        mark->ignore_surv = true;
        mark->ignore_new = t->ignore_new;
        mark->ignore_mask = ignorable(t, unwanted & ~(uint32_t)(EV_ATTRIB | EV_DELETE_SELF));
        if (mark->ignore_mask != 0 && !(t->requested & FAN_ATTRIB))
                mark->mask |= FAN_ATTRIB;
}

/* ---- the plan ---- */

struct ignorer {
        struct plan *plan;
        const struct rules *rules;
        const struct settings *settings;
        const struct world *world;
        const struct matcher *m;
        struct ignore_terms *terms; /* world->n_fs */
        bool no_memory;
};

static void note(struct ignorer *g, const struct clause *ignore, const char *path, enum ignore_done done,
                 const char *reason)
{
        g->plan->ignores[g->plan->n_ignores++] = (struct plan_ignore){
                .ignore = ignore,
                .path = path,
                .done = done,
                .reason = reason,
        };
}

static struct mark *get_mark(struct ignorer *g, const struct world_path *p)
{
        const struct world_fs *fs = &g->world->fs[g->world->mounts[p->mount].fs];
        const struct mark_object object = {
                .kind = MARK_INODE,
                .sdev_major = fs->sdev_major,
                .sdev_minor = fs->sdev_minor,
                .handle = p->handle,
        };
        struct mark *mark;

        if (markset_get(&g->plan->wanted, &main_group, &object, p->resolved, &mark) < 0) {
                g->no_memory = true;
                return NULL;
        }
        return mark;
}

/* What a filesystem's mark asks for and an ignore can take out. */
static uint32_t ignorable_events(const struct ignorer *g, uint64_t requested)
{
        return vocab_from_fan(requested) & UNWANTED_ALL &
               ~(g->settings->process_tracking ? (uint32_t)EV_OPEN_EXEC : 0);
}

/* Why no mark can be placed on what the path leads to; NULL when one can. */
static const char *obstacle(const struct ignorer *g, const struct world_path *p)
{
        const struct world_fs *fs;
        uint64_t requested;

        if (!p || !p->exists || p->mount == WORLD_NONE)
                return "it does not exist: learned when it does";
        fs = &g->world->fs[g->world->mounts[p->mount].fs];
        requested = g->terms[g->world->mounts[p->mount].fs].requested;
        if (world_fs_by_directories(fs))
                return "directory marks: none is placed below what is ignored whole, the rest is filtered";
        if (ignorable_events(g, requested) == 0)
                return "no rule watches anything on its filesystem";
        if (world_fs_may_hang(fs) || world_mount_may_hang(g->world, p->mount))
                return "its filesystem may not answer";
        if (p->handle.len == 0)
                return "its filesystem gives no file handle for it";
        return NULL;
}

static void place_dir(struct ignorer *g, const struct clause *ignore, const struct world_path *p)
{
        uint32_t fs = g->world->mounts[p->mount].fs;
        const struct match_path dir = { .fs = fs, .path = p->inside, .len = strlen(p->inside) };
        struct mark planned = {}, *mark;
        struct unwanted u;

        if (unwanted_in_dir(g->m, &dir, &u) < 0) {
                g->no_memory = true;
                return;
        }
        plan_ignore_dir(&g->terms[fs], u.events, &planned);
        if (planned.ignore_mask == 0) {
                note(g, ignore, p->path, IGNORE_IN_USERSPACE,
                     u.reason == UNWANTED_ANCESTOR
                                     ? "a rule's path lies below: its directory must be seen"
                                     : "all that is asked for on its filesystem is wanted there");
                return;
        }
        mark = get_mark(g, p);
        if (!mark)
                return;
        mark->mask |= planned.mask;
        mark->ignore_mask |= planned.ignore_mask;
        mark->ignore_surv = planned.ignore_surv;
        mark->ignore_new = planned.ignore_new;
        note(g, ignore, p->path, IGNORE_IN_KERNEL,
             ignore->scope == SCOPE_TREE ? "each directory below is learned with its first event" : NULL);
}

static void place_file(struct ignorer *g, const struct clause *ignore, const struct world_path *p)
{
        uint32_t fs = g->world->mounts[p->mount].fs;
        const struct match_path file = { .fs = fs, .path = p->inside, .len = strlen(p->inside) };
        struct mark planned = {}, *mark;
        struct unwanted u;

        if (p->nlink != 1) {
                note(g, ignore, p->path, IGNORE_IN_USERSPACE, "it has other names, which may be watched");
                return;
        }
        if (unwanted_of_file(g->m, &file, &u) < 0) {
                g->no_memory = true;
                return;
        }
        plan_ignore_file(&g->terms[fs], u.events, &planned);
        if (planned.ignore_mask == 0) {
                note(g, ignore, p->path, IGNORE_IN_USERSPACE,
                     "all that is asked for on its filesystem is wanted of it");
                return;
        }
        mark = get_mark(g, p);
        if (!mark)
                return;
        mark->mask |= planned.mask;
        mark->ignore_mask |= planned.ignore_mask;
        mark->ignore_surv = planned.ignore_surv;
        mark->ignore_new = planned.ignore_new;
        note(g, ignore, p->path, IGNORE_IN_KERNEL, NULL);
}

static bool is_directory(const struct world_path *p)
{
        return p->type == TYPE_DIRECTORY;
}

static void place(struct ignorer *g, const struct clause *ignore, const char *path)
{
        const struct world_path *p = world_find_path(g->world, path);
        const char *why_not = NULL;

        if (!g->settings->kernel_ignores)
                why_not = "kernel_ignores is off";
        else if (ignore->match.n > 0 || ignore->types != 0 || !actors_empty(&ignore->actors))
                why_not = "the kernel knows no patterns, types and actors";
        if (why_not) {
                note(g, ignore, path, IGNORE_IN_USERSPACE, why_not);
                return;
        }
        if (ignore->scope == SCOPE_MOUNT || ignore->scope == SCOPE_FILESYSTEM) {
                note(g, ignore, path, IGNORE_NOT_ASKED, "what no rule wants in spite of it is not asked for");
                return;
        }
        why_not = obstacle(g, p);
        if (why_not)
                note(g, ignore, path, IGNORE_IN_USERSPACE, why_not);
        else if (ignore->until_modified && p->nlink != 1)
                note(g, ignore, path, IGNORE_IN_USERSPACE, "it has other names, which may be watched");
        else if (ignore->until_modified && !(g->terms[g->world->mounts[p->mount].fs].requested & FAN_ATTRIB))
                note(g, ignore, path, IGNORE_IN_USERSPACE,
                     "no rule asks for attrib on its filesystem: a second name would go unseen");
        else if (ignore->until_modified)
                note(g, ignore, path, IGNORE_UNTIL_MODIFIED, "placed and taken off as the file changes");
        else if (!is_directory(p))
                place_file(g, ignore, p);
        else if (ignore->scope == SCOPE_FILE)
                note(g, ignore, path, IGNORE_IN_USERSPACE,
                     "it is a directory: its mask would take in what is below (scope = \"directory\")");
        else
                place_dir(g, ignore, p);
}

/*
 * A file that a rule follows by its object may get a second name in a directory that
 * is ignored: then that directory must tell what happens to its children.  The link
 * is told by the file's attrib.
 */
static void watch_links(struct ignorer *g, const struct world_path *p)
{
        uint32_t fs, wanted;
        struct match_path path;
        struct mark *mark;

        if (!p->exists || p->type == TYPE_DIRECTORY || p->nlink != 1 || obstacle(g, p))
                return;
        fs = g->world->mounts[p->mount].fs;
        path = (struct match_path){ .fs = fs, .path = p->inside, .len = strlen(p->inside) };
        if (g->terms[fs].requested & FAN_ATTRIB)
                return;
        if (unwanted_not_by_alias(g->m, &path, &wanted) < 0)
                g->no_memory = true;
        else if ((vocab_to_fan(wanted) & g->terms[fs].requested) != 0 && (mark = get_mark(g, p)))
                mark->mask |= FAN_ATTRIB;
}

static void cover_less(struct coverage *c, uint32_t unwanted)
{
        c->events &= ~unwanted;
        c->follows_names = c->follows_names && !(unwanted & (EV_RENAME | EV_DELETE));
}

/* What is not wanted anywhere on a filesystem or mount is not asked for. */
static void ask_less(struct ignorer *g)
{
        struct markset *wanted = &g->plan->wanted;

        for (size_t i = wanted->n; i-- > 0;) {
                struct mark *mark = &wanted->marks[i];
                uint32_t fs = WORLD_NONE, unwanted = 0;

                if (mark->object.kind == MARK_FILESYSTEM) {
                        fs = world_find_fs(g->world, mark->object.sdev_major, mark->object.sdev_minor);
                        unwanted = fs == WORLD_NONE ? 0 : unwanted_on_fs(g->m, fs);
                        if (g->settings->process_tracking)
                                unwanted &= ~(uint32_t)EV_OPEN_EXEC;
                } else if (mark->object.kind == MARK_MOUNT) {
                        unwanted = unwanted_on_mount(g->m, mark->object.mount_id);
                }
                if (unwanted & EV_RENAME)
                        unwanted |= EV_MOVED_FROM | EV_MOVED_TO;
                mark->mask &= ~vocab_to_fan(unwanted);
                for (size_t k = 0; fs != WORLD_NONE && k < g->plan->n_coverage; k++)
                        if (g->plan->coverage[k].fs == fs)
                                cover_less(&g->plan->coverage[k], unwanted);
                if ((mark->mask & ~(uint64_t)(FAN_ONDIR | FAN_EVENT_ON_CHILD)) == 0)
                        markset_remove(wanted, mark);
        }
}

/*
 * A directory takes its ignore along when it is moved, which must be seen: so where anything can be left
 * out renames are asked for, whether or not a rule wants them.
 */
static void ask_for_moves(struct ignorer *g)
{
        const uint64_t moves = FAN_ONDIR | (g->world->kernel.rename ? FAN_RENAME : FAN_MOVED_FROM | FAN_MOVED_TO);

        for (uint32_t i = 0; i < g->world->n_fs; i++) {
                struct mark *mark = filesystem_mark(g->plan, &g->world->fs[i]);
                uint32_t events = mark ? ignorable_events(g, mark->mask) : 0;

                if (events == 0 || plan_sees_moves(mark->mask) || world_fs_may_hang(&g->world->fs[i]) ||
                    !unwanted_somewhere(g->m, i, events))
                        continue;
                mark->mask |= moves;
                for (size_t k = 0; k < g->plan->n_coverage; k++)
                        if (g->plan->coverage[k].fs == i)
                                g->plan->coverage[k].moves_for_ignores = true;
        }
}

static int begin(struct ignorer *g)
{
        size_t n = 0;

        for (size_t i = 0; i < g->rules->n_ignores; i++)
                n += g->rules->ignores[i].paths.n;
        g->plan->ignores = arena_alloc_array(g->plan->arena, n, sizeof(*g->plan->ignores));
        g->terms = arena_alloc_array(g->plan->arena, g->world->n_fs, sizeof(*g->terms));
        if (!g->plan->ignores || !g->terms)
                return -ENOMEM;
        if (g->settings->kernel_ignores) {
                ask_less(g);
                ask_for_moves(g);
        }
        for (uint32_t i = 0; i < g->world->n_fs; i++) {
                int r = plan_ignore_terms(g->plan, g->settings, g->m, i, &g->terms[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}

int plan_ignores(struct plan *plan, const struct rules *rules, const struct settings *settings,
                 const struct matcher *m)
{
        struct ignorer g = {
                .plan = plan,
                .rules = rules,
                .settings = settings,
                .world = matcher_world(m),
                .m = m,
        };
        int r = begin(&g);

        if (r < 0)
                return r;
        for (size_t i = 0; i < rules->n_ignores; i++)
                for (size_t k = 0; k < rules->ignores[i].paths.n; k++)
                        place(&g, &rules->ignores[i], rules->ignores[i].paths.v[k]);
        for (uint32_t i = 0; settings->kernel_ignores && i < g.world->n_paths; i++)
                watch_links(&g, &g.world->paths[i]);
        return g.no_memory ? -ENOMEM : 0;
}
