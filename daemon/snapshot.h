/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* A copy of an event that outlives its batch. */

#include "event.h"
#include "match.h"

struct snapshot {
        struct event event; /* points at actor */
        struct actor actor;
        struct match_hits hits;
};
/*
 * One allocation with all the event refers to; free() it.  NULL: memory was short.
 * ancestors: with the actor's ancestor_exes, for rules that are still to be asked;
 * records have no use for them.
 */
struct snapshot *snapshot_new(const struct event *e, const struct match_hits *hits, bool ancestors);
/* A later event of the same window. */
void snapshot_update(struct snapshot *s, const struct event *e);
