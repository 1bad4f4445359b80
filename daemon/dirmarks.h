/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Marks on directories, where a filesystem takes none for the whole of it: which
 * directories have one, under which path, and what is being done about the rest.
 *
 * A walk in a thread of its own for each filesystem marks what is there; one that hangs
 * keeps no other waiting.  From then on the events themselves keep the table true
 * (dirs_follow.c).  Where the fsid says nothing the marks are in a group of their own.
 */

#include "counters.h"
#include "dirtable.h"
#include "dirwalk.h"
#include "generation.h"
#include "marks.h"
#include "resolve.h"

struct dirmarks;

struct dirmarks_params {
        struct counters *counters;
        struct resolver *resolver;
        struct marks *marks;
        uint64_t (*realtime_usec)(void);
        uint64_t (*monotonic_usec)(void);
};
int dirmarks_new(const struct dirmarks_params *params, struct dirmarks **ret);
/* The marks stay with their groups.  A walk that hangs keeps what it uses. */
void dirmarks_free(struct dirmarks *d);
DEFINE_CLEANUP(struct dirmarks, dirmarks_free);

/* ---- generations ---- */

/* Other groups, which have none of our marks. */
void dirmarks_set_marks(struct dirmarks *d, struct marks *marks);
/*
 * Before `after` is in force: opens groups and begins the walks for what it wants, and waits for short ones.
 * watched_usec (realtime; 0 = not known): until then a process before has judged the events of the groups
 * that it left.
 */
void dirmarks_begin(struct dirmarks *d, const struct generation *after, uint64_t watched_usec);
/* It is in force: what it does not want any more goes. */
void dirmarks_set_generation(struct dirmarks *d, const struct generation *g);

/* ---- walks ---- */

/* Readable when dirmarks_take() has something to do. */
int dirmarks_fd(const struct dirmarks *d);
/* Takes in what the walks have marked. */
void dirmarks_take(struct dirmarks *d);
/* Events of this group were lost, renames among them: all of its directories are looked at anew. */
void dirmarks_walk_again(struct dirmarks *d, const struct group_key *group);

/* ---- events ---- */

/* Is this filesystem, of the generation in force, watched by directory marks? */
bool dirmarks_watches(const struct dirmarks *d, uint32_t fs);
struct dirtable *dirmarks_table(struct dirmarks *d);
/* What the directory at this path is to be marked with. */
struct placed_here dirmarks_wanted(const struct dirmarks *d, uint32_t fs, const char *path, size_t len);
/* Nothing of this filesystem was watched before, by realtime. */
uint64_t dirmarks_since(const struct dirmarks *d, uint32_t fs);
/*
 * Marks the directory at a path with all below it that is wanted there, and takes them into the table; what
 * changed in them since is in the list (emptied first), which the caller reports.  0; -ENOENT (another
 * directory is there by now, or none); -ETIMEDOUT; other negative errno, which is also kept for the status.
 */
int dirmarks_adopt(struct dirmarks *d, uint32_t fs, const char *path, const struct fan_handle *expected,
                   uint64_t since_usec, struct dirlist *ret);
/* The marks of a directory, and of all below it, are what its path asks for; never more are placed. */
void dirmarks_narrow(struct dirmarks *d, uint32_t fs, struct dirtable_dir *dir);

/* ---- verification, status ---- */

/* Is it on a filesystem that is watched by directory marks, in their group?  Not all of them are in the table:
 * a directory that was moved to where nothing is marked keeps its own, and nobody can find it there. */
bool dirmarks_knows(const struct dirmarks *d, const struct mark *actual);

struct dirmarks_status { /* of one filesystem, or of all together */
        size_t marks;    /* in the table, of all filesystems */
        size_t max;
        bool walking;
        size_t failed;   /* directories that could not be marked or read */
        int error;       /* positive errno of the first, ENOSPC: no room for more marks; 0 */
};
/* The next filesystem whose error is another than when it was given here last; false: there is none. */
bool dirmarks_next_news(struct dirmarks *d, uint32_t *ret_fs);
/* fs WORLD_NONE: of all. */
void dirmarks_status(const struct dirmarks *d, uint32_t fs, struct dirmarks_status *ret);
