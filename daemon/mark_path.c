/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mark_path.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "fdutil.h"
#include "handles.h"
#include "mountinfo.h"
#include "strbuf.h"

/* --- is it the object? --- */

struct sdev_query {
        int mount_id;
        unsigned major, minor;
};

static int is_mount_of_sdev(void *userdata, const struct mountinfo *m)
{
        const struct sdev_query *q = userdata;

        if (m->id != q->mount_id)
                return 0;
        return m->major == q->major && m->minor == q->minor ? 1 : -1;
}

/*
 * st_dev is the filesystem's own number, but on btrfs, where each subvolume has
 * one.  There the mount table says which filesystem the mount is of.
 */
static bool is_on_filesystem(int fd, const struct mark_object *object)
{
        struct sdev_query q = { .major = object->sdev_major, .minor = object->sdev_minor };
        struct statx sx;
        int r;

        if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_MNT_ID, &sx) < 0)
                return false;
        if (sx.stx_dev_major == q.major && sx.stx_dev_minor == q.minor)
                return true;
        q.mount_id = (int)sx.stx_mnt_id;
        r = mountinfo_foreach("/proc/self/mountinfo", is_mount_of_sdev, &q);
        if (r == 0)
                r = mountinfo_foreach("/proc/1/mountinfo", is_mount_of_sdev, &q);
        return r > 0;
}

static bool is_mount(int fd, int mount_id)
{
        struct statx sx;

        return statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_MNT_ID, &sx) == 0 &&
               (sx.stx_mask & STATX_MNT_ID) != 0 && sx.stx_mnt_id == (uint64_t)mount_id;
}

static bool is_inode(int fd, const struct handle *wanted)
{
        struct handle handle;

        return handle_of(fd, &handle) == 0 && handle.type == wanted->type && handle.len == wanted->len &&
               memcmp(handle.bytes, wanted->bytes, wanted->len) == 0;
}

static bool is_object(int fd, const struct mark_object *object)
{
        switch (object->kind) {
        case MARK_MOUNT:
                return is_mount(fd, object->mount_id);
        case MARK_FILESYSTEM:
                return is_on_filesystem(fd, object);
        case MARK_INODE:
                return is_on_filesystem(fd, object) && is_inode(fd, &object->handle);
        }
        return false;
}

/* --- the ways to it --- */

/* Without O_DIRECTORY, which would trigger an automount there. */
static int try_path(const struct mark_object *object, const char *path)
{
        _cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);

        return fd >= 0 && is_object(fd, object) ? STEAL_FD(fd) : -ESTALE;
}

/* Through a directory on the filesystem; it need not be a root. */
static int try_handle(const struct mark_object *object, const char *mountpoint)
{
        _Alignas(struct file_handle) char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        struct file_handle *fh = (struct file_handle *)space;
        _cleanup_close_ int dir = open(mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOATIME | O_NONBLOCK);
        int fd;

        if (dir < 0)
                return -ESTALE;
        fh->handle_bytes = object->handle.len;
        fh->handle_type = object->handle.type;
        memcpy(fh->f_handle, object->handle.bytes, object->handle.len);
        fd = open_by_handle_at(dir, fh, O_PATH | O_CLOEXEC);
        return fd < 0 ? -ESTALE : fd;
}

struct search {
        const struct mark_object *object;
        int fd;
};

static int try_mount(void *userdata, const struct mountinfo *m)
{
        struct search *s = userdata;

        if (m->major != s->object->sdev_major || m->minor != s->object->sdev_minor)
                return 0;
        s->fd = s->object->kind == MARK_INODE ? try_handle(s->object, m->mountpoint) :
                                                try_path(s->object, m->mountpoint);
        return s->fd >= 0;
}

int mark_path_open(const struct mark_object *object, const char *where, bool moved_too)
{
        _cleanup_strbuf_ struct strbuf seen_by_init = STRBUF_NULL;
        struct search s = { .object = object, .fd = -1 };
        int fd = where[0] == '/' ? try_path(object, where) : -ESTALE;

        if (fd < 0 && where[0] == '/') {
                strbuf_addf(&seen_by_init, "/proc/1/root%s", where);
                fd = strbuf_failed(&seen_by_init) ? -ESTALE : try_path(object, strbuf_str(&seen_by_init));
        }
        if (fd >= 0 || object->kind == MARK_MOUNT || (object->kind == MARK_INODE && !moved_too))
                return fd;
        (void)mountinfo_foreach("/proc/self/mountinfo", try_mount, &s);
        return s.fd >= 0 ? s.fd : -ESTALE;
}
