/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "fan_uapi.h"
#include "fdinfo.h"

static const struct group_key group = { .kind = GROUP_MAIN };

/* As a 6.18 kernel prints it. */
static const char sample[] =
        "pos:\t0\n"
        "flags:\t02004002\n"
        "mnt_id:\t17\n"
        "ino:\t1039\n"
        "fanotify flags:1e33 event-flags:88000\n"
        "fanotify ino:2 sdev:700003 mflags:640 mask:0 ignored_mask:48000002 fhandle-bytes:8 fhandle-type:1 "
        "f_handle:0200000000abcdef\n"
        "fanotify mnt_id:56 mflags:0 mask:8000020 ignored_mask:0\n"
        "fanotify sdev:1b mflags:0 mask:58000340 ignored_mask:0\n"
        "fanotify mnt_ns:4026531841 mflags:0 mask:3000000 ignored_mask:0\n";

static void test_sample(void **state)
{
        _cleanup_fdinfo_ struct fdinfo f = FDINFO_NULL;
        const struct mark *m;

        assert_int_equal(fdinfo_parse(sample, strlen(sample), &group, &f), 0);
        assert_int_equal(f.init_flags, 0x1e33);
        assert_int_equal(f.event_flags, 0x88000);
        assert_int_equal(f.marks.n, 3);
        assert_int_equal(f.n_unknown, 0);

        m = &f.marks.marks[0];
        assert_int_equal(m->object.kind, MARK_FILESYSTEM);
        assert_int_equal(m->object.sdev_major, 0);
        assert_int_equal(m->object.sdev_minor, 0x1b);
        assert_int_equal(m->mask, 0x50000340);
        assert_string_equal(m->where, "");

        m = &f.marks.marks[1];
        assert_int_equal(m->object.kind, MARK_MOUNT);
        assert_int_equal(m->object.mount_id, 86);
        assert_int_equal(m->mask, FAN_OPEN);

        m = &f.marks.marks[2];
        assert_int_equal(m->object.kind, MARK_INODE);
        assert_int_equal(m->object.sdev_major, 7);
        assert_int_equal(m->object.sdev_minor, 3);
        assert_int_equal(m->object.handle.type, 1);
        assert_int_equal(m->object.handle.len, 8);
        assert_int_equal(m->object.handle.bytes[7], 0xef);
        assert_int_equal(m->mask, 0);
        assert_int_equal(m->ignore_mask, FAN_MODIFY | FAN_ONDIR | FAN_EVENT_ON_CHILD);
        assert_true(m->ignore_surv && m->ignore_new && m->evictable);
}

static void test_unknown(void **state)
{
        static const char text[] = "fanotify ino:2 sdev:1b mflags:0 mask:2 ignored_mask:0 \n"
                                   "fanotify sdev:1c mflags:0 mask:2 ignored_mask:0";
        _cleanup_fdinfo_ struct fdinfo f = FDINFO_NULL;

        assert_int_equal(fdinfo_parse(text, strlen(text), &group, &f), 0);
        assert_int_equal(f.n_unknown, 1);
        assert_int_equal(f.marks.n, 1);
        assert_int_equal(f.marks.marks[0].object.sdev_minor, 0x1c);
}

static void test_other_files(void **state)
{
        static const char *const cases[] = { "", "\n\n", "inotify wd:1 ino:2\n", "fanotif", "fanotify" };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_fdinfo_ struct fdinfo f = FDINFO_NULL;

                assert_int_equal(fdinfo_parse(cases[i], strlen(cases[i]), &group, &f), 0);
                assert_int_equal(f.marks.n, 0);
        }
}

static void test_bad(void **state)
{
        static const char *const cases[] = {
                "fanotify \n",
                "fanotify sdev:1b mflags:0 mask:2\n",
                "fanotify sdev:1b mflags:0 ignored_mask:2\n",
                "fanotify sdev: mflags:0 mask:2 ignored_mask:0\n",
                "fanotify sdev:xyz mflags:0 mask:2 ignored_mask:0\n",
                "fanotify sdev:1ffffffff mflags:0 mask:2 ignored_mask:0\n",
                "fanotify mnt_id:ffffffff mflags:0 mask:2 ignored_mask:0\n",
                "fanotify flags:1 event-flags:\n",
                "fanotify ino:2 mflags:0 mask:2 ignored_mask:0 fhandle-bytes:1 fhandle-type:1 f_handle:00\n",
                "fanotify ino:2 sdev:1 mflags:0 mask:2 ignored_mask:0 fhandle-bytes:2 fhandle-type:1 f_handle:00\n",
                "fanotify ino:2 sdev:1 mflags:0 mask:2 ignored_mask:0 fhandle-bytes:81 fhandle-type:1 f_handle:00\n",
                "fanotify ino:2 sdev:1 mflags:0 mask:2 ignored_mask:0 fhandle-bytes:1 fhandle-type:1 f_handle:0000\n",
                "fanotify ino:2 sdev:1 mflags:0 mask:2 ignored_mask:0 fhandle-bytes:1 fhandle-type:1 f_handle:0g\n",
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct fdinfo f = FDINFO_NULL;

                assert_int_equal(fdinfo_parse(cases[i], strlen(cases[i]), &group, &f), -EBADMSG);
                assert_null(f.marks.marks);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sample),
                cmocka_unit_test(test_unknown),
                cmocka_unit_test(test_other_files),
                cmocka_unit_test(test_bad),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
