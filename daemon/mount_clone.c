/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount_clone.h"

#include <errno.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "fdutil.h"

bool mount_clone_is(const char *path, uint64_t mount_id)
{
        struct statx stx;

        return statx(AT_FDCWD, path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_MNT_ID, &stx) == 0 &&
               (stx.stx_mask & STATX_MNT_ID) && stx.stx_mnt_id == mount_id;
}

/* O_NOATIME: the daemon's looking leaves no trace; O_NONBLOCK never hurts. */
static int open_dir(int dir, const char *path)
{
        int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOATIME);

        return fd < 0 ? -errno : fd;
}

int mount_clone_open(const char *path)
{
        _cleanup_close_ int clone = (int)syscall(SYS_open_tree, AT_FDCWD, path,
                                                 AT_NO_AUTOMOUNT | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

        return clone < 0 ? -errno : open_dir(clone, ".");
}

int mount_clone_open_attached(const char *path)
{
        return open_dir(AT_FDCWD, path);
}
