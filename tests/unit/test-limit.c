/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "limit.h"
#include "vocab.h"

#define T0 (1000 * USEC_PER_SEC)

static struct limit_offer event_of(uint32_t rule, uint64_t at)
{
        return (struct limit_offer){
                .rule = rule, .limit_count = 3, .limit_usec = 10 * USEC_PER_SEC,
                .events = EV_CREATE, .program = "cp", .now_usec = T0 + at, .stamp_usec = 500 + at,
        };
}

static bool offer_at(struct limiter *l, uint32_t rule, uint64_t at)
{
        struct limit_offer o = event_of(rule, at);

        return limiter_offer(l, &o);
}

static void test_window(void **state)
{
        _cleanup_(limiter_freep) struct limiter *l = limiter_new(2);
        struct limited held;

        for (uint64_t at = 0; at < 3; at++)
                assert_true(offer_at(l, 1, at));
        assert_int_equal(limiter_deadline(l), UINT64_MAX);
        for (uint64_t at = 3; at < 8; at++) {
                struct limit_offer o = event_of(1, at);

                o.events = at == 5 ? EV_DELETE : EV_CREATE;
                o.program = at == 6 ? "rm" : at == 7 ? NULL : "cp";
                assert_false(limiter_offer(l, &o));
        }
        assert_true(offer_at(l, 0, 8)); /* each rule has its own */
        assert_int_equal(limiter_deadline(l), T0 + 10 * USEC_PER_SEC);
        assert_false(limiter_next(l, T0 + 10 * USEC_PER_SEC - 1, &held));

        assert_true(limiter_next(l, T0 + 10 * USEC_PER_SEC, &held));
        assert_int_equal(held.rule, 1);
        assert_int_equal(held.count, 5);
        assert_int_equal(held.events, EV_CREATE | EV_DELETE);
        assert_int_equal(held.first_usec, 503);
        assert_int_equal(held.last_usec, 507);
        assert_int_equal(held.n_programs, 2);
        assert_string_equal(held.programs[0].name, "cp");
        assert_int_equal(held.programs[0].count, 3);
        assert_string_equal(held.programs[1].name, "rm");
        assert_int_equal(held.programs[1].count, 1);
        assert_int_equal(held.other_programs, 1);
        assert_false(limiter_next(l, T0 + 10 * USEC_PER_SEC, &held));
        assert_int_equal(limiter_deadline(l), UINT64_MAX);

        /* the next window begins with the next event */
        assert_true(offer_at(l, 1, 12 * USEC_PER_SEC));
        assert_true(offer_at(l, 1, 12 * USEC_PER_SEC));
        assert_true(offer_at(l, 1, 21 * USEC_PER_SEC));
        assert_false(offer_at(l, 1, 22 * USEC_PER_SEC - 1));
        assert_int_equal(limiter_deadline(l), T0 + 22 * USEC_PER_SEC);
}

/* A window in which nothing was held back leaves nothing to tell. */
static void test_below(void **state)
{
        _cleanup_(limiter_freep) struct limiter *l = limiter_new(1);
        struct limited held;

        for (uint64_t i = 0; i < 30; i++)
                assert_true(offer_at(l, 0, i * 4 * USEC_PER_SEC));
        assert_false(limiter_next(l, LIMIT_FLUSH, &held));
}

static void test_none(void **state)
{
        _cleanup_(limiter_freep) struct limiter *l = limiter_new(1);
        struct limit_offer o = event_of(0, 0);

        o.limit_count = 0;
        for (unsigned i = 0; i < 100; i++)
                assert_true(limiter_offer(l, &o));
        o = event_of(7, 0); /* a rule that the limiter was not made for */
        for (unsigned i = 0; i < 100; i++)
                assert_true(limiter_offer(l, &o));
}

static void test_programs(void **state)
{
        _cleanup_(limiter_freep) struct limiter *l = limiter_new(1);
        struct limited held;
        uint64_t total = 0;

        for (unsigned i = 0; i < 3 + 40; i++) {
                struct limit_offer o = event_of(0, i);
                char name[32];

                snprintf(name, sizeof(name), "a-program-name-%u", i % 10); /* cut off at 15 bytes: all alike */
                o.program = i % 2 == 0 ? name : name + 10;
                assert_int_equal(limiter_offer(l, &o), i < 3);
        }
        assert_true(limiter_next(l, LIMIT_FLUSH, &held));
        assert_int_equal(held.count, 40);
        assert_int_equal(held.n_programs, 6);
        assert_string_equal(held.programs[0].name, "name-3");
        assert_string_equal(held.programs[1].name, "a-program-name-");
        assert_int_equal(held.programs[1].count, 20);

        for (unsigned i = 0; i < 3 + 10; i++) {
                struct limit_offer o = event_of(0, i);
                char name[8];

                snprintf(name, sizeof(name), "p%u", i);
                o.program = name;
                limiter_offer(l, &o);
        }
        assert_true(limiter_next(l, LIMIT_FLUSH, &held));
        assert_int_equal(held.n_programs, LIMIT_PROGRAMS);
        assert_int_equal(held.other_programs, 2);
        for (size_t i = 0; i < held.n_programs; i++)
                total += held.programs[i].count;
        assert_int_equal(total + held.other_programs, held.count);
}

/* Several rules over their limits at once: each account is handed out once. */
static void test_many(void **state)
{
        _cleanup_(limiter_freep) struct limiter *l = limiter_new(50);
        struct limited held;
        uint64_t seen = 0, sum = 0;

        for (uint32_t rule = 0; rule < 50; rule++)
                for (uint64_t i = 0; i < 4 + rule; i++)
                        offer_at(l, rule, rule * USEC_PER_SEC);
        assert_int_equal(limiter_deadline(l), T0 + 10 * USEC_PER_SEC);
        while (limiter_next(l, T0 + 29 * USEC_PER_SEC, &held)) {
                assert_int_equal(held.count, 1 + held.rule);
                assert_true(held.rule < 20);
                assert_int_equal(seen & UINT64_C(1) << held.rule, 0);
                seen |= UINT64_C(1) << held.rule;
                sum++;
        }
        assert_int_equal(sum, 20);
        assert_int_equal(limiter_deadline(l), T0 + 30 * USEC_PER_SEC);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_window), cmocka_unit_test(test_below), cmocka_unit_test(test_none),
                cmocka_unit_test(test_programs), cmocka_unit_test(test_many),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("limit", tests, NULL, NULL);
}
