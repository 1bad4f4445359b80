/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * From one generation to the next without losing an event: widen the marks,
 * drain the queue under the old rules, swap, narrow the marks.  At every moment
 * the marks in force ask for all that the rules in force want.
 */

#include "street.h"

struct reload_result {
        size_t marks_added, marks_removed, marks_changed;
        size_t marks_failed;          /* refused by their objects: gaps, tried again */
        int error;                    /* positive errno of the shortage that refused the reload, or 0 */
};

/* The placed marks against what the kernel has; differences are corrected in what we believe.  As
 * marks_verify(). */
int reload_verify(struct street *s, struct strbuf *report);

/* All marks, for people: as the kernel shows them, those of a group with evictable marks as we believe.
 * 0 or a negative errno. */
int reload_list_marks(const struct street *s, struct markset *ret);

/* Places what a verification found missing.  Returns 0 or a negative errno. */
int reload_repair(struct street *s, const struct generation *g);

/* What would change, without changing anything. */
void reload_compare(const struct street *s, const struct generation *after, struct reload_result *ret);

/*
 * Takes `after` into force.  before is NULL at start.  On success the caller may
 * free before: nothing refers to it any more.  On failure (a shortage of memory,
 * marks or groups: result->error) before stays in force, whole, and its marks are
 * as they were.  Returns 0 or that negative errno.
 */
int reload_apply(struct street *s, const struct generation *before, const struct generation *after,
                 struct reload_result *ret);
