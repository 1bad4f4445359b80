/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Bytes from a fanotify group's fd → one bounds-checked view an event
 * (fanotify(7), "Reading fanotify events").  Nothing is copied: the view points
 * into the buffer.
 *
 * In the groups that fawatchd opens (FAN_REPORT_DFID_NAME_TARGET and less) a record
 * of type FID is the object itself.  It stands alone where the event has no name:
 * DELETE_SELF, MOVE_SELF and the ATTRIB of a changed link count.
 */

#include "base.h"

struct fan_handle { /* of one info record; p points at f_handle */
        uint64_t fsid;
        int32_t type;
        uint32_t len;
        const uint8_t *bytes; /* NULL = no such record; len 0 = one without an object (FS_ERROR) */
};
static inline bool fan_handle_given(const struct fan_handle *h) { return h->bytes && h->len > 0; }
static inline bool fan_handle_equal(const struct fan_handle *a, const struct fan_handle *b)
{
        return fan_handle_given(a) && fan_handle_given(b) && a->fsid == b->fsid && a->type == b->type &&
               a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

struct fan_name {
        const char *p; /* a NUL follows; NULL = no name */
        size_t len;
};

struct fan_event {
        uint64_t mask;             /* FAN_ bits */
        int32_t pid;
        int fd;                    /* event fd of fd-mode groups, else < 0 */
        bool overflow;             /* FAN_Q_OVERFLOW: about no object and no process */
        struct fan_handle dir;     /* DFID_NAME, or DFID (name absent): the directory */
        struct fan_name name;      /* "." for the directory itself */
        struct fan_handle old_dir; /* OLD_DFID_NAME */
        struct fan_name old_name;
        struct fan_handle new_dir; /* NEW_DFID_NAME */
        struct fan_name new_name;
        struct fan_handle object;  /* FID */
        bool has_pidfd;
        int pidfd;                 /* ≥ 0: ours to close; FAN_NOPIDFD, FAN_EPIDFD or another negative */
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
