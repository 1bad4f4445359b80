/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * (placed, wanted) → the fanotify_mark calls that lead from one to the other in
 * two lists: widening first (more events arrive after each), narrowing after the
 * rules were swapped (fewer).  At every prefix of the first the coverage holds
 * what was placed, at every prefix of the second what is wanted.  That holds
 * because for one group the kernel reports an event when it is in the union of
 * the masks of the marks it meets and not in the union of their ignore masks
 * (send_to_group() and fanotify_group_event_mask()): more mask bits never lose
 * an event, fewer ignore bits neither.
 *
 * Masks are only changed in place; an ignore mask that must change its kind
 * (surviving, evictable) is taken off in the first list and put on in the second.
 */

#include "markset.h"

struct mark_op { /* exactly one fanotify_mark call */
        struct group_key group;
        struct mark_object object;
        bool add;      /* FAN_MARK_ADD, else FAN_MARK_REMOVE */
        bool ignore;   /* acts on the ignore mask */
        bool ignore_surv, ignore_new, evictable;
        bool may_hang; /* as in struct mark */
        uint64_t bits;
        const char *where; /* of the wanted mark, borrowed; of one that only goes, a copy in the markdiff */
};

struct markdiff {
        struct mark_op *widen, *narrow;
        size_t n_widen, n_narrow;
        char **copies; /* of paths of marks that go: placed changes while the ops are made */
        size_t n_copies;
};
void markdiff_done(struct markdiff *d);
#define _cleanup_markdiff_ _cleanup_(markdiff_done)

/* Borrows `where` from wanted, which must outlive it.  0 or -ENOMEM. */
int markdiff_build(const struct markset *placed, const struct markset *wanted, struct markdiff *ret);
/* What a successful op does to the placed set (finds, inserts or removes the mark).  0 or -ENOMEM. */
int mark_op_apply(struct markset *placed, const struct mark_op *op);
/* The op that takes back a successful widening. */
struct mark_op mark_op_inverse(const struct mark_op *op);
