/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fan_uapi.h"
#include "markset.h"
#include "strbuf.h"

static const struct group_key main_group = { .kind = GROUP_MAIN };

static struct mark_object filesystem(uint32_t major, uint32_t minor)
{
        return (struct mark_object){ .kind = MARK_FILESYSTEM, .sdev_major = major, .sdev_minor = minor };
}

static struct mark *get(struct markset *s, struct mark_object object, const char *where)
{
        struct mark *m = NULL;

        assert_int_equal(markset_get(s, &main_group, &object, where, &m), 0);
        return m;
}

static void test_sorted(void **state)
{
        _cleanup_markset_ struct markset s = MARKSET_NULL;

        for (uint32_t i = 0; i < 100; i++)
                get(&s, filesystem(8, i * 37 % 100), "/x")->mask = i * 37 % 100;
        assert_int_equal(s.n, 100);
        for (uint32_t i = 0; i < 100; i++) {
                struct mark_object object = filesystem(8, i);

                assert_int_equal(s.marks[i].mask, i);
                assert_ptr_equal(markset_find(&s, &main_group, &object), &s.marks[i]);
        }
        for (uint32_t i = 0; i < 100; i += 2) {
                struct mark_object object = filesystem(8, i);

                markset_remove(&s, markset_find(&s, &main_group, &object));
                assert_null(markset_find(&s, &main_group, &object));
        }
        assert_int_equal(s.n, 50);
        assert_int_equal(s.marks[49].mask, 99);
}

static void test_get_twice(void **state)
{
        _cleanup_markset_ struct markset s = MARKSET_NULL;

        get(&s, filesystem(8, 1), "/first")->mask = FAN_CREATE;
        assert_int_equal(get(&s, filesystem(8, 1), "/second")->mask, FAN_CREATE);
        assert_int_equal(s.n, 1);
        assert_string_equal(s.marks[0].where, "/first");
}

/* What makes two objects different, and what does not. */
static void test_compare(void **state)
{
        const struct mark_object fs = filesystem(8, 1);
        struct mark_object mount = { .kind = MARK_MOUNT, .mount_id = 1, .sdev_major = 8 };
        struct mark_object same_mount = { .kind = MARK_MOUNT, .mount_id = 1, .sdev_major = 9 };
        struct mark_object inode = { .kind = MARK_INODE, .sdev_major = 8, .sdev_minor = 1,
                                     .handle = { .type = 1, .len = 2, .bytes = { 1, 2 } } };
        struct mark_object other = inode;
        const struct group_key of_mount = { .kind = GROUP_MOUNT, .mount_id = 1 };
        const struct group_key of_other = { .kind = GROUP_MOUNT, .mount_id = 2 };

        assert_int_equal(mark_object_compare(&mount, &same_mount), 0);
        assert_true(mark_object_compare(&fs, &mount) < 0);
        assert_true(mark_object_compare(&mount, &fs) > 0);
        other.handle.bytes[2] = 9; /* beyond len */
        assert_int_equal(mark_object_compare(&inode, &other), 0);
        other.handle.bytes[1] = 3;
        assert_true(mark_object_compare(&inode, &other) < 0);
        other = inode;
        other.handle.len = 1;
        assert_true(mark_object_compare(&inode, &other) > 0);
        other = inode;
        other.handle.type = 2;
        assert_true(mark_object_compare(&inode, &other) < 0);
        other = inode;
        other.sdev_minor = 0;
        assert_true(mark_object_compare(&inode, &other) > 0);
        assert_true(group_key_compare(&main_group, &of_mount) < 0);
        assert_true(group_key_compare(&of_other, &of_mount) > 0);
        assert_int_equal(group_key_compare(&of_mount, &of_mount), 0);
}

static void test_copy(void **state)
{
        _cleanup_markset_ struct markset s = MARKSET_NULL, copy = MARKSET_NULL;

        get(&s, filesystem(8, 1), "/a")->mask = FAN_CREATE;
        get(&s, filesystem(8, 2), "/b")->ignore_mask = FAN_DELETE;
        assert_int_equal(markset_copy(&s, &copy), 0);
        assert_int_equal(copy.n, 2);
        assert_int_equal(copy.marks[1].ignore_mask, FAN_DELETE);
        assert_string_equal(copy.marks[1].where, "/b");
        assert_ptr_not_equal(copy.marks[1].where, s.marks[1].where);
}

static void test_print(void **state)
{
        static const struct {
                struct mark mark;
                const char *text;
        } cases[] = {
                { { .object = { .kind = MARK_FILESYSTEM, .sdev_major = 8, .sdev_minor = 1 },
                    .mask = FAN_RENAME | FAN_CREATE | FAN_DELETE | FAN_ONDIR,
                    .where = (char *)"/srv" },
                  "filesystem 8:1 at /srv: mask create,delete,rename,ondir" },
                { { .object = { .kind = MARK_MOUNT, .mount_id = 42 }, .mask = FAN_OPEN, .where = (char *)"/m\n" },
                  "mount 42 at /m\\n: mask open" },
                { { .object = { .kind = MARK_INODE, .sdev_minor = 7, .handle = { .len = 2, .bytes = { 1, 0xab } } },
                    .mask = FAN_MODIFY,
                    .ignore_mask = FAN_ATTRIB | FAN_EVENT_ON_CHILD,
                    .ignore_surv = true,
                    .where = (char *)"/d" },
                  "inode 0:7/01ab at /d: mask modify; ignore attrib,on_child" },
                { { .object = { .kind = MARK_FILESYSTEM },
                    .ignore_mask = FAN_MODIFY,
                    .evictable = true,
                    .where = (char *)"/f" },
                  "filesystem 0:0 at /f: ignore modify until modified (evictable)" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

                mark_print(&cases[i].mark, &out);
                assert_string_equal(strbuf_str(&out), cases[i].text);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sorted), cmocka_unit_test(test_get_twice), cmocka_unit_test(test_compare),
                cmocka_unit_test(test_copy),   cmocka_unit_test(test_print),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
