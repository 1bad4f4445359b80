/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Rules follow names: each directory in which a name on the way to a rule's path is
 * looked up must tell of names that come and go.  The filesystem's mark does where some
 * rule asks for creations, removals and renames; where none does, these few
 * directories get a mark of their own, so that nobody else pays.
 */

#include "plan.h"

/* The directory that holds the name, where a mark of its own can be placed on it; else NULL. */
const struct world_dir *plan_dir_of(const struct world *world, const char *name);
/* Adds the marks to plan->wanted, whose filesystem marks are final.  Returns 0 or -ENOMEM. */
int plan_above(struct plan *plan, const struct rules *rules, const struct world *world);
