/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * pid and pidfd of an event → who, with a bounded cache.  A cached process is
 * held by its own pidfd: as long as that is not reaped, its pid is its own, so a
 * recycled pid is never taken for it.  The program (comm, exe, cmdline) is ordered
 * against the event by the open_exec events of the same queue.
 */

#include "counters.h"
#include "event.h"
#include "settings.h"

struct attributor;
struct names;

int attributor_new(struct counters *counters, struct names *names, size_t max_entries, struct attributor **ret);
void attributor_free(struct attributor *a);
DEFINE_CLEANUP(struct attributor, attributor_free);
void attributor_set_settings(struct attributor *a, const struct settings *s); /* mask_options; drops nothing else */

/* An open_exec of pid was read at this place of the queue: what is cached of
 * its program ends here. */
void attributor_exec(struct attributor *a, int32_t pid);
/*
 * Who caused an event.  pidfd is borrowed (may be negative).  exec_follows:
 * another open_exec of this pid is known to stand later in the queue.
 * *ret_actor is valid until attributor_end_batch().  Never fails: what cannot be
 * known is absent, and the attribution says so.
 */
enum attribution attributor_get(struct attributor *a, int32_t pid, int pidfd, bool exec_follows,
                                const struct actor **ret_actor);
/* The queue was seen empty: programs read before now are certain from now on. */
void attributor_queue_drained(struct attributor *a);
void attributor_end_batch(struct attributor *a);
