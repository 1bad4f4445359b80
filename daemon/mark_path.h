/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* From an object that is to be marked to a descriptor of it. */

#include "markset.h"

/*
 * Opens (O_PATH, no event, no automount) a path that leads to the object now:
 * where, as seen from here or from PID 1, else, for filesystems, any mount point, and
 * with moved_too for inodes their handle: a mark is not placed on what is elsewhere by
 * now, but it is taken off there.
 * Returns a descriptor to close, or -ESTALE when none does.
 */
int mark_path_open(const struct mark_object *object, const char *where, bool moved_too);
