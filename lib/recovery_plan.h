/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * What a look after a gap looks at, and what the times of a file say: the decisions of
 * daemon/recover.c, and which filesystems were away for a while.
 */

#include "rules.h"
#include "world.h"

#define RECOVERY_MAX_DEPTH 512u

struct recovery_root {
        char *path;
        unsigned depth; /* levels below it: 0 = itself alone */
        bool one_mount;
        uint64_t from_usec; /* what happened before is known */
};

struct recovery_plan { /* zero is an empty one */
        struct recovery_root *roots;
        size_t n, cap;
        int *quiet_mounts; /* ids of mounts that are not entered: pseudo, or they may hang */
        size_t n_quiet_mounts;
};
void recovery_plan_done(struct recovery_plan *p);

/*
 * What the rules watch in this world, since then; where mountpoint is given, what of it is on
 * the filesystem mounted there.  What is in the plan already is looked at once, from the
 * earlier moment on.  Returns 0 or -ENOMEM.
 */
int recovery_plan_add(struct recovery_plan *p, const struct rules *rules, const struct world *world,
                      const char *mountpoint, uint64_t from_usec);
uint64_t recovery_plan_from(const struct recovery_plan *p) _pure_; /* the earliest; 0 = nothing is planned */
bool recovery_plan_is_quiet(const struct recovery_plan *p, uint64_t mount_id) _pure_;

struct recovery_times {
        bool is_dir;
        uint64_t mtime_usec, ctime_usec;
        uint64_t btime_usec; /* 0: the filesystem keeps none */
};
/*
 * What may have happened to it since then, EV_ bits: with a margin for filesystems whose clock
 * goes in steps.  The mtime of a directory says that a name came or went, not which.
 */
uint32_t recovery_events(const struct recovery_times *t, uint64_t from_usec) _pure_;

/* ---- filesystems that were unmounted ---- */

struct recovery_gone { /* zero is an empty one */
        struct recovery_away {
                uint64_t fsid, since_usec;
                char *mountpoint;
        } *v;
        size_t n;
};
#define RECOVERY_MAX_GONE 256u
void recovery_gone_done(struct recovery_gone *g);
/* It was watched, and is away since then.  When too many are, the oldest is forgotten.
 * Returns 0 or -ENOMEM. */
int recovery_gone_add(struct recovery_gone *g, uint64_t fsid, const char *mountpoint, uint64_t since_usec);
/* It is there (again): since when it was away, by its identity, else by its place; 0 = not known.  Forgets it. */
uint64_t recovery_gone_take(struct recovery_gone *g, uint64_t fsid, const char *mountpoint);
/* Is this filesystem of one world in the other, too? */
bool recovery_same_filesystem(const struct world_fs *fs, const struct world *other) _pure_;
