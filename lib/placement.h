/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Which directory is to have which mark: where a tree is watched by marks on its
 * directories, the answer for each of them, whether it exists yet or not.  Pure; the
 * planner fills it, the walk and the event street ask.
 */

#include "arena.h"
#include "world.h"

struct placement_root {
        uint32_t fs;
        const char *inside; /* path inside the filesystem */
        size_t len;
        uint32_t mask; /* FAN_ bits for the directory itself, ... */
        uint32_t below; /* ... and for all directories below; 0 = none */
        bool skip;      /* an ignore of everything: nothing at or below, whatever asks for it above */
};

struct placing { /* zero is an empty one */
        struct placement_root *roots; /* sorted by filesystem and path; after placement_seal() */
        size_t n, cap;
};
void placement_done(struct placing *p);

/* What every directory with a mark, or above one, is asked for: that its directories come, go and move. */
uint32_t placement_structure(const struct kernel_abilities *kernel) _pure_;

/* What is at one path is added up.  inside is copied to the arena.  0 or -ENOMEM. */
int placement_add(struct placing *p, struct arena *arena, const struct placement_root *root);
/* After the last one, once. */
void placement_seal(struct placing *p);

struct placed_here {
        uint32_t mask;  /* FAN_ bits of the mark of this directory; 0 = none */
        bool descend; /* something below may have one */
};
/* Of the directory at this absolute path of a filesystem. */
struct placed_here placement_at(const struct placing *p, uint32_t fs, const char *path, size_t len,
                                uint32_t structure);
/* Is anything on this filesystem watched by directory marks? */
bool placement_uses(const struct placing *p, uint32_t fs) _pure_;
