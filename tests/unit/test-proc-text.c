/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "proc_text.h"

/* the fields from the state to the start time, which is 4711 */
#define REST(ppid, tty, flags)                                                                               \
        " S " ppid " 10 10 " tty " -1 " flags                                                                \
        " 1 2 3 4 5 6 7 8 20 0 1 0 4711 123456 78 18446744073709551615 1 1\n"

static void stat_lines(void **state)
{
        static const struct {
                const char *text;
                const char *comm;
                int32_t ppid;
                uint32_t tty_nr, flags;
        } cases[] = {
                { "1234 (bash)" REST("1", "34816", "4194304"), "bash", 1, 34816, 4194304 },
                { "2 (kthreadd)" REST("0", "0", "2129984"), "kthreadd", 0, 0, 2129984 },
                { "7 (a) S 99 (b c)" REST("5", "0", "0"), "a) S 99 (b c", 5, 0, 0 },
                { "7 ())" REST("5", "0", "0"), ")", 5, 0, 0 },
                { "7 (two\nlines)" REST("5", "0", "0"), "two\nlines", 5, 0, 0 },
                { "7 ()" REST("5", "0", "0"), "", 5, 0, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct proc_stat s;

                assert_int_equal(proc_parse_stat(cases[i].text, strlen(cases[i].text), &s), 0);
                assert_int_equal(s.comm.len, strlen(cases[i].comm));
                assert_memory_equal(s.comm.p, cases[i].comm, s.comm.len);
                assert_int_equal(s.state, 'S');
                assert_int_equal(s.ppid, cases[i].ppid);
                assert_int_equal(s.tty_nr, cases[i].tty_nr);
                assert_int_equal(s.flags, cases[i].flags);
                assert_int_equal(s.start_ticks, 4711);
        }
}

static void bad_stat_lines(void **state)
{
        static const char *const cases[] = {
                "", "1", "1 (x", "1 x)", "1 )x(", "1 (x)", "1 (x) S", "1 (x) S 1 2 3\n", "1 (x)S 1 2 3",
                "1 (x) S 1 10 10 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0\n", "1 (x) S one 10\n",
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct proc_stat s = { .ppid = 4711 };

                assert_int_equal(proc_parse_stat(cases[i], strlen(cases[i]), &s), -EBADMSG);
                assert_int_equal(s.ppid, 4711);
        }
}

static void ids_of_status(void **state)
{
        static const char full[] = "Name:\tx\\nUid:\\t9\nUmask:\t0022\nUid:\t1000\t0\t1\t2\n"
                                   "Gid:\t100\t50\t1\t2\nGroups:\t4 \n";
        static const char part[] = "Name:\tx\nUid:\t7\t8\t9\t9\n";
        struct proc_ids ids;

        proc_parse_status_ids(full, strlen(full), &ids);
        assert_int_equal(ids.uid, 1000);
        assert_int_equal(ids.euid, 0);
        assert_int_equal(ids.gid, 100);
        assert_int_equal(ids.egid, 50);
        proc_parse_status_ids(part, strlen(part), &ids);
        assert_int_equal(ids.euid, 8);
        assert_int_equal(ids.egid, ID_UNKNOWN);
        proc_parse_status_ids("", 0, &ids);
        assert_int_equal(ids.uid, ID_UNKNOWN);
}

static void single_ids(void **state)
{
        static const struct {
                const char *text;
                uint32_t want;
        } cases[] = {
                { "0", 0 },
                { "1000\n", 1000 },
                { "4294967294", 4294967294 },
                { "4294967295", ID_UNKNOWN },
                { "4294967296", ID_UNKNOWN },
                { "99999999999999999999999", ID_UNKNOWN },
                { "-1", ID_UNKNOWN },
                { "", ID_UNKNOWN },
                { "x", ID_UNKNOWN },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_int_equal(proc_parse_id(cases[i].text, strlen(cases[i].text)), cases[i].want);
}

static void terminals(void **state)
{
        static const struct {
                uint32_t tty_nr;
                const char *want;
        } cases[] = {
                { 0, "" },
                { 136 << 8 | 3, "pts/3" },
                { 136 << 8 | 0x2c | 1 << 20, "pts/300" },
                { 4 << 8 | 1, "tty1" },
                { 4 << 8 | 64, "ttyS0" },
                { 5 << 8 | 1, "console" },
                { 229 << 8 | 0, "hvc0" },
                { 204 << 8 | 65, "ttyAMA1" },
                { 188 << 8 | 2, "ttyUSB2" },
                { 250 << 8 | 9, "250:9" },
        };
        char name[PROC_TTY_MAX];

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                proc_tty_name(cases[i].tty_nr, name);
                assert_string_equal(name, cases[i].want);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(stat_lines),
                cmocka_unit_test(bad_stat_lines),
                cmocka_unit_test(ids_of_status),
                cmocka_unit_test(single_ids),
                cmocka_unit_test(terminals),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
