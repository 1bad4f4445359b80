/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* What the files of dirmarks share; nobody else includes it. */

#include "dirmarks.h"

/* What of one filesystem is to be marked, in which group: shared with threads, never changed. */
struct dirplan {
        atomic_uint users;
        struct arena *arena;
        struct placing placing; /* of this filesystem alone, as number 0 */
        uint32_t structure;
        int group_fd; /* our own duplicate */
};
int dirplan_new(const struct generation *g, uint32_t fs, int group_fd, struct dirplan **ret);
struct dirplan *dirplan_ref(struct dirplan *p);
void dirplan_unref(struct dirplan *p);
bool dirplan_equal(const struct dirplan *a, const struct dirplan *b) _pure_;

/* dirmarks_walk.c: the walk over one filesystem from its root, in a thread. */
struct dirs_walk;
/* event_fd is duplicated, and written to when there is something to take. */
int dirs_walk_start(const struct world *w, uint32_t fs, struct dirplan *plan, size_t room, int event_fd,
                    struct dirs_walk **ret);
/* Ends it when it can, and forgets it; accepts NULL. */
void dirs_walk_free(struct dirs_walk *w);
/* Swaps what it has found into the list.  True when it is over and nothing is left in it. */
bool dirs_walk_take(struct dirs_walk *w, struct dirlist *list);
/* Once it is over. */
void dirs_walk_result(struct dirs_walk *w, size_t *ret_failed, int *ret_error);

struct dirs_fs { /* one filesystem */
        uint32_t fs; /* of the generation in force; WORLD_NONE: it has none yet */
        uint32_t sdev_major, sdev_minor;
        uint64_t fsid;
        int mount_id; /* of its canonical mount */
        struct group_key group;
        struct dirplan *plan;
        struct dirs_walk *walk; /* NULL: over */
        bool replanned;         /* marks may hold more than what is wanted now */
        bool correct;           /* what it finds is right, and not the table */
        uint64_t since_usec;
        size_t failed;
        int error, told; /* of the first failure; the one that dirmarks_next_news() gave last */
};

/* dirmarks_change.c: marks that directories lose. */
void dirs_take_all_off(struct dirmarks *d, struct dirs_fs *f);
void dirs_narrow_all(struct dirmarks *d, struct dirs_fs *f);
/* dirmarks.c */
void dirs_note_failure(struct dirmarks *d, struct dirs_fs *f, int error);
struct dirs_fs *dirs_find(const struct dirmarks *d, uint32_t fs);
void dirs_take_list(struct dirmarks *d, struct dirs_fs *f, const struct dirlist *l, bool listed);

struct dirmarks {
        struct dirmarks_params params;
        const struct generation *generation;
        struct dirtable *table;
        struct dirs_fs **fs;
        size_t n_fs;
        size_t max;
        int event_fd;
        struct dirlist list;
};
