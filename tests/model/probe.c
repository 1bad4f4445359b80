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

static bool takes_mark(unsigned init_flags, unsigned flags, uint64_t mask, const char *path)
{
        int fd = group(init_flags);
        bool taken;

        if (fd < 0)
                return false;
        taken = fanotify_mark(fd, FAN_MARK_ADD | flags, mask, AT_FDCWD, path) == 0;
        close(fd);
        return taken;
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

/* A directory that watches its children's modify, and a fifo in it. */
static bool special_untold(const char *dir, const char *path)
{
        int fd = group(FAN_REPORT_FID), fifo;
        bool told;

        mark(fd, 0, FAN_MODIFY | FAN_EVENT_ON_CHILD, dir);
        if (mkfifo(path, 0600) < 0 || (fifo = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0 ||
            write(fifo, "x", 1) != 1)
                die("probe: %s: %m", path);
        told = events(fd) & FAN_MODIFY;
        close(fifo);
        close(fd);
        unlink(path);
        return !told;
}

/* The modification clears the ignore mask: an open that comes after it is told. */
static bool truncate_before_open(const char *path)
{
        int fd = group(FAN_REPORT_FID), file;
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

/* The first of the events in the queue: that of the file written to? */
static bool copy_modifies_first(const char *from, const char *to)
{
        int fd = group(FAN_REPORT_FID), in = make_file(from, "x"), out = make_file(to, "y");
        unsigned char buffer[64]; /* holds one event */
        struct event_cursor cursor;
        struct fanotify_event_metadata m;
        const unsigned char *records;
        loff_t zero[2] = {};

        mark(fd, 0, FAN_ACCESS, from);
        mark(fd, 0, FAN_MODIFY, to);
        if (copy_file_range(in, &zero[0], out, &zero[1], 1, 0) != 1)
                die("probe: copy: %m");
        cursor = (struct event_cursor){ buffer, read(fd, buffer, sizeof(buffer)) };
        if (!next_event(&cursor, &m, &records))
                die("probe: a copy raises nothing");
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
                .rename = takes_mark(FAN_REPORT_DFID_NAME, 0, FAN_RENAME, dir),
                .fs_error = takes_mark(FAN_REPORT_FID, FAN_MARK_FILESYSTEM, FAN_FS_ERROR, dir),
                .evictable = takes_mark(FAN_REPORT_FID, FAN_MARK_EVICTABLE, FAN_OPEN, dir),
                .ignore = takes_mark(FAN_REPORT_FID, FAN_MARK_IGNORE_SURV, FAN_OPEN, dir),
        };
        char a[64], b[64];

        snprintf(a, sizeof(a), "%s/a", dir);
        snprintf(b, sizeof(b), "%s/b", dir);
        *ret_kernel = interest_kernel_from(&abilities);
        ret_kernel->special_untold = special_untold(dir, a);
        *ret_hooks = (struct fs_hooks){
                .truncate_before_open = truncate_before_open(a),
                .copy_modifies_first = copy_modifies_first(a, b),
        };
}
