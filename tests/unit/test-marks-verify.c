/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is placed is held against the kernel, from fdinfo and, with evictable marks in the
 * group, without it: marks are changed behind the street's back, and /proc/self/fdinfo is
 * covered where nobody may look into it.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

#include "fan_uapi.h"
#include "ignore_fixture.h"
#include "strbuf.h"

#define RULES                                                                                                \
        "watch: { all: { path = \"/mnt\"; events = [ \"create\", \"delete\", \"rename\", \"modify\" ]; }; };\n" \
        "ignore: { d: { path = \"/mnt/d\"; }; };\n"

static void shell(void *command)
{
        if (system(command) != 0)
                _exit(9);
}

static void open_scene(struct ignore_street *s, bool learned)
{
        static char tree[] = "mkdir -p /mnt/d/e", learn[] = "echo > /mnt/d/e/g";

        ignore_mount("tmpfs");
        ignore_do(shell, tree);
        ignore_open(s, RULES, true);
        if (learned)
                ignore_do(shell, learn);
        ignore_run(s);
        assert_int_equal(learn_evictable(s->street.learn), learned);
        ignore_clear();
}

static void close_scene(struct ignore_street *s)
{
        ignore_close(s);
        ignore_unmount();
}

static void cover_fdinfo(bool cover)
{
        if (cover)
                assert_int_equal(mount("covered", "/proc/self/fdinfo", "tmpfs", 0, NULL), 0);
        else
                assert_int_equal(umount2("/proc/self/fdinfo", 0), 0);
}

/* Another hand at the group. */
static void behind_its_back(struct ignore_street *s, unsigned flags, uint64_t bits, const char *path)
{
        struct fan_group *const *groups;

        assert_true(marks_groups(s->street.marks, &groups) >= 1);
        assert_int_equal(fan_mark(fan_group_fd(groups[0]), flags, bits, AT_FDCWD, path), 0);
}

/* The differences found and mended, and nothing is left to be found. */
static int verify(struct ignore_street *s, struct strbuf *report)
{
        uint64_t before = s->street.counters.marks_repaired;
        int n = reload_verify(&s->street, report);

        assert_true(n >= 0);
        assert_int_equal(s->street.counters.marks_repaired - before, n);
        assert_int_equal(reload_repair(&s->street, s->generation), 0);
        assert_int_equal(reload_verify(&s->street, NULL), 0);
        return n;
}

#define ALL        (FAN_CREATE | FAN_DELETE | FAN_RENAME | FAN_MODIFY | FAN_ATTRIB | FAN_ONDIR | FAN_EVENT_ON_CHILD)
#define IGNORE_OFF (FAN_MARK_REMOVE | FAN_MARK_IGNORE | FAN_MARK_IGNORED_SURV_MODIFY)

static void test_gone(void **state)
{
        static char make[] = ": > /mnt/new; : > /mnt/d/new";

        NEEDS_KERNEL();
        for (int learned = 0; learned < 2; learned++) {
                _cleanup_strbuf_ struct strbuf report = STRBUF_NULL;
                struct ignore_street s;

                open_scene(&s, learned);
                uint64_t others = s.street.counters.events_ignored + s.street.counters.events_filtered;
                if (learned)
                        cover_fdinfo(true);
                assert_int_equal(verify(&s, &report), 0);

                behind_its_back(&s, FAN_MARK_REMOVE | FAN_MARK_FILESYSTEM, ALL, "/mnt");
                behind_its_back(&s, IGNORE_OFF, ALL & ~(uint64_t)FAN_RENAME, "/mnt/d");
                assert_int_equal(verify(&s, &report), 2);
                assert_non_null(strstr(strbuf_str(&report), "gone: filesystem"));
                assert_non_null(strstr(strbuf_str(&report), "gone: inode"));
                ignore_do(shell, make);
                ignore_run(&s);
                assert_string_equal(ignore_lines(), "create /mnt/new\n");
                assert_int_equal(s.street.counters.events_ignored + s.street.counters.events_filtered, others);
                if (learned)
                        cover_fdinfo(false);
                close_scene(&s);
        }
}

