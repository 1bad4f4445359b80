/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/fanotify.h>

#include <cmocka.h>

#include "decode.h"

/* ---- bytes as the kernel writes them ---- */

struct buffer {
        uint8_t bytes[4096];
        size_t len, event; /* where the current event begins */
};

static void put(struct buffer *b, const void *p, size_t len)
{
        memcpy(b->bytes + b->len, p, len);
        b->len += len;
}

static void put16(struct buffer *b, uint16_t v) { put(b, &v, sizeof(v)); }
static void put32(struct buffer *b, uint32_t v) { put(b, &v, sizeof(v)); }
static void put64(struct buffer *b, uint64_t v) { put(b, &v, sizeof(v)); }

static void set32(struct buffer *b, size_t at, uint32_t v) { memcpy(b->bytes + at, &v, sizeof(v)); }

static void begin_event(struct buffer *b, uint64_t mask, int32_t pid)
{
        b->event = b->len;
        put32(b, 24);
        put(b, (uint8_t[]){ FANOTIFY_METADATA_VERSION, 0 }, 2);
        put16(b, 24);
        put64(b, mask);
        put32(b, (uint32_t)FAN_NOFD);
        put32(b, (uint32_t)pid);
}

static void begin_record(struct buffer *b, uint8_t type, uint16_t len)
{
        put(b, (uint8_t[]){ type, 0 }, 2);
        put16(b, len);
}

static void end_event(struct buffer *b) { set32(b, b->event, (uint32_t)(b->len - b->event)); }

/* A record with a handle of 8 bytes of value `tag` and, if given, a name. */
static void put_fid(struct buffer *b, uint8_t type, uint8_t tag, const char *name)
{
        size_t name_len = name ? strlen(name) + 1 : 0;
        size_t padded = (name_len + 3) / 4 * 4;
        uint8_t handle[8];

        memset(handle, tag, sizeof(handle));
        begin_record(b, type, (uint16_t)(4 + 8 + 8 + 8 + padded));
        put64(b, 0x1122334455667788);
        put32(b, sizeof(handle));
        put32(b, 0x81);
        put(b, handle, sizeof(handle));
        put(b, name ? name : "", name_len);
        memset(b->bytes + b->len, 0, padded - name_len);
        b->len += padded - name_len;
}

static struct fan_cursor cursor(const struct buffer *b) { return fan_cursor_init(b->bytes, b->len); }

static void assert_handle(const struct fan_handle *h, uint8_t tag)
{
        uint8_t want[8];

        memset(want, tag, sizeof(want));
        assert_non_null(h->bytes);
        assert_int_equal(h->fsid, 0x1122334455667788);
        assert_int_equal(h->type, 0x81);
        assert_int_equal(h->len, 8);
        assert_memory_equal(h->bytes, want, sizeof(want));
}

static void assert_name(const struct fan_name *n, const char *want)
{
        assert_non_null(n->p);
        assert_int_equal(n->len, strlen(want));
        assert_string_equal(n->p, want);
}

/* ---- whole events ---- */

static void each_record_has_its_place(void **state)
{
        struct buffer b = {};
        struct fan_event e;

        begin_event(&b, FAN_RENAME | FAN_ONDIR, 42);
        put_fid(&b, FAN_EVENT_INFO_TYPE_OLD_DFID_NAME, 1, "old");
        put_fid(&b, FAN_EVENT_INFO_TYPE_NEW_DFID_NAME, 2, "newer");
        put_fid(&b, FAN_EVENT_INFO_TYPE_FID, 3, NULL);
        begin_record(&b, FAN_EVENT_INFO_TYPE_PIDFD, 8);
        put32(&b, 77);
        end_event(&b);
        begin_event(&b, FAN_CREATE, 43);
        put_fid(&b, FAN_EVENT_INFO_TYPE_DFID_NAME, 4, "n\n=\xff");
        put_fid(&b, FAN_EVENT_INFO_TYPE_FID, 5, NULL);
        end_event(&b);
        begin_event(&b, FAN_OPEN | FAN_ONDIR, 44);
        put_fid(&b, FAN_EVENT_INFO_TYPE_DFID, 6, NULL);
        end_event(&b);

        struct fan_cursor c = cursor(&b);
        assert_int_equal(fan_decode_next(&c, &e), 1);
        assert_int_equal(e.mask, FAN_RENAME | FAN_ONDIR);
        assert_int_equal(e.pid, 42);
        assert_int_equal(e.fd, FAN_NOFD);
        assert_handle(&e.old_dir, 1);
        assert_name(&e.old_name, "old");
        assert_handle(&e.new_dir, 2);
        assert_name(&e.new_name, "newer");
        assert_handle(&e.object, 3);
        assert_null(e.dir.bytes);
        assert_true(e.has_pidfd);
        assert_int_equal(e.pidfd, 77);

        assert_int_equal(fan_decode_next(&c, &e), 1);
        assert_handle(&e.dir, 4);
        assert_name(&e.name, "n\n=\xff");
        assert_handle(&e.object, 5);
        assert_false(e.has_pidfd);
        assert_int_equal(e.pidfd, FAN_NOPIDFD);
        assert_null(e.old_dir.bytes);

        assert_int_equal(fan_decode_next(&c, &e), 1);
        assert_handle(&e.dir, 6);
        assert_null(e.name.p);
        assert_int_equal(fan_decode_next(&c, &e), 0);
        assert_int_equal(fan_decode_next(&c, &e), 0);
}

