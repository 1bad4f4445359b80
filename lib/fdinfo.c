/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fdinfo.h"

#include <errno.h>

#include "fan_uapi.h"

/* dev_t as the kernel keeps it: 12 bits of major over 20 bits of minor. */
#define SDEV_MINOR_BITS 20

void fdinfo_done(struct fdinfo *f)
{
        markset_done(&f->marks);
        *f = FDINFO_NULL;
}

/* One line: "fanotify" and words "key:value". */
struct line {
        const char *p, *end;
};

/* The value of the word "key:", which ends at a blank; NULL when there is none. */
static const char *find_value(const struct line *line, const char *key, size_t *ret_len)
{
        size_t key_len = strlen(key);
        const char *p = line->p;

        while (p < line->end) {
                const char *blank = memchr(p, ' ', (size_t)(line->end - p));
                size_t len = (size_t)((blank ? blank : line->end) - p);

                if (len > key_len && memcmp(p, key, key_len) == 0 && p[key_len] == ':') {
                        *ret_len = len - key_len - 1;
                        return p + key_len + 1;
                }
                p += len + 1;
        }
        return NULL;
}

static int hex_digit(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool get_hex(const struct line *line, const char *key, uint64_t max, uint64_t *ret)
{
        size_t len;
        const char *p = find_value(line, key, &len);
        uint64_t value = 0;

        if (!p || len == 0 || len > 16)
                return false;
        for (size_t i = 0; i < len; i++) {
                int digit = hex_digit(p[i]);

                if (digit < 0)
                        return false;
                value = value << 4 | (unsigned)digit;
        }
        *ret = value;
        return value <= max;
}

static bool get_sdev(const struct line *line, struct mark_object *o)
{
        uint64_t sdev;

        if (!get_hex(line, "sdev", UINT32_MAX, &sdev))
                return false;
        o->sdev_major = (uint32_t)sdev >> SDEV_MINOR_BITS;
        o->sdev_minor = (uint32_t)sdev & ((1u << SDEV_MINOR_BITS) - 1);
        return true;
}

static int get_handle(const struct line *line, struct handle *h)
{
        uint64_t bytes, type;
        size_t len;
        const char *p = find_value(line, "f_handle", &len);

        if (!p)
                return -ENOENT;
        if (!get_hex(line, "fhandle-bytes", sizeof(h->bytes), &bytes) ||
            !get_hex(line, "fhandle-type", UINT32_MAX, &type) || len != bytes * 2)
                return -EBADMSG;
        for (size_t i = 0; i < bytes; i++) {
                int high = hex_digit(p[2 * i]), low = hex_digit(p[2 * i + 1]);

                if (high < 0 || low < 0)
                        return -EBADMSG;
                h->bytes[i] = (uint8_t)(high << 4 | low);
        }
        h->type = (int32_t)(uint32_t)type;
        h->len = (uint32_t)bytes;
        return 0;
}

/* Which object a mark's line is about.  Returns 0, -ENOENT (cannot be told now), -EBADMSG. */
static int get_object(const struct line *line, struct mark_object *o)
{
        uint64_t id;
        size_t len;

        if (find_value(line, "ino", &len)) {
                o->kind = MARK_INODE;
                return get_sdev(line, o) ? get_handle(line, &o->handle) : -EBADMSG;
        }
        if (find_value(line, "mnt_id", &len)) {
                o->kind = MARK_MOUNT;
                if (!get_hex(line, "mnt_id", INT32_MAX, &id))
                        return -EBADMSG;
                o->mount_id = (int)id;
                return 0;
        }
        o->kind = MARK_FILESYSTEM;
        return get_sdev(line, o) ? 0 : -EBADMSG;
}

static int add_mark(struct fdinfo *f, const struct line *line, const struct group_key *group)
{
        struct mark m = { .group = *group, .where = (char *)"" };
        uint64_t mask, ignored, flags;
        size_t len;
        int r;

        if (find_value(line, "mnt_ns", &len))
                return 0;
        r = get_object(line, &m.object);
        if (r == -ENOENT) {
                f->n_unknown++;
                return 0;
        }
        if (r < 0 || !get_hex(line, "mask", UINT32_MAX, &mask) ||
            !get_hex(line, "ignored_mask", UINT32_MAX, &ignored) ||
            !get_hex(line, "mflags", UINT32_MAX, &flags))
                return -EBADMSG;
        m.mask = m.object.kind == MARK_INODE ? mask : mask & ~(uint64_t)FAN_EVENT_ON_CHILD;
        m.ignore_mask = ignored;
        m.ignore_surv = (flags & FAN_MARK_IGNORED_SURV_MODIFY) != 0;
        m.ignore_new = (flags & FAN_MARK_IGNORE) != 0;
        m.evictable = (flags & FAN_MARK_EVICTABLE) != 0;
        return markset_append(&f->marks, &m);
}

static int parse_line(struct fdinfo *f, struct line line, const struct group_key *group)
{
        static const char prefix[] = "fanotify ";
        uint64_t flags, event_flags;
        size_t len;

        if ((size_t)(line.end - line.p) < sizeof(prefix) - 1 ||
            memcmp(line.p, prefix, sizeof(prefix) - 1) != 0)
                return 0;
        line.p += sizeof(prefix) - 1;
        if (!find_value(&line, "flags", &len))
                return add_mark(f, &line, group);
        if (!get_hex(&line, "flags", UINT32_MAX, &flags) ||
            !get_hex(&line, "event-flags", UINT32_MAX, &event_flags))
                return -EBADMSG;
        f->init_flags = (unsigned)flags;
        f->event_flags = (unsigned)event_flags;
        return 0;
}

int fdinfo_parse(const char *text, size_t len, const struct group_key *group, struct fdinfo *ret)
{
        _cleanup_fdinfo_ struct fdinfo f = FDINFO_NULL;
        const char *end = text + len;

        while (text < end) {
                const char *newline = memchr(text, '\n', (size_t)(end - text));
                struct line line = { .p = text, .end = newline ? newline : end };
                int r = parse_line(&f, line, group);

                if (r < 0)
                        return r;
                text = line.end + 1;
        }
        markset_sort(&f.marks); /* ten thousands of them, newest first: not one by one */
        *ret = f;
        f = FDINFO_NULL;
        return 0;
}
