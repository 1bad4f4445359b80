/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The mounts of other mount namespaces: where PID 1 has only a part of a filesystem
 * mounted, a container or a unit may have all of it.
 */

#include "base.h"

#define NAMESPACE_PATH_SIZE 320 /* "/proc/PID/root" and where it is mounted */

/*
 * Looks for a process in whose mount namespace the root of the filesystem is mounted, and
 * writes the way there into path; hint is tried first (0 = none).  Reads /proc once.
 * Returns the process, or -ENOENT.
 */
int namespaces_find_root(unsigned sdev_major, unsigned sdev_minor, int hint, char path[static NAMESPACE_PATH_SIZE]);
/* Is this process in another mount namespace than process 1?  False where that cannot be told. */
bool namespaces_private(void);