static void overflow_has_no_records(void **state)
{
        struct buffer b = {};
        struct fan_event e;

        begin_event(&b, FAN_Q_OVERFLOW, 0);
        end_event(&b);
        struct fan_cursor c = cursor(&b);
        assert_int_equal(fan_decode_next(&c, &e), 1);
        assert_true(e.overflow);
        assert_int_equal(e.pid, 0);
        assert_int_equal(fan_decode_next(&c, &e), 0);
}

/* An error of a whole filesystem comes with a handle without bytes. */
static void fs_error_without_object(void **state)
{
        struct buffer b = {};
        struct fan_event e;

        begin_event(&b, FAN_FS_ERROR, 0);
        begin_record(&b, FAN_EVENT_INFO_TYPE_FID, 20);
        put64(&b, 0x99);
        put32(&b, 0);
        put32(&b, 0xff);
        begin_record(&b, FAN_EVENT_INFO_TYPE_ERROR, 12);
        put32(&b, 117);
        put32(&b, 3);
        end_event(&b);
        struct fan_cursor c = cursor(&b);
        assert_int_equal(fan_decode_next(&c, &e), 1);
        assert_true(e.has_error);
        assert_int_equal(e.error, 117);
        assert_int_equal(e.error_count, 3);
        assert_non_null(e.object.bytes);
        assert_int_equal(e.object.fsid, 0x99);
        assert_false(fan_handle_given(&e.object));
}

static void unknown_records_are_skipped(void **state)
{
        struct buffer b = {};
        struct fan_event e;

        begin_event(&b, FAN_CREATE, 1);
        begin_record(&b, 200, 12);
        put64(&b, UINT64_MAX);
        put_fid(&b, FAN_EVENT_INFO_TYPE_DFID_NAME, 9, "x");
        begin_record(&b, 201, 4);
        end_event(&b);
        struct fan_cursor c = cursor(&b);
        assert_int_equal(fan_decode_next(&c, &e), 1);
        assert_handle(&e.dir, 9);
        assert_name(&e.name, "x");
        assert_int_equal(fan_decode_next(&c, &e), 0);
}

static void negative_pidfds_are_told_apart(void **state)
{
        static const int32_t values[] = { FAN_NOPIDFD, FAN_EPIDFD, -ESRCH, 0, 7 };

        for (size_t i = 0; i < ELEMENTSOF(values); i++) {
                struct buffer b = {};
                struct fan_event e;

                begin_event(&b, FAN_OPEN, 1);
                begin_record(&b, FAN_EVENT_INFO_TYPE_PIDFD, 8);
                put32(&b, (uint32_t)values[i]);
                end_event(&b);
                struct fan_cursor c = cursor(&b);
                assert_int_equal(fan_decode_next(&c, &e), 1);
                assert_true(e.has_pidfd);
                assert_int_equal(e.pidfd, values[i]);
        }
}

/* A later kernel may have longer metadata: the records begin behind it. */
static void longer_metadata(void **state)
{
        struct buffer b = {};
        struct fan_event e;

        begin_event(&b, FAN_OPEN, 5);
        put64(&b, 0);
        b.bytes[b.event + 6] = 32;
        put_fid(&b, FAN_EVENT_INFO_TYPE_FID, 8, NULL);
        end_event(&b);
        struct fan_cursor c = cursor(&b);
        assert_int_equal(fan_decode_next(&c, &e), 1);
        assert_handle(&e.object, 8);
}

/* ---- bad bytes ---- */

/* One event with a name, an object and a pidfd: offsets of what is damaged are below. */
static void build_one(struct buffer *b)
{
        *b = (struct buffer){};
        begin_event(b, FAN_CREATE, 1);
        /* at 24: header 4, fsid 8, handle 8 + 8, name 4 */
        put_fid(b, FAN_EVENT_INFO_TYPE_DFID_NAME, 1, "abc");
        /* at 56 */
        begin_record(b, FAN_EVENT_INFO_TYPE_PIDFD, 8);
        put32(b, 3);
        end_event(b);
}

