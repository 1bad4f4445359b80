/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The mount table by libmount, as it is now. */

#include "world.h"
#include "world_collect.h"

/* Adds every mount of the view to w (not sealed).  Returns 0 or -errno. */
int mounts_read(enum mount_view view, struct world *w);
