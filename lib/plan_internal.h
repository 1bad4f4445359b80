/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* What the files of the planner share; nobody else includes it. */

#include "plan.h"

/* Who asked for an event that everybody on the filesystem pays for. */
struct asker {
        const char *rule, *path;
        size_t n_more;
};

/* The events that make others pay, in the order of enum; plan_price.c has the words. */
enum price { PRICE_MODIFY, PRICE_ATTRIB, PRICE_ACCESS, PRICE_OPEN, PRICE_CLOSE_NOWRITE };
#define N_PRICES 5

/* What the rules ask of one filesystem. */
struct demand {
        bool reached;    /* some rule's path or tree covers it, or part of it */
        bool refused;    /* a gap of a rule says already that the kernel takes no mark */
        bool by_mount;   /* ... by a mount mark */
        uint32_t events; /* EV_ bits for the filesystem mark */
        uint32_t mount_events; /* ... that mount marks there ask for */
        bool directories;
        uint32_t whole;  /* events asked for everywhere on it: nobody pays for another's rule */
        struct asker askers[N_PRICES];
};

struct planner {
        const struct rules *rules;
        const struct settings *settings;
        const struct world *world;
        struct plan *plan;
        struct demand *demands; /* world->n_fs */
        bool no_memory;         /* sticks; looked at once at the end */
};

/* One gap more.  Rule and path are copied; the reason is printed into the arena. */
struct gap_facts {
        enum gap_kind kind;
        enum gap_weight weight;
        const char *rule, *path;
        int error;
};
void planner_gap(struct planner *pl, const struct gap_facts *facts, const char *format, ...) _printf_(3, 4);

/* plan_gaps.c */
void planner_gap_no_mark(struct planner *pl, const char *rule, const char *path, const struct world_fs *fs);
void planner_gap_error(struct planner *pl, const char *rule, const struct world_path *path);
void planner_gap_missing(struct planner *pl, const char *rule, const struct world_path *path);
void planner_gap_no_mountpoint(struct planner *pl, const struct rule *rule, const char *path,
                               const char *resolved);
void planner_gaps_kernel(struct planner *pl);
void planner_gaps_filesystems(struct planner *pl);
void planner_gaps_names(struct planner *pl);
const char *planner_no_mark_advice(int error) _pure_;

/* plan_dirs.c: filesystems that take no filesystem mark, but marks on directories. */
/* A rule's own path there, and everything below a mount. */
void planner_dirs_path(struct planner *pl, const struct rule *rule, uint32_t events, const struct world_path *p);
void planner_dirs_tree(struct planner *pl, uint32_t events, uint32_t fs, const char *inside);
/* The directories above a path, which tell when it, or what leads to it, is another. */
void planner_dirs_above(struct planner *pl, const char *path);
/* What is ignored whatever happens needs no marks. */
void planner_dirs_ignores(struct planner *pl);

/* plan_price.c */
void planner_ask(struct planner *pl, uint32_t fs, const char *rule, const char *path, uint32_t events);
void planner_prices(struct planner *pl);

static inline const char *planner_mountpoint(const struct planner *pl, const struct world_fs *fs)
{
        return fs->canonical_mount == WORLD_NONE ? "" : pl->world->mounts[fs->canonical_mount].mountpoint;
}
