/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each question has a group of its own, on a directory that is emptied again. */

#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "events.h"
#include "fan_uapi.h"

static int group(unsigned init_flags)
{
        return fanotify_init(init_flags | FAN_CLOEXEC | FAN_NONBLOCK, O_RDONLY | O_CLOEXEC);
}

bool probe_group(unsigned init_flags)
{
        int fd = group(init_flags);

        if (fd < 0)
                return false;
        close(fd);
        return true;
}

static void mark(int fd, unsigned flags, uint64_t mask, const char *path)
{
        if (fanotify_mark(fd, FAN_MARK_ADD | flags, mask, AT_FDCWD, path) < 0)
                die("probe: mark %s: %m", path);
}

/* EINVAL says that a flag or a bit is not known; other errors that this filesystem is not taken. */
static bool knows(unsigned init_flags, unsigned flags, uint64_t mask, const char *path)
{
        int fd = group(init_flags);
        bool known;

        if (fd < 0)
                return false;
        known = fanotify_mark(fd, FAN_MARK_ADD | flags, mask, AT_FDCWD, path) == 0 || errno != EINVAL;
        close(fd);
        return known;
}

/* What a group with file handles is told of this filesystem. */
static int fid_errno(const char *path)
{
        int fd = group(FAN_REPORT_FID),
            r = fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, path) < 0 ? -errno : 0;

        close(fd);
        return r;
}

/* The union of the events in the queue. */
static uint64_t events(int fd)
{
        unsigned char buffer[4096] __attribute__((aligned(8)));
        struct fanotify_event_metadata m;
        struct event_cursor cursor;
        const unsigned char *records;
        uint64_t mask = 0;

        do {
                cursor = (struct event_cursor){ buffer, read(fd, buffer, sizeof(buffer)) };
                while (next_event(&cursor, &m, &records)) {
                        mask |= m.mask;
                        if (m.fd >= 0)
                                close(m.fd);
                }
        } while (cursor.at != buffer);
        return mask;
}

static int make_file(const char *path, const char *text)
{
        int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0755);

        if (fd < 0 || write(fd, text, strlen(text)) < 0)
                die("probe: %s: %m", path);
        return fd;
}

/* A directory with an ignore mask about children that a modification clears: does what is written into a
 * fifo clear it, so that the open of a file there is told? */
static bool special_untold(const char *dir, const char *file, const char *fifo)
{
        int fd = group(FAN_CLASS_NOTIF), writer;
        bool told;

        close(make_file(file, "x"));
        if (mkfifo(fifo, 0600) < 0 || (writer = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0)
                die("probe: %s: %m", fifo);
        mark(fd, 0, FAN_OPEN | FAN_MODIFY | FAN_EVENT_ON_CHILD, dir);
        mark(fd, FAN_MARK_IGNORED_MASK, FAN_OPEN, dir);
        if (write(writer, "x", 1) != 1)
                die("probe: %s: %m", fifo);
        close(writer);
        close(open(file, O_RDONLY | O_CLOEXEC));
        told = events(fd) & FAN_OPEN;
        close(fd);
        unlink(file);
        unlink(fifo);
        return !told;
}

/* The modification clears the ignore mask: an open that comes after it is told. */
static bool truncate_before_open(const char *path)
{
        int fd = group(FAN_CLASS_NOTIF), file;
        bool told;

        close(make_file(path, "x"));
        mark(fd, 0, FAN_OPEN, path);
        mark(fd, FAN_MARK_IGNORED_MASK, FAN_OPEN, path);
        file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        if (file < 0)
                die("probe: %s: %m", path);
        told = events(fd) & FAN_OPEN;
        close(file);
        close(fd);
        unlink(path);
        return told;
}

/* A file open through two names, both removed: does its mark outlive the close of the one? */
static bool last_dentry_tells(const char *a, const char *b)
{
        int fd = group(FAN_CLASS_NOTIF), first, second;
        char path[64];
        bool stays;

        close(make_file(a, "x"));
        if (link(a, b) < 0)
                die("probe: %s: %m", b);
        first = open(a, O_RDONLY | O_CLOEXEC);
        second = open(b, O_RDONLY | O_CLOEXEC);
        mark(fd, 0, FAN_MODIFY, a);
        unlink(a);
        unlink(b);
        close(first);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", second);
        stays = fanotify_mark(fd, FAN_MARK_REMOVE, FAN_MODIFY, AT_FDCWD, path) == 0;
        close(second);
        close(fd);
        return stays;
}

/* The first of the events in the queue: that of the file written to? */
static bool copy_modifies_first(const char *from, const char *to)
{
        int fd = group(FAN_CLASS_NOTIF), in = make_file(from, "x"), out = make_file(to, "y");
        struct fanotify_event_metadata m;
        loff_t zero[2] = {};

        mark(fd, 0, FAN_ACCESS, from);
        mark(fd, 0, FAN_MODIFY, to);
        if (copy_file_range(in, &zero[0], out, &zero[1], 1, 0) != 1 || read(fd, &m, sizeof(m)) != sizeof(m))
                die("probe: copy: %m");
        close(m.fd);
        events(fd);
        close(in);
        close(out);
        close(fd);
        unlink(from);
        unlink(to);
        return m.mask == FAN_MODIFY;
}

void probe_kernel(const char *dir, struct interest_kernel *ret_kernel, struct fs_hooks *ret_hooks)
{
        struct kernel_abilities abilities = {
                .rename = knows(FAN_REPORT_DFID_NAME, 0, FAN_RENAME, dir),
                .fs_error = knows(FAN_REPORT_FID, FAN_MARK_FILESYSTEM, FAN_FS_ERROR, dir),
                .evictable = knows(FAN_CLASS_NOTIF, FAN_MARK_EVICTABLE, FAN_OPEN, dir),
                .ignore = knows(FAN_CLASS_NOTIF, FAN_MARK_IGNORE_SURV, FAN_OPEN, dir),
        };
        char a[64], b[64];

        snprintf(a, sizeof(a), "%s/a", dir);
        snprintf(b, sizeof(b), "%s/b", dir);
        *ret_kernel = interest_kernel_from(&abilities);
        ret_kernel->special_untold = special_untold(dir, a, b);
        *ret_hooks = (struct fs_hooks){
                .truncate_before_open = truncate_before_open(a),
                .last_dentry_tells = last_dentry_tells(a, b),
                .fid_errno = fid_errno(dir),
                .copy_modifies_first = copy_modifies_first(a, b),
        };
}
