/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount_clone.h"

#include <errno.h>
#include <limits.h>
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

static int mount_id_of(int fd, uint64_t *ret)
{
        struct statx stx;

        if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_MNT_ID, &stx) < 0)
                return -errno;
        *ret = stx.stx_mnt_id;
        return 0;
}

static int same_mount(int a_fd, int b_fd)
{
        uint64_t a = 0, b = 0;
        int r = mount_id_of(a_fd, &a);

        if (r == 0)
                r = mount_id_of(b_fd, &b);
        return r < 0 ? r : a == b ? 0 : -EXDEV;
}

/* openat2(2) would do it at once, but systemd's RestrictSUIDSGID= refuses it with ENOSYS. */
int mount_clone_open_below(int dir_fd, const char *path, int flags)
{
        _cleanup_close_ int fd = -1;
        char name[NAME_MAX + 1];

        while (*path) {
                size_t len = strcspn(path, "/");
                bool is_last = path[len] == '\0';

                if (len > NAME_MAX)
                        return -ENAMETOOLONG;
                memcpy(name, path, len);
                name[len] = '\0';
                int next = openat(fd >= 0 ? fd : dir_fd, name,
                                  O_NOFOLLOW | O_CLOEXEC | (is_last ? flags : O_PATH | O_DIRECTORY));
                if (next < 0)
                        return -errno;
                (void)close_fd(fd);
                fd = next;
                path += len + !is_last;
        }
        int r = fd < 0 ? -ENOENT : same_mount(dir_fd, fd);
        return r < 0 ? r : STEAL_FD(fd);
}
