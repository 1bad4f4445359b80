/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probe.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "dirwalk.h"
#include "fan_group.h"
#include "fan_uapi.h"
#include "fdutil.h"
#include "guarded.h"

/* --- the kernel --- */

/* Is a group with these flags refused for what they mean, not for want of rights? */
static bool knows_init(unsigned flags)
{
        int fd = fan_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | flags);

        if (fd >= 0)
                close_fd(fd);
        return fd >= 0;
}

/*
 * Flags and mask are checked before the mark is looked for, so that removing one
 * that is not there tells: EINVAL the kernel does not know them, anything else
 * (ENOENT) it does.
 */
static bool knows_mark(int group, unsigned flags, uint64_t mask)
{
        return fan_mark(group, FAN_MARK_REMOVE | flags, mask, AT_FDCWD, "/") != -EINVAL;
}

void probe_kernel(struct kernel_abilities *ret)
{
        struct kernel_abilities k = {};
        _cleanup_close_ int group = fan_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_REPORT_DFID_NAME);
        int plain = group >= 0 ? 0 : fan_init(FAN_CLASS_NOTIF | FAN_CLOEXEC);

        if (group < 0 && plain >= 0)
                close_fd(plain);
        k.fanotify = group >= 0 || plain != -ENOSYS;
        k.dfid_name = group >= 0;
        if (group >= 0) {
                k.target_fid = knows_init(FAN_REPORT_DFID_NAME_TARGET);
                k.pidfd = knows_init(FAN_REPORT_DFID_NAME | FAN_REPORT_PIDFD);
                k.fd_error = knows_init(FAN_REPORT_DFID_NAME | FAN_REPORT_FD_ERROR);
                k.mount_events = knows_init(FAN_REPORT_MNT);
                k.rename = knows_mark(group, FAN_MARK_INODE, FAN_RENAME);
                k.fs_error = knows_mark(group, FAN_MARK_FILESYSTEM, FAN_FS_ERROR);
                k.evictable = knows_mark(group, FAN_MARK_INODE | FAN_MARK_EVICTABLE, FAN_CREATE);
                k.ignore = knows_mark(group, FAN_MARK_INODE | FAN_MARK_IGNORE_SURV, FAN_CREATE);
        }
        *ret = k;
}

/* --- a filesystem --- */

/* Absolute paths are seen from root_fd: "/srv" → "srv", "/" → ".". */
static const char *below_root(const char *path)
{
        while (*path == '/')
                path++;
        return *path ? path : ".";
}

static int try_mark(int group, int fd)
{
        const unsigned flags = FAN_MARK_REMOVE | FAN_MARK_FILESYSTEM;
        char link[32];
        struct stat st;
        int r;

        if (group < 0)
                return group;
        if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
                r = fan_mark(group, flags, FAN_CREATE, fd, ".");
        } else {
                (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
                r = fan_mark(group, flags, FAN_CREATE, AT_FDCWD, link);
        }
        /* The tests of the filesystem come before the search for the mark. */
        return r == -ENOENT ? 0 : r;
}

/* Its directories, where it takes no mark for the whole: with handles that events can carry. */
static bool takes_dir_marks(int group, int fd)
{
        uint8_t bytes[DIRWALK_HANDLE_BYTES];
        struct fan_handle h;
        struct stat st;

        return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) &&
               dirwalk_handle(fd, "", &h, bytes) == 0 && h.len > 0 &&
               fan_mark(group, FAN_MARK_REMOVE, FAN_CREATE | FAN_ONDIR, fd, ".") == -ENOENT;
}

void probe_filesystem(int root_fd, const char *mountpoint, const struct kernel_abilities *kernel,
                      struct probe_filesystem *ret)
{
        /* Closed last: that waits for SRCU (fanotify_release()), and as long as fd is open nobody
         * can unmount the filesystem. */
        _cleanup_close_ int group = kernel->dfid_name ? fan_init(fan_group_flags(kernel, false)) : -1;
        _cleanup_close_ int fd = openat(root_fd, below_root(mountpoint), O_PATH | O_CLOEXEC);
        struct statfs sf;

        *ret = (struct probe_filesystem){};
        if (fd < 0) {
                ret->mark_errno = errno;
                return;
        }
        if (fstatfs(fd, &sf) == 0) {
                uint32_t words[2];

                memcpy(words, &sf.f_fsid, sizeof(words));
                ret->fsid = (uint64_t)words[1] << 32 | words[0];
                ret->fsid_known = ret->fsid != 0;
        }
        if (kernel->dfid_name)
                ret->mark_errno = group < 0 ? -group : -try_mark(group, fd);
        if (ret->mark_errno == EOPNOTSUPP || ret->mark_errno == ENODEV || ret->mark_errno == EXDEV) {
                ret->takes_dir_marks = group >= 0 && takes_dir_marks(group, fd);
                ret->weak = !ret->fsid_known || ret->mark_errno == EXDEV;
        }
}

struct filesystem_question {
        int root_fd;
        const char *mountpoint;
        const struct kernel_abilities *kernel;
};

static int ask_filesystem(void *userdata, void *answer)
{
        const struct filesystem_question *q = userdata;
        struct probe_filesystem found;

        probe_filesystem(q->root_fd, q->mountpoint, q->kernel, &found);
        memcpy(answer, &found, sizeof(found));
        return 0;
}

void probe_filesystem_guarded(int root_fd, const char *mountpoint, const struct kernel_abilities *kernel,
                              uint64_t timeout_usec, struct probe_filesystem *ret)
{
        struct filesystem_question q = { .root_fd = root_fd, .mountpoint = mountpoint, .kernel = kernel };
        int r = guarded_call(ask_filesystem, &q, timeout_usec, ret, sizeof(*ret));

        if (r < 0)
                *ret = (struct probe_filesystem){ .mark_errno = -r };
}