/* Bits that went are put back; only fdinfo can tell that they had gone. */
static void test_changed(void **state)
{
        static char make[] = ": > /mnt/new", ignored[] = ": > /mnt/d/new";

        NEEDS_KERNEL();
        for (int learned = 0; learned < 2; learned++) {
                _cleanup_strbuf_ struct strbuf report = STRBUF_NULL;
                struct ignore_street s;

                open_scene(&s, learned);
                if (learned)
                        cover_fdinfo(true);
                behind_its_back(&s, FAN_MARK_REMOVE | FAN_MARK_FILESYSTEM, FAN_CREATE, "/mnt");
                behind_its_back(&s, IGNORE_OFF, FAN_CREATE, "/mnt/d");
                assert_int_equal(verify(&s, &report), learned ? 0 : 2);
                assert_true(learned || strstr(strbuf_str(&report), "changed: filesystem"));
                ignore_do(shell, make);
                ignore_run(&s);
                assert_string_equal(ignore_lines(), "create /mnt/new\n");

                uint64_t read = s.street.counters.events_read;
                ignore_do(shell, ignored);
                ignore_run(&s);
                assert_int_equal(s.street.counters.events_read, read);
                if (learned)
                        cover_fdinfo(false);
                close_scene(&s);
        }
}

/* An object that was deleted took its mark along: that is no difference. */
static void test_deleted(void **state)
{
        static char remove[] = "rm -r /mnt/d";

        NEEDS_KERNEL();
        for (int learned = 0; learned < 2; learned++) {
                struct ignore_street s;

                open_scene(&s, learned);
                size_t placed = marks_placed(s.street.marks)->n;
                ignore_do(shell, remove);
                assert_int_equal(reload_verify(&s.street, NULL), 0);
                assert_int_equal(marks_placed(s.street.marks)->n, placed - 1);
                ignore_run(&s);
                close_scene(&s);
        }
}

static void test_not_ours(void **state)
{
        _cleanup_strbuf_ struct strbuf report = STRBUF_NULL;
        struct ignore_street s;

        NEEDS_KERNEL();
        open_scene(&s, false);
        behind_its_back(&s, FAN_MARK_ADD, FAN_OPEN, "/mnt/d/e");
        assert_int_equal(verify(&s, &report), 1);
        assert_non_null(strstr(strbuf_str(&report), "not ours: inode"));
        close_scene(&s);
}

static void print_set(const struct markset *set, struct strbuf *out)
{
        for (size_t i = 0; i < set->n; i++) {
                struct mark m = set->marks[i];

                m.where = (char *)"";
                m.ignore_surv &= m.ignore_mask != 0;
                if (m.object.kind == MARK_INODE && !(m.mask & FAN_ONDIR))
                        m.mask &= ~(uint64_t)FAN_EVENT_ON_CHILD; /* the kernel's own */
                mark_print(&m, out);
                strbuf_addc(out, '\n');
        }
}

/* What people are shown is the same, read or believed. */
static void test_list(void **state)
{
        _cleanup_strbuf_ struct strbuf believed = STRBUF_NULL, shown = STRBUF_NULL;
        _cleanup_markset_ struct markset list = MARKSET_NULL, actual = MARKSET_NULL;
        struct fan_group *const *groups;
        struct ignore_street s;

        NEEDS_KERNEL();
        open_scene(&s, true);
        cover_fdinfo(true);
        assert_int_equal(reload_list_marks(&s.street, &list), 0);
        cover_fdinfo(false);
        print_set(&list, &believed);
        assert_int_equal(marks_groups(s.street.marks, &groups), 1);
        assert_int_equal(fan_group_read_marks(groups[0], &actual), 0);
        print_set(&actual, &shown);
        assert_string_equal(strbuf_str(&believed), strbuf_str(&shown));
        close_scene(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_gone),     cmocka_unit_test(test_changed), cmocka_unit_test(test_deleted),
                cmocka_unit_test(test_not_ours), cmocka_unit_test(test_list),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        ignore_enter();
        return cmocka_run_group_tests_name("marks-verify", tests, NULL, NULL);
}
