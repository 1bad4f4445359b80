/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Bytes from a fanotify group's fd → one bounds-checked view an event
 * (fanotify(7), "Reading fanotify events"; KERNEL.md 2.4).  Nothing is copied:
 * the view points into the buffer.
 */

#include "base.h"

struct fan_handle { /* of one info record; p points at f_handle */
        uint64_t fsid;
        int32_t type;
        uint32_t len;
        const uint8_t *bytes; /* NULL = no such record */
};

struct fan_name {
        const char *p; /* not NUL-checked by us beyond len; NULL = no name */
        size_t len;
};

struct fan_event {
        uint64_t mask;             /* FAN_ bits */
        int32_t pid;
        int fd;                    /* event fd of fd-mode groups, else < 0 */
        bool overflow;             /* FAN_Q_OVERFLOW: no records */
        struct fan_handle dir;     /* DFID_NAME, DFID (name absent), or FID-typed parent: the directory */
        struct fan_name name;      /* "." for the directory itself */
        struct fan_handle old_dir; /* OLD_DFID_NAME */
        struct fan_name old_name;
        struct fan_handle new_dir; /* NEW_DFID_NAME */
        struct fan_name new_name;
        struct fan_handle object;  /* FID */
        bool has_pidfd;
        int pidfd;                 /* ≥ 0: ours to close; FAN_NOPIDFD (-1), FAN_EPIDFD (-2), or another negative */
        bool has_error;            /* FS_ERROR's record */
        int32_t error;
        uint32_t error_count;
};

struct fan_cursor {
        const uint8_t *data;
        size_t len, pos;
};
static inline struct fan_cursor fan_cursor_init(const void *data, size_t len)
{
        return (struct fan_cursor){ .data = data, .len = len };
}

/*
 * Returns 1 and an event; 0 at the end; -EBADMSG when the bytes are not what
 * the kernel writes (the rest of the buffer is then unusable); -EPROTO when the
 * metadata version is another.  Unknown record types are skipped.
 */
int fan_decode_next(struct fan_cursor *c, struct fan_event *ret);
