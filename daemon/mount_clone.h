/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * A descriptor on a mount keeps umount(2) out (EBUSY).  What is read through is therefore a
 * detached clone of the mount (open_tree(2)): that one nobody unmounts.
 */

#include "base.h"

/*
 * Does path, seen from here, lead into that very mount still?  Something may have been mounted
 * over it, or it may be gone, since its id was known.  Asked by path: a descriptor of the
 * mount, for how short ever, would keep umount(2) out.
 */
bool mount_clone_is(const char *path, uint64_t mount_id);

/* The directory at path in a clone of its mount alone: what is mounted below is not in it.  Returns
 * a descriptor to read it or -errno; -EINVAL, -EPERM, -ENOSYS: it cannot be cloned. */
int mount_clone_open(const char *path);

/* A directory to read, itself.  Returns a descriptor or -errno. */
int mount_clone_open_attached(const char *path);

/*
 * Opens what lies at path, in names that are divided by one slash, below the directory dir_fd:
 * through no link, and into nothing that is mounted there, where dir_fd is not of a clone.  flags:
 * of open(2), for the last name.  Returns a descriptor or -errno; -EXDEV: it is of another mount.
 */
int mount_clone_open_below(int dir_fd, const char *path, int flags);
