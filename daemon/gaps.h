/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Where not everything is known: the record that says so, the scan that finds what can
 * still be found, and the kernel's queue, whose growth is watched before it comes to that.
 */

#include "daemon_state.h"

struct gap_note;

/* Records the gap and, with recover = true, starts looking for what happened in it. */
void gaps_note(struct daemon *d, const struct gap_note *gap);
/* Looks for what happened since then: the gap itself was recorded. */
void gaps_recover(struct daemon *d, uint64_t from_usec);
/*
 * The world is another now than that of `before`, and began to be at changed_usec: what is unmounted is
 * remembered, and, with recover = true, what is mounted (again) is looked at for what happened
 * since it was last watched, or since it was mounted.
 */
void gaps_mounts(struct daemon *d, const struct generation *before, uint64_t changed_usec);
/* Records what was found, as far as the log has room.  True: more waits; call again soon. */
bool gaps_take(struct daemon *d);

/* Call when a queue was not emptied: looks at most once a second how long it is, and
 * lets the pipeline shed what is least urgent while it is too long. */
void gaps_watch_queue(struct daemon *d);
