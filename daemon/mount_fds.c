/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fdutil.h"
#include "mount_fds.h"

/* Slots are few: a batch of events reaches a handful of mounts. */
struct slot {
        uint32_t mount;
        int fd; /* or the negative errno of the attempt */
};

struct mount_fds {
        const struct world *world;
        struct slot *slots;
        size_t n, cap;
};

int mount_fds_new(struct mount_fds **ret)
{
        struct mount_fds *m = calloc(1, sizeof(*m));

        if (!m)
                return -ENOMEM;
        *ret = m;
        return 0;
}

void mount_fds_free(struct mount_fds *m)
{
        if (!m)
                return;
        mount_fds_end_batch(m);
        free(m->slots);
        free(m);
}

void mount_fds_end_batch(struct mount_fds *m)
{
        for (size_t i = 0; i < m->n; i++)
                (void)close_fd(m->slots[i].fd);
        m->n = 0;
}

void mount_fds_set_world(struct mount_fds *m, const struct world *w)
{
        mount_fds_end_batch(m);
        m->world = w;
}

/* Is path, seen from here, still the root of that very mount?  Something may have been
 * mounted over it, or it may be gone, since the world was collected. */
static bool is_mount(int fd, int mount_id)
{
        struct statx stx;

        return statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_MNT_ID, &stx) == 0 &&
               (stx.stx_mask & STATX_MNT_ID) && stx.stx_mnt_id == (uint64_t)mount_id;
}

static int open_root(const char *prefix, const char *mountpoint, int mount_id)
{
        _cleanup_close_ int fd = -1;
        _cleanup_free_ char *path = NULL;

        if (asprintf(&path, "%s%s", prefix, mountpoint) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOTDIR ? -ENOTDIR : -ENOENT;
        if (!is_mount(fd, mount_id))
                return -ENOENT;

        int ret = fd;
        fd = -1;
        return ret;
}

/* O_NOATIME: the daemon's looking leaves no trace; O_NONBLOCK never hurts. */
static int reopen(int fd)
{
        int opened = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOATIME);

        return opened < 0 ? -errno : opened;
}

static int open_clone(int root)
{
        int clone = (int)syscall(SYS_open_tree, root, "",
                                 AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

        return clone < 0 ? -errno : clone;
}

/*
 * The mount as our own namespace shows it, else as PID 1's does: a unit with a private
 * mount namespace has copies with other ids.  A mount of another namespace cannot be
 * cloned (EINVAL); then the mount itself is held for the length of the batch.
 */
static int open_mount(const struct world_mount *mount)
{
        _cleanup_close_ int root = open_root("", mount->mountpoint, mount->id);

        if (root == -ENOENT)
                root = open_root("/proc/1/root", mount->mountpoint, mount->id);
        if (root < 0)
                return root;

        _cleanup_close_ int clone = open_clone(root);
        if (clone == -EINVAL || clone == -EPERM || clone == -ENOSYS)
                return reopen(root);
        /* Before the clone is closed: the kernel waits for RCU there (dissolve_on_fput()),
         * and meanwhile who unmounts would be told EBUSY. */
        root = close_fd(root);
        return clone < 0 ? clone : reopen(clone);
}

int mount_fds_get(struct mount_fds *m, uint32_t index)
{
        for (size_t i = 0; i < m->n; i++)
                if (m->slots[i].mount == index)
                        return m->slots[i].fd;

        if (m->n == m->cap) {
                size_t cap = m->cap ? m->cap * 2 : 8;
                struct slot *slots = reallocarray(m->slots, cap, sizeof(*slots));

                if (!slots)
                        return -ENOMEM;
                m->slots = slots;
                m->cap = cap;
        }

        int fd = open_mount(&m->world->mounts[index]);
        m->slots[m->n++] = (struct slot){ .mount = index, .fd = fd };
        return fd;
}
