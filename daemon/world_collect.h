/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Collects the facts that planning needs: rules → sealed struct world. */

#include "world.h"

enum mount_view {
        MOUNTS_OF_PID1, /* the service: paths as PID 1 sees them */
        MOUNTS_OWN,     /* --watch, --log=stdout: as this process sees them */
};

/* The directory that the view's paths start from: a descriptor to close, or a negative errno.  *view becomes
 * MOUNTS_OWN where PID 1's is refused. */
int world_open_root(enum mount_view *view);

/* Runs in a worker thread: may wait for slow file systems and NSS (bounded).
 * Returns 0 or a negative errno with one line in *reterr_text (malloc'ed). */
int world_collect(const struct rules *rules, enum mount_view view, struct world **ret, char **reterr_text);
