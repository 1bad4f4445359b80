/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Ignores until = "modified": the ignore mask without FAN_MARK_IGNORED_SURV_MODIFY,
 * which the kernel clears with the first modification.  Two traps are its business:
 * while the file is open for writing the call succeeds and places nothing
 * (fanotify_mark_add_ignore_mask()), and a mark whose ignore mask was cleared keeps
 * the file's interest in FAN_MODIFY, so that every write goes on paying, until its
 * mask is changed (fsnotify_recalc_mask()).
 *
 * Only the kernel's half: the matcher ignores, and stops to, by itself.
 */

#include "counters.h"
#include "generation.h"
#include "marks.h"
#include "resolve.h"

struct until;

struct until_params {
        struct counters *counters;
        struct resolver *resolver;
        struct marks *marks;
};
int until_new(const struct until_params *params, struct until **ret);
void until_free(struct until *u);
DEFINE_CLEANUP(struct until, until_free);

/* Other groups, which have none of our marks: those of before are forgotten, not taken off.  A generation
 * must be set next. */
void until_set_marks(struct until *u, struct marks *marks);
/* What the plan wants and the matcher does not hold for spent is placed, what stands stays. */
void until_set_generation(struct until *u, const struct generation *g);

/* An event of this object: FAN_ bits.  is_moved: its name is another now, or it has one more. */
void until_event(struct until *u, const struct fan_handle *object, uint64_t events, bool is_moved);
/* A directory has left this path with all that is below: what was there goes by other names now.  path NULL:
 * nobody knows where it was. */
void until_moved_below(struct until *u, uint64_t fsid, const struct match_path *old_path);
/* This ignore (index in rules->ignores) is spent. */
void until_spend(struct until *u, uint32_t ignore);

enum until_state { UNTIL_NONE, UNTIL_PLACED, UNTIL_PENDING };
/* Of the ignore of this index at this path of its. */
enum until_state until_state(const struct until *u, uint32_t ignore, const char *path);
const char *
until_state_name(enum until_state s); /* "in userspace", "in the kernel", "pending: open for writing" */

/* Is this mark one of ours?  Its ignore mask may be cleared already. */
bool until_knows(const struct until *u, const struct mark *actual);
/* Adds copies of these marks, as they were placed.  0 or -ENOMEM. */
int until_list(const struct until *u, struct markset *ret);
/* The path of the ignore that this mark is for; NULL: it is not one of ours. */
const char *until_where(const struct until *u, const struct mark *actual);
size_t until_count(const struct until *u);
