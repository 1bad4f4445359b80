/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Who did it, answered from the table of processes: also of those that are gone. */

#include "attribute.h"
#include "proc_events.h"

struct tracked;

int tracked_new(struct proc_events *events, struct names *names, struct counters *counters,
                struct tracked **ret);
void tracked_free(struct tracked *t);
DEFINE_CLEANUP(struct tracked, tracked_free);

void tracked_set_mask(struct tracked *t, const struct strings *mask);
void tracked_set_exec_filesystems(struct tracked *t, const struct exec_filesystem *v, size_t n);
/* As attributor_begin_batch(). */
void tracked_begin_batch(struct tracked *t, uint64_t lo_usec, uint64_t hi_usec);
void tracked_end_batch(struct tracked *t);

/* False when the table does not say whose event it is. */
bool tracked_find(struct tracked *t, const struct attribution_query *q, bool alive, struct attributed *ret);
/* As attributor_exec(). */
void tracked_exec(struct tracked *t, int32_t pid, const struct fan_handle *file, bool merged);
/* Events were lost from the queue. */
void tracked_queue_lost(struct tracked *t);
