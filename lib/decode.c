/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * FAN_EVENT_OK() only compares the event's length with the buffer; everything
 * inside an event is checked here: each info record against its event, each
 * handle and each name against its record.  Fields are copied out one by one,
 * since nothing promises their alignment in a buffer that may come from a file.
 */

#include <errno.h>
#include <sys/fanotify.h>

#include "decode.h"

/* the fixed parts as fanotify(7) lays them out; the structs of <linux/fanotify.h>
 * are not used for reading, they would be read unaligned */
#define METADATA_SIZE 24u
#define INFO_HEADER_SIZE 4u
#define FSID_SIZE 8u
#define HANDLE_HEADER_SIZE 8u
/* MAX_HANDLE_SZ of <fcntl.h>: no filesystem encodes a longer handle */
#define HANDLE_MAX 128u

static uint16_t get16(const uint8_t *p)
{
        uint16_t v;
        memcpy(&v, p, sizeof(v));
        return v;
}

static uint32_t get32(const uint8_t *p)
{
        uint32_t v;
        memcpy(&v, p, sizeof(v));
        return v;
}

static uint64_t get64(const uint8_t *p)
{
        uint64_t v;
        memcpy(&v, p, sizeof(v));
        return v;
}

/* fsid, handle and, where ret_name is given, the NUL-terminated name behind it. */
static int decode_fid(const uint8_t *p, size_t len, struct fan_handle *ret, struct fan_name *ret_name)
{
        uint32_t handle_len;

        if (len < FSID_SIZE + HANDLE_HEADER_SIZE)
                return -EBADMSG;
        handle_len = get32(p + FSID_SIZE);
        if (handle_len > HANDLE_MAX || handle_len > len - FSID_SIZE - HANDLE_HEADER_SIZE)
                return -EBADMSG;

        const uint8_t *bytes = p + FSID_SIZE + HANDLE_HEADER_SIZE;
        if (ret_name) {
                const uint8_t *name = bytes + handle_len;
                size_t room = len - FSID_SIZE - HANDLE_HEADER_SIZE - handle_len;
                const uint8_t *end = room > 0 ? memchr(name, 0, room) : NULL;

                if (!end)
                        return -EBADMSG;
                if (end != name)
                        *ret_name = (struct fan_name){ .p = (const char *)name, .len = (size_t)(end - name) };
        }
        *ret = (struct fan_handle){
                .fsid = (uint64_t)get32(p) | (uint64_t)get32(p + 4) << 32,
                .type = (int32_t)get32(p + FSID_SIZE + 4),
                .len = handle_len,
                .bytes = bytes,
        };
        return 0;
}

/* One info record without its header.  Types that this does not know are skipped:
 * later kernels add some. */
static int decode_info(uint8_t type, const uint8_t *p, size_t len, struct fan_event *e)
{
        switch (type) {
        case FAN_EVENT_INFO_TYPE_FID:
                return decode_fid(p, len, &e->object, NULL);
        case FAN_EVENT_INFO_TYPE_DFID:
                return decode_fid(p, len, &e->dir, NULL);
        case FAN_EVENT_INFO_TYPE_DFID_NAME:
                return decode_fid(p, len, &e->dir, &e->name);
        case FAN_EVENT_INFO_TYPE_OLD_DFID_NAME:
                return decode_fid(p, len, &e->old_dir, &e->old_name);
        case FAN_EVENT_INFO_TYPE_NEW_DFID_NAME:
                return decode_fid(p, len, &e->new_dir, &e->new_name);
        case FAN_EVENT_INFO_TYPE_PIDFD:
                if (len < 4)
                        return -EBADMSG;
                e->has_pidfd = true;
                e->pidfd = (int32_t)get32(p);
                return 0;
        case FAN_EVENT_INFO_TYPE_ERROR:
                if (len < 8)
                        return -EBADMSG;
                e->has_error = true;
                e->error = (int32_t)get32(p);
                e->error_count = get32(p + 4);
                return 0;
        default:
                return 0;
        }
}

int fan_decode_next(struct fan_cursor *c, struct fan_event *ret)
{
        size_t left = c->len - c->pos;
        const uint8_t *p = c->data + c->pos;

        if (left == 0)
                return 0;
        if (left < METADATA_SIZE)
                return -EBADMSG;

        uint32_t event_len = get32(p);
        uint16_t metadata_len = get16(p + 6);

        if (p[4] != FANOTIFY_METADATA_VERSION)
                return -EPROTO;
        if (event_len > left || metadata_len < METADATA_SIZE || metadata_len > event_len)
                return -EBADMSG;

        struct fan_event e = {
                .mask = get64(p + 8),
                .fd = (int32_t)get32(p + 16),
                .pid = (int32_t)get32(p + 20),
                .pidfd = FAN_NOPIDFD,
        };
        e.overflow = e.mask & FAN_Q_OVERFLOW;

        for (size_t at = metadata_len; at < event_len;) {
                if (event_len - at < INFO_HEADER_SIZE)
                        return -EBADMSG;

                uint16_t info_len = get16(p + at + 2);
                if (info_len < INFO_HEADER_SIZE || info_len > event_len - at)
                        return -EBADMSG;

                int r = decode_info(p[at], p + at + INFO_HEADER_SIZE, info_len - INFO_HEADER_SIZE, &e);
                if (r < 0)
                        return r;
                at += info_len;
        }

        c->pos += event_len;
        *ret = e;
        return 1;
}
