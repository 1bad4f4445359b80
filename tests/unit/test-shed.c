/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shed.h"
#include "vocab.h"

static void test_by_rule(void **state)
{
        _cleanup_(shed_done) struct shed s = SHED_NULL;

        assert_int_equal(shed_note(&s, 5, "web", EV_MODIFY, 100), 0);
        assert_int_equal(shed_note(&s, 6, "etc", EV_CREATE, 110), 0);
        assert_int_equal(shed_note(&s, 7, NULL, 0, 120), 0);
        assert_int_equal(shed_note(&s, 9, "web", EV_DELETE, 130), 0);
        assert_int_equal(shed_note(&s, 10, "etc,web", EV_ATTRIB, 140), 0);

        static const struct shed_entry expected[] = {
                { (char *)"", 1, 0, 7, 7 },
                { (char *)"etc", 1, EV_CREATE, 6, 6 },
                { (char *)"etc,web", 1, EV_ATTRIB, 10, 10 },
                { (char *)"web", 2, EV_MODIFY | EV_DELETE, 5, 9 },
        };

        assert_int_equal(s.n_entries, ELEMENTSOF(expected));
        for (size_t i = 0; i < ELEMENTSOF(expected); i++) {
                assert_string_equal(s.entries[i].rule, expected[i].rule);
                assert_int_equal(s.entries[i].count, expected[i].count);
                assert_int_equal(s.entries[i].events, expected[i].events);
                assert_int_equal(s.entries[i].first, expected[i].first);
                assert_int_equal(s.entries[i].last, expected[i].last);
        }
        assert_int_equal(s.total, 5);
        assert_int_equal(s.first_usec, 100);
        assert_int_equal(s.last_usec, 140);
        assert_int_equal(s.n_ranges, 2);
        assert_int_equal(s.ranges[0].first, 5);
        assert_int_equal(s.ranges[0].last, 7);
        assert_int_equal(s.ranges[1].first, 9);
        assert_int_equal(s.ranges[1].last, 10);
        assert_false(s.merged_ranges);

        shed_done(&s);
        assert_int_equal(s.total, 0);
        assert_null(s.entries);
}

/* Beyond the bound the two nearest become one, and the account says so. */
static void test_many_ranges(void **state)
{
        _cleanup_(shed_done) struct shed s = SHED_NULL;

        for (uint64_t i = 1; i <= SHED_MAX_RANGES; i++)
                shed_note(&s, 100 * i - (i == 20 ? 90 : 0), "r", EV_CREATE, i);
        assert_int_equal(s.n_ranges, SHED_MAX_RANGES);
        assert_false(s.merged_ranges);

        shed_note(&s, 9000, "r", EV_CREATE, 1);
        assert_true(s.merged_ranges);
        assert_int_equal(s.n_ranges, SHED_MAX_RANGES);
        assert_int_equal(s.ranges[18].first, 1900); /* 1900 and 1910 are the nearest */
        assert_int_equal(s.ranges[18].last, 1910);
        assert_int_equal(s.ranges[19].first, 2100);
        assert_int_equal(s.ranges[SHED_MAX_RANGES - 1].first, 9000);
        for (size_t i = 1; i < s.n_ranges; i++)
                assert_true(s.ranges[i - 1].last < s.ranges[i].first);
        assert_int_equal(s.total, SHED_MAX_RANGES + 1);
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_by_rule),
                cmocka_unit_test(test_many_ranges),
        };

        return cmocka_run_group_tests_name("shed", tests, NULL, NULL);
}