static void bad_bytes(void **state)
{
        static const struct {
                const char *what;
                size_t at;
                uint32_t value;
                size_t width;
                int want;
        } cases[] = {
                { "untouched", 0, 64, 4, 1 },
                { "event longer than the buffer", 0, 65, 4, -EBADMSG },
                { "event shorter than its metadata", 0, 20, 4, -EBADMSG },
                { "event of no length", 0, 0, 4, -EBADMSG },
                { "event ends inside a record", 0, 60, 4, -EBADMSG },
                { "event ends inside a record's header", 0, 58, 4, -EBADMSG },
                { "another version", 4, 2, 1, -EPROTO },
                { "metadata longer than the event", 6, 80, 2, -EBADMSG },
                { "metadata shorter than known", 6, 16, 2, -EBADMSG },
                { "record longer than the event", 26, 48, 2, -EBADMSG },
                { "record shorter than its header", 26, 3, 2, -EBADMSG },
                { "record of no length", 26, 0, 2, -EBADMSG },
                { "handle longer than the record", 36, 20, 4, -EBADMSG },
                { "handle longer than any", 36, 129, 4, -EBADMSG },
                { "handle length overflows", 36, 0xfffffff8, 4, -EBADMSG },
                { "name without an end", 55, 'd', 1, -EBADMSG },
                { "no room for a name", 36, 12, 4, -EBADMSG },
                { "record too short for a pidfd", 58, 4, 2, -EBADMSG },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct buffer b;
                struct fan_event e = { .pid = 4711 };

                build_one(&b);
                memcpy(b.bytes + cases[i].at, &cases[i].value, cases[i].width);
                struct fan_cursor c = cursor(&b);
                int r = fan_decode_next(&c, &e);
                if (r != cases[i].want)
                        fail_msg("%s: %d", cases[i].what, r);
                /* on failure neither the cursor moves nor the result is touched */
                if (r < 0) {
                        assert_int_equal(c.pos, 0);
                        assert_int_equal(e.pid, 4711);
                }
        }
}

/* It would fit its record, but no filesystem encodes so long a handle. */
static void handle_longer_than_any(void **state)
{
        for (uint32_t len = 128; len <= 129; len++) {
                struct buffer b = {};
                struct fan_event e;

                begin_event(&b, FAN_CREATE, 1);
                begin_record(&b, FAN_EVENT_INFO_TYPE_FID, 4 + 8 + 8 + 132);
                put64(&b, 1);
                put32(&b, len);
                put32(&b, 1);
                b.len += 132;
                end_event(&b);
                struct fan_cursor c = cursor(&b);
                assert_int_equal(fan_decode_next(&c, &e), len == 128 ? 1 : -EBADMSG);
        }
}

/* Every prefix of two events: only whole ones are given, from a block of that very size. */
static void every_prefix(void **state)
{
        struct buffer b;
        size_t one;

        build_one(&b);
        one = b.len;
        begin_event(&b, FAN_DELETE, 2);
        put_fid(&b, FAN_EVENT_INFO_TYPE_DFID_NAME, 2, "name");
        end_event(&b);
        for (size_t len = 0; len <= b.len; len++) {
                uint8_t *exact = malloc(len ? len : 1);
                struct fan_cursor c;
                struct fan_event e;
                size_t n = 0;
                int r;

                assert_non_null(exact);
                memcpy(exact, b.bytes, len);
                c = fan_cursor_init(exact, len);
                while ((r = fan_decode_next(&c, &e)) > 0)
                        n++;
                assert_int_equal(n, len == b.len ? 2 : len >= one ? 1 : 0);
                assert_int_equal(r, len == 0 || len == one || len == b.len ? 0 : -EBADMSG);
                free(exact);
        }
}

/* The buffer may begin anywhere. */
static void unaligned(void **state)
{
        struct buffer b;
        uint8_t shifted[sizeof(b.bytes) + 8];

        build_one(&b);
        for (size_t shift = 1; shift < 8; shift++) {
                struct fan_event e;

                memcpy(shifted + shift, b.bytes, b.len);
                struct fan_cursor c = fan_cursor_init(shifted + shift, b.len);
                assert_int_equal(fan_decode_next(&c, &e), 1);
                assert_handle(&e.dir, 1);
                assert_name(&e.name, "abc");
                assert_int_equal(e.pidfd, 3);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_record_has_its_place),
                cmocka_unit_test(overflow_has_no_records),
                cmocka_unit_test(fs_error_without_object),
                cmocka_unit_test(unknown_records_are_skipped),
                cmocka_unit_test(negative_pidfds_are_told_apart),
                cmocka_unit_test(longer_metadata),
                cmocka_unit_test(bad_bytes),
                cmocka_unit_test(handle_longer_than_any),
                cmocka_unit_test(every_prefix),
                cmocka_unit_test(unaligned),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
