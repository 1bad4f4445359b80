/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mounts.h"

#include <errno.h>
#include <libmount/libmount.h>
#include <sys/epoll.h>
#include <sys/sysmacros.h>

#include "fdutil.h"

/* --- snapshot --- */

static bool in_table(const char *fstype, const char *const *table, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (streq(table[i], fstype))
                        return true;
        return false;
}

/*
 * libmount calls a filesystem pseudo when nothing of it is on a disk.  Some of
 * those hold files all the same, and files are what is watched.
 */
static enum fs_class classify(struct libmnt_fs *fs, const char *fstype)
{
        static const char *const holds_files[] = {
                "devtmpfs", "fuse", "fuse.archivemount", "fuse.encfs", "overlay", "ramfs", "rootfs", "tmpfs",
                "virtiofs",
        };
        /* Not known to libmount 2.38 as network filesystems, but changed by other
         * hosts all the same. */
        static const char *const shared[] = {
                "beegfs",    "ceph", "coda",   "davfs", "fuse.ceph", "fuse.davfs2", "fuse.glusterfs",
                "fuse.s3fs", "gfs2", "lustre", "ocfs2", "orangefs",  "vboxsf",
        };
        static const char *const made_up[] = { "pidfs", "secretmem", "functionfs" };

        if (mnt_fs_is_netfs(fs) || in_table(fstype, shared, ELEMENTSOF(shared)))
                return FS_NETWORK;
        if (in_table(fstype, holds_files, ELEMENTSOF(holds_files)))
                return FS_REAL;
        if (mnt_fs_is_pseudofs(fs) || in_table(fstype, made_up, ELEMENTSOF(made_up)))
                return FS_PSEUDO;
        return FS_REAL;
}

/* Not mnt_match_options(), which reads "noexec" as "not exec". */
static bool has_option(struct libmnt_fs *fs, const char *name)
{
        const char *options = mnt_fs_get_vfs_options(fs);

        return options && mnt_optstr_get_option(options, name, NULL, NULL) == 0;
}

static int add_mount(struct world *w, struct libmnt_fs *fs)
{
        dev_t device = mnt_fs_get_devno(fs);
        const char *fstype = mnt_fs_get_fstype(fs);
        const char *target = mnt_fs_get_target(fs), *root = mnt_fs_get_root(fs),
                   *source = mnt_fs_get_source(fs);
        struct world_mount_facts facts = {
                .id = mnt_fs_get_id(fs),
                .parent_id = mnt_fs_get_parent_id(fs),
                .sdev_major = major(device),
                .sdev_minor = minor(device),
                .root = root ? root : "/",
                .mountpoint = target,
                .fstype = fstype ? fstype : "none",
                .source = source ? source : "none",
                .noexec = has_option(fs, "noexec"),
                .read_only = has_option(fs, "ro"),
        };

        if (!target || target[0] != '/')
                return 0;
        facts.class = classify(fs, facts.fstype);
        return world_add_mount(w, &facts);
}

static const char *mountinfo_of(enum mount_view view)
{
        return view == MOUNTS_OF_PID1 ? "/proc/1/mountinfo" : "/proc/self/mountinfo";
}

int mounts_read(enum mount_view view, struct world *w)
{
        struct libmnt_table *table = mnt_new_table();
        struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
        struct libmnt_fs *fs;
        int r = -ENOMEM;

        if (table && iter) {
                r = mnt_table_parse_file(table, mountinfo_of(view));
                if (r > 0)
                        r = -EIO;
        }
        while (r == 0 && mnt_table_next_fs(table, iter, &fs) == 0)
                r = add_mount(w, fs);
        mnt_free_iter(iter);
        mnt_unref_table(table);
        return r;
}

/* --- news --- */

/*
 * The mount table of PID 1, which may be another than ours, is polled itself:
 * libmount's own monitor knows /proc/self/mountinfo only.  A change wakes whoever
 * polls the file; edge-triggered, it is reported once (mounts_poll() in
 * fs/proc_namespace.c).
 */
struct mounts_monitor {
        int epoll_fd, table_fd;
};

void mounts_monitor_free(struct mounts_monitor *m)
{
        if (!m)
                return;
        close_fd(m->epoll_fd);
        close_fd(m->table_fd);
        free(m);
}

static int open_table(void)
{
        int fd = open(mountinfo_of(MOUNTS_OF_PID1), O_RDONLY | O_CLOEXEC);

        return fd >= 0 ? fd : open(mountinfo_of(MOUNTS_OWN), O_RDONLY | O_CLOEXEC);
}

int mounts_monitor_new(struct mounts_monitor **ret)
{
        struct epoll_event event = { .events = EPOLLIN | EPOLLET };
        _cleanup_(mounts_monitor_freep) struct mounts_monitor *m = calloc(1, sizeof(*m));

        if (!m)
                return -ENOMEM;
        m->epoll_fd = m->table_fd = -1;
        m->table_fd = open_table();
        if (m->table_fd < 0)
                return -errno;
        m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (m->epoll_fd < 0 || epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, m->table_fd, &event) < 0)
                return -errno;
        /* A file is readable when it is added: that is no news. */
        (void)mounts_monitor_next(m);
        *ret = STEAL(m);
        return 0;
}

int mounts_monitor_fd(const struct mounts_monitor *m)
{
        return m->epoll_fd;
}

int mounts_monitor_next(struct mounts_monitor *m)
{
        struct epoll_event event;
        int n = epoll_wait(m->epoll_fd, &event, 1, 0);

        if (n < 0)
                return errno == EINTR ? 0 : -errno;
        return n > 0 && (event.events & (EPOLLERR | EPOLLPRI | EPOLLIN)) != 0;
}
