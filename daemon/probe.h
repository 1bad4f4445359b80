/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Questions to the running kernel and to the file system, none of which leaves a
 * trace: no mark stays, no event is raised, no automount is triggered, and nothing
 * that may hang is touched by the calling thread.
 */

#include "world.h"

/* What fanotify can do here.  Needs no mark: the calls that ask remove one. */
void probe_kernel(struct kernel_abilities *ret);

struct probe_filesystem {
        bool fsid_known;
        uint64_t fsid;
        int mark_errno;       /* 0, or why a filesystem mark with file handles is refused */
        bool takes_dir_marks; /* where it is, its directories take marks */
        bool weak;            /* ... in a group of their own: the fsid says nothing */
};
/* Of the filesystem at mountpoint, an absolute path below root_fd. */
void probe_filesystem(int root_fd, const char *mountpoint, const struct kernel_abilities *kernel,
                      struct probe_filesystem *ret);
/* The same from a child process: -ETIMEDOUT as mark_errno when it does not answer. */
void probe_filesystem_guarded(int root_fd, const char *mountpoint, const struct kernel_abilities *kernel,
                              uint64_t timeout_usec, struct probe_filesystem *ret);

/*
 * What a rule path leads to, below root_fd, in a sealed world.  Filesystems that
 * hold no files or may hang are not looked into: what lies there counts as existing, of
 * unknown type.  Strings in arena.  Returns 0 or -ENOMEM.
 */
int probe_path(const struct world *w, int root_fd, const char *path, struct arena *arena,
               struct world_path *ret);
