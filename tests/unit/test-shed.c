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

static void test_level(void **state)
{
        static const struct {
                unsigned before;
                uint64_t queued;
                unsigned after;
        } cases[] = {
                { 0, 0, 0 },  { 0, 100, 0 }, { 0, 101, 1 }, { 1, 101, 2 }, { 3, 101, 3 }, /* and no further */
                { 2, 100, 2 }, { 2, 50, 2 },  { 2, 49, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_int_equal(shed_level(cases[i].before, cases[i].queued, 100), cases[i].after);
}

/* Over a kill: all that there was, by rule and by number. */
static void test_kept(void **state)
{
        _cleanup_(shed_done) struct shed s = SHED_NULL, again = SHED_NULL;
        struct shed_kept kept = {}, twice = {};

        shed_note(&s, 5, "web", EV_MODIFY, 100);
        shed_note(&s, 7, "etc,web", EV_CREATE | EV_DELETE, 110);
        shed_note(&s, 8, NULL, 0, 120);
        shed_note(&s, 9, "web", EV_DELETE, 130);
        shed_keep(&s, &kept);
        assert_true(shed_kept_bounded(&kept) && shed_kept_valid(&kept, 9));
        assert_false(shed_kept_valid(&kept, 8));
        assert_int_equal(shed_restore(&again, &kept), 0);
        assert_int_equal(again.n_entries, 3);
        assert_string_equal(again.entries[0].rule, "");
        assert_string_equal(again.entries[1].rule, "etc,web");
        assert_int_equal(again.entries[1].events, EV_CREATE | EV_DELETE);
        assert_string_equal(again.entries[2].rule, "web");
        assert_int_equal(again.entries[2].count, 2);
        assert_int_equal(again.entries[2].first, 5);
        assert_int_equal(again.entries[2].last, 9);
        assert_int_equal(again.n_ranges, 2);
        assert_int_equal(again.ranges[1].first, 7);
        assert_int_equal(again.total, 4);
        assert_int_equal(again.last_usec, 130);
        shed_keep(&again, &twice);
        assert_memory_equal(&twice, &kept, shed_kept_size(&kept));

        /* and it goes on */
        shed_note(&again, 10, "web", EV_CREATE, 140);
        assert_int_equal(again.entries[2].count, 3);
        assert_int_equal(again.ranges[1].last, 10);
}

/* More rules, or longer names, than there is room for: counted together. */
static void test_kept_others(void **state)
{
        _cleanup_(shed_done) struct shed s = SHED_NULL, again = SHED_NULL;
        struct shed_kept kept = {};
        char name[SHED_NAME_SIZE + 1] = {};
        uint64_t count = 0;

        memset(name, 'a', sizeof(name) - 1);
        shed_note(&s, 1, name, EV_CREATE, 1);
        name[SHED_NAME_SIZE - 1] = '\0';
        shed_note(&s, 2, name, EV_CREATE, 1);
        for (uint64_t i = 0; i < SHED_MAX_KEPT; i++) {
                name[0] = 'b';
                name[1] = (char)('a' + i % 26);
                name[2] = (char)('a' + i / 26);
                shed_note(&s, 10 + i, name, EV_MODIFY, 1);
        }
        shed_keep(&s, &kept);
        assert_int_equal(kept.n_entries, SHED_MAX_KEPT);
        assert_string_equal(kept.entries[SHED_MAX_KEPT - 1].rule, SHED_OTHERS);
        assert_int_equal(kept.entries[SHED_MAX_KEPT - 1].count, 3);
        assert_int_equal(kept.entries[SHED_MAX_KEPT - 1].first, 1);
        assert_int_equal(kept.entries[SHED_MAX_KEPT - 1].events, EV_CREATE | EV_MODIFY);
        assert_true(shed_kept_valid(&kept, 100));
        assert_int_equal(shed_restore(&again, &kept), 0);
        for (size_t i = 0; i < again.n_entries; i++)
                count += again.entries[i].count;
        assert_int_equal(count, s.total);
}

static void test_kept_is_not_trusted(void **state)
{
        struct shed_kept kept = { .total = 1, .n_ranges = 2, .n_entries = 1,
                                  .ranges = { { 1, 2 }, { 4, 4 } }, .entries = { { "r", 3, 1, 1, 4 } } };

        assert_true(shed_kept_bounded(&kept) && shed_kept_valid(&kept, 4));
        kept.ranges[1].first = 2;
        assert_false(shed_kept_valid(&kept, 4));
        kept.ranges[1].first = 4;
        memset(kept.entries[0].rule, 'x', sizeof(kept.entries[0].rule));
        assert_false(shed_kept_valid(&kept, 4));
        kept.n_ranges = SHED_MAX_RANGES + 1;
        assert_false(shed_kept_bounded(&kept));
        kept.n_ranges = 0;
        kept.n_entries = SHED_MAX_KEPT + 1;
        assert_false(shed_kept_bounded(&kept));
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_by_rule),
                cmocka_unit_test(test_many_ranges),
                cmocka_unit_test(test_level),
                cmocka_unit_test(test_kept),
                cmocka_unit_test(test_kept_others),
                cmocka_unit_test(test_kept_is_not_trusted),
        };

        return cmocka_run_group_tests_name("shed", tests, NULL, NULL);
}
