/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Owns the groups and what is placed in them.  `placed` changes only by what
 * fanotify_mark(2) returned, or by what the kernel dropped (unmount).
 */

#include "fan_group.h"
#include "markdiff.h"

struct marks;

/* One fanotify_mark call on a group: the kernel, or a fake of it in tests. */
typedef int (*mark_function)(void *userdata, const struct mark_op *op);

struct marks_params {
        const struct kernel_abilities *kernel; /* copied */
        bool queue_unlimited;                  /* for groups that are opened from now on */
        /* tests: every call goes here and no group is opened; NULL = the kernel */
        mark_function mark;
        /* groups of a process before (taken over, also on failure), and what was found placed in
         * them, which becomes empty */
        struct fan_group **adopted;
        size_t n_adopted;
        struct markset *found;
        /* a group was opened, or is about to be closed; may be NULL */
        void (*group_changed)(void *userdata, struct fan_group *g, bool opened);
        void *userdata;
};
/* Opens the main group, unless it was adopted.  Returns what fan_group_open() returns. */
int marks_new(const struct marks_params *params, struct marks **ret);
void marks_free(struct marks *m);
DEFINE_CLEANUP(struct marks, marks_free);

struct mark_failure {
        struct mark_object object;
        struct group_key group;
        int error;   /* positive errno */
        uint64_t uncovered; /* mask bits that could not be added: other marks of the same filesystem keep
                               theirs */
        char *where;
};

/*
 * Executes widening ops.  An op that fails with a shortage (ENOMEM, ENOSPC,
 * EMFILE) takes back all that was done and returns that error: nothing has
 * changed.  An op that the object refuses (any other errno) is noted as a failure
 * and the rest goes on.  Returns 0 or the negative errno of the shortage.
 */
int marks_widen(struct marks *m, const struct markdiff *d);
/* Marks that were found, not placed by us, have no path: they take the wanted ones'. */
void marks_name(struct marks *m, const struct markset *wanted);
/* Executes narrowing ops; errors only mean surplus events, they are noted. Mount
 * groups without marks are closed. */
void marks_narrow(struct marks *m, const struct markdiff *d);

/*
 * One op on an inode of the main group by a descriptor of it, outside of any
 * transaction.  What is placed is changed where the mark is in it; a mark of which
 * placed knows nothing is the caller's to remember.  Returns 0 or a negative errno.
 */
int marks_at(struct marks *m, const struct mark_op *op, int fd);
/*
 * A group for marks that are the caller's own to place and to remember; it stays open, with marks or
 * without, until it is released.  Returns 0 or what fan_group_open() returns.
 */
int marks_hold_group(struct marks *m, const struct group_key *key, struct fan_group **ret);
void marks_release_group(struct marks *m, const struct group_key *key);
/* The kernel dropped this mark, or its object is gone. */
void marks_forget(struct marks *m, const struct mark_object *object);

const struct markset *marks_placed(const struct marks *m);
/* The failures since the last marks_widen() began; valid until the next call. */
const struct mark_failure *marks_failures(const struct marks *m, size_t *ret_n);

/* Groups in force, for the loop: main first.  Valid until the next widen or narrow. */
size_t marks_groups(const struct marks *m, struct fan_group *const **ret);

/*
 * Compares placed with what the kernel has and corrects placed to it.  Marks that vanished or
 * differ are appended as text to report (may be NULL).  Where evictable marks forbid to read
 * the main group's fdinfo, its placed marks are asked for one by one: one that is gone is a
 * difference; bits that came or went are put right at once, and nobody can say that they
 * were.  Returns the number of differences, or a negative errno.
 */
struct marks_known { /* marks beside the placed ones: what is known is no difference, or is a repaired one */
        enum marks_is { MARKS_NOT_OURS, MARKS_AS_KNOWN, MARKS_REPAIRED } (*check)(void *userdata,
                                                                                  const struct mark *actual);
        bool evictable; /* there may be some in the main group */
        void *userdata;
};
int marks_verify(struct marks *m, const struct marks_known *known, struct strbuf *report);
/* Takes out of placed the marks that were found, are not wanted by the plan, and are known to be others'. */
void marks_leave_to_others(struct marks *m, const struct markset *wanted, const struct marks_known *known);
/* Takes out of placed the ignore marks that were found and may have been placed when events came:
 * evictable ones, and those that are not wanted. */
void marks_take_learned(struct marks *m, const struct markset *wanted, struct markset *ret);
