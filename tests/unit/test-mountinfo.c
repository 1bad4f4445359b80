/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "mountinfo.h"
#include "strbuf.h"

static const char table[] =
        "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw\n"
        "not a line of a mount table\n"
        "37 36 0:45 /a\\040b /c\\011d\\134 rw - tmpfs none rw\n"
        "38 36 0:46 /\n"
        "39 36 0:47 / / rw - tmpfs none rw\n";

static int print(void *userdata, const struct mountinfo *m)
{
        strbuf_addf(userdata, "%d %u:%u [%s] [%s]\n", m->id, m->major, m->minor, m->root, m->mountpoint);
        return m->id == 39 ? 7 : 0;
}

static void test_lines(void **state)
{
        char path[] = "/tmp/fawatch-test-mountinfo-XXXXXX";
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;
        int fd = mkstemp(path);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, table, sizeof(table) - 1), sizeof(table) - 1);
        (void)close(fd);
        assert_int_equal(mountinfo_foreach(path, print, &out), 7);
        assert_string_equal(strbuf_str(&out), "36 98:0 [/mnt1] [/mnt2]\n"
                                              "37 0:45 [/a b] [/c\td\\]\n"
                                              "39 0:47 [/] [/]\n");
        (void)unlink(path);
        assert_int_equal(mountinfo_foreach(path, print, &out), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines) };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("mountinfo", tests, NULL, NULL);
}
