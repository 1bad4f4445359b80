/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Descriptors to open file handles through, one a mount, while a batch lasts.
 *
 * open_by_handle_at(2) takes any descriptor on the filesystem but no O_PATH one,
 * and shows only what lies below the root of that descriptor's mount.  What is held is
 * a clone (mount_clone.h).
 */

#include "world.h"

struct mount_fds;

int mount_fds_new(struct mount_fds **ret);
void mount_fds_free(struct mount_fds *m);
DEFINE_CLEANUP(struct mount_fds, mount_fds_free);

/* w is borrowed; closes what is open of another world. */
void mount_fds_set_world(struct mount_fds *m, const struct world *w);
/* A descriptor on mount w->mounts[index], ours.  Returns it; -ENOENT (that mount is no
 * longer there); other negative errno.  Failures are remembered while the batch lasts.
 * So many bytes stand before what /proc/self/fd shows of each object opened through it: 0
 * for a clone, the way to the mount for one that another namespace holds. */
int mount_fds_get(struct mount_fds *m, uint32_t index, size_t *ret_prefix);
/* The same on the root of the filesystem w->fs[index], which no mount of w shows, through
 * another mount namespace.  -ENOENT when none has it, or none had it within the last second. */
int mount_fds_get_whole(struct mount_fds *m, uint32_t index, size_t *ret_prefix);
/* Closes all. */
void mount_fds_end_batch(struct mount_fds *m);
