/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Ignore marks that events ask for.  When an event arrives that no rule wants, its
 * directory gets an ignore mark for exactly the bits that no rule can want there:
 * one event a directory instead of one a file, and no walk at start.
 *
 * Marks follow the inode, rules the name.  So the table also knows the paths: what is
 * moved loses its mark, and so does everything below it.  It holds the planned ignore
 * marks too, which move in the same way.
 *
 * Only the main group, and only filesystems on which renames are seen.
 */

#include "counters.h"
#include "generation.h"
#include "marks.h"
#include "plan_ignore.h"
#include "resolve.h"

struct learn;

struct learn_params {
        struct counters *counters;
        struct resolver *resolver;
        struct marks *marks;
        uint64_t (*monotonic_usec)(void);
        uint64_t (*file_usec)(void); /* the clock of file times, CLOCK_REALTIME_COARSE */
        size_t max_marks;
        bool evictable; /* FAN_MARK_EVICTABLE is there; else fewer marks are placed, which pin their inodes */
};
int learn_new(const struct learn_params *params, struct learn **ret);
/* The marks stay with their group. */
void learn_free(struct learn *l);
DEFINE_CLEANUP(struct learn, learn_free);

/* ---- generations ---- */

/* Other groups, which have none of our marks: those of before are forgotten, not taken off. */
void learn_set_marks(struct learn *l, struct marks *marks);
/* `after` (borrowed) will be in force: its rules are asked about each learned mark.  From here on nothing is learned,
 * since the rules in force would be asked, which no longer count. */
void learn_correct(struct learn *l, const struct generation *after);
/* Takes from the next LEARN_SLICE marks what those rules want, and all of it where their settings or the
 * filesystem's mark allow none.  True when there are more: events may be judged in between, so that very many
 * marks do not hold them up. */
bool learn_correct_slice(struct learn *l);
#define LEARN_SLICE 500u /* 4 to 7 ms where all of them come off (tests/unit/test-ignores-slices.c prints it) */
/* It is in force, and its planned marks are placed. */
void learn_set_generation(struct learn *l, const struct generation *g);
/* It will not be in force: what was corrected is learned again with its next event. */
void learn_resume(struct learn *l);

/* ---- over a crash ---- */

/*
 * Before the first generation is in force: marks that were found in the group and that its plan
 * does not know.  What its rules permit where the object is now is taken into the table, the
 * rest is taken off.  since_usec, on the clock of file times: all that was done before is known,
 * or was nobody's wish.
 */
void learn_inherit(struct learn *l, const struct generation *first, const struct markset *found,
                   uint64_t since_usec);
/* What was taken off, once: an object that was moved where it is wanted, and nothing told of it since. */
typedef void (*learn_astray_fn)(void *userdata, const struct fan_handle *h, bool is_dir,
                                const struct match_path *path, uint64_t since_usec);
/* fn NULL: forgets them. */
void learn_each_astray(struct learn *l, learn_astray_fn fn, void *userdata);
/* The end in good order: takes all that was learned off, and learns no more. */
void learn_retire(struct learn *l);

/* ---- events, in the order of the queue ---- */

/*
 * An event that no rule wants: of a directory's entry or child, or its own.  path is the directory's.
 * epoch says how often the queue had been seen empty before the event was read: one that was queued
 * after its directory's mark was placed shows that the mark is no longer there.
 */
void learn_dir(struct learn *l, const struct fan_handle *dir, const struct match_path *path, uint64_t events,
               uint64_t epoch);
/* ... of an object that an ignore names as a file. */
void learn_file(struct learn *l, const struct fan_handle *file, const struct match_path *path,
                uint64_t events, uint64_t epoch);
/* The path of a rule leads to this object now, or the object's names are others. */
void learn_names(struct learn *l, const struct fan_handle *object, const struct match_path *rule_path);

/* A mark that was taken off because its object moved: what happened there since the move was not seen. */
struct learn_lost {
        const struct fan_handle *handle;
        const char *below; /* its path below what was moved: "" or "/a/b" */
        bool is_dir;
        uint64_t placed_usec; /* on the clock of file times */
};
typedef void (*learn_lost_fn)(void *userdata, const struct learn_lost *lost);
/* An object, with all below it, has left old_path (its path NULL: nobody knows where it was). */
void learn_moved(struct learn *l, const struct fan_handle *object, bool is_dir,
                 const struct match_path *old_path, learn_lost_fn fn, void *userdata);
/* The object has another name, or may have: an ignore mark on it as a file goes, since that name may be
 * watched. */
void learn_linked(struct learn *l, const struct fan_handle *object, learn_lost_fn fn, void *userdata);
/* Has this object an ignore mark?  A quick question for each rename of a file. */
bool learn_has(const struct learn *l, const struct fan_handle *object);
/* The object is no more. */
void learn_gone(struct learn *l, const struct fan_handle *object);
/* Events were lost, and renames may have been among them: takes off all that was learned. */
void learn_reset(struct learn *l);

/* ---- verification, status ---- */

/* Is this a learned mark?  What the kernel has (NULL: nothing) is compared with what we believe; a
 * difference is repaired by forgetting the mark, taking it off if it is there. */
enum learn_check { LEARN_UNKNOWN, LEARN_SAME, LEARN_DIFFERENT };
enum learn_check learn_verify(struct learn *l, const struct mark *actual);

/* The group may hold evictable marks of ours: then its fdinfo is not read. */
bool learn_evictable(const struct learn *l);
/* Adds copies of the learned marks, as they were placed.  0 or -ENOMEM. */
int learn_list(struct learn *l, struct markset *ret);

/* Where a learned mark is, as a path inside its filesystem added to inside; false when it is not known. */
bool learn_where(const struct learn *l, const struct mark *actual, uint32_t *ret_fs, struct strbuf *inside);

struct learn_status {
        size_t dirs, files; /* with a mark that was learned */
        size_t max;
        int error; /* positive errno of the shortage for which no more are placed now, or 0 */
};
void learn_status(const struct learn *l, struct learn_status *ret);
/* The learned mark of a directory by its path; false when there is none. */
bool learn_find(const struct learn *l, uint64_t fsid, const char *path, size_t len, struct mark *ret);
