/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The mount table by libmount: a snapshot, and news of changes. */

#include "world.h"
#include "world_collect.h"

/* Adds every mount of the view to w (not sealed).  Returns 0 or -errno. */
int mounts_read(enum mount_view view, struct world *w);

struct mounts_monitor;
/* Watches the kernel's mount table.  Returns 0 or -errno. */
int mounts_monitor_new(struct mounts_monitor **ret);
void mounts_monitor_free(struct mounts_monitor *m);
DEFINE_CLEANUP(struct mounts_monitor, mounts_monitor_free);
int mounts_monitor_fd(const struct mounts_monitor *m);
/* Call when fd is readable: clears it.  Returns 1 when the table changed, 0, or -errno. */
int mounts_monitor_next(struct mounts_monitor *m);
