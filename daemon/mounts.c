/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mounts.h"

#include <errno.h>
#include <libmount/libmount.h>
#include <sys/sysmacros.h>

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

int mounts_read(enum mount_view view, struct world *w)
{
        struct libmnt_table *table = mnt_new_table();
        struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
        struct libmnt_fs *fs;
        int r = -ENOMEM;

        if (table && iter) {
                r = mnt_table_parse_file(table, view == MOUNTS_OF_PID1 ? "/proc/1/mountinfo" : "/proc/self/mountinfo");
                if (r > 0)
                        r = -EIO;
        }
        while (r == 0 && mnt_table_next_fs(table, iter, &fs) == 0)
                r = add_mount(w, fs);
        mnt_free_iter(iter);
        mnt_unref_table(table);
        return r;
}
