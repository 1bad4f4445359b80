/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spool.h"

static void test_order(void **state)
{
        _cleanup_(spool_freep) struct spool *s = spool_new(1000);
        struct spool_view v[4];

        assert_int_equal(spool_peek(s, v, 4), 0);
        assert_int_equal(spool_push(s, 5, "one", 3), 0);
        assert_int_equal(spool_push(s, 5, "", 0), 0);
        assert_int_equal(spool_push(s, 5, "three", 5), 0);
        assert_int_equal(spool_count(s), 3);
        assert_int_equal(spool_bytes(s), 8);

        assert_int_equal(spool_peek(s, v, 2), 2);
        assert_int_equal(v[0].len, 3);
        assert_memory_equal(v[0].data, "one", 3);
        assert_int_equal(v[1].len, 0);
        assert_int_equal(spool_peek(s, v, 4), 3); /* they stay */
        assert_memory_equal(v[2].data, "three", 5);

        spool_pop(s, 2);
        assert_int_equal(spool_count(s), 1);
        assert_int_equal(spool_bytes(s), 5);
        assert_int_equal(spool_peek(s, v, 4), 1);
        assert_memory_equal(v[0].data, "three", 5);
        spool_pop(s, 5);
        assert_int_equal(spool_count(s), 0);
        assert_int_equal(spool_peek(s, v, 4), 0);
        spool_pop(s, 1);
}

/* Over many chunks, with records larger than one, half taken while it fills. */
static void test_chunks(void **state)
{
        enum { N = 3000, LARGE = 700 * 1024 };
        _cleanup_(spool_freep) struct spool *s = spool_new(64 * 1024 * 1024);
        _cleanup_free_ char *record = malloc(LARGE);
        struct spool_view v;
        unsigned next = 0;

        for (unsigned i = 0; i < N; i++) {
                size_t len = i % 1000 == 999 ? LARGE : 400 + i % 700;

                memset(record, (int)(i % 251), len);
                assert_int_equal(spool_push(s, 5, record, len), 0);
                if (i % 2)
                        continue;
                assert_int_equal(spool_peek(s, &v, 1), 1);
                assert_int_equal((uint8_t)v.data[0], next % 251);
                spool_pop(s, 1);
                next++;
        }
        for (; next < N; next++) {
                size_t len = next % 1000 == 999 ? LARGE : 400 + next % 700;

                assert_int_equal(spool_peek(s, &v, 1), 1);
                assert_int_equal(v.len, len);
                assert_int_equal((uint8_t)v.data[0], next % 251);
                assert_int_equal((uint8_t)v.data[len - 1], next % 251);
                spool_pop(s, 1);
        }
        assert_int_equal(spool_count(s), 0);
        assert_int_equal(spool_bytes(s), 0);
}

/* Each priority is shed at its share, so that a flood leaves room for what matters more. */
static void test_shares(void **state)
{
        static const struct {
                int priority;
                size_t fits; /* of 100 records of 10 bytes into 1000 */
        } cases[] = { { 7, 70 }, { 6, 70 }, { 5, 80 }, { 4, 90 }, { 3, 100 }, { 2, 100 }, { 1, 100 },
                      { SPOOL_NOTE, 100 } };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(spool_freep) struct spool *s = spool_new(1000);
                size_t n = 0;

                while (n < 200 && spool_push(s, cases[i].priority, "0123456789", 10) == 0)
                        n++;
                assert_int_equal(n, cases[i].fits);
                assert_int_equal(spool_push(s, cases[i].priority, "0123456789", 10), -ENOBUFS);
        }

        _cleanup_(spool_freep) struct spool *s = spool_new(1000);

        while (spool_push(s, 5, "0123456789", 10) == 0)
                ;
        assert_int_equal(spool_count(s), 80);
        assert_false(spool_has_room(s, 5, 1));
        assert_true(spool_has_room(s, 4, 100));
        assert_false(spool_has_room(s, 4, 101));
        assert_int_equal(spool_push(s, 4, "0123456789", 10), 0);
        assert_int_equal(spool_push(s, 7, "0123456789", 10), -ENOBUFS);
        spool_pop(s, 20);
        assert_int_equal(spool_push(s, 5, "0123456789", 10), 0);
        spool_set_max(s, 100);
        assert_int_equal(spool_push(s, 1, "0", 1), -ENOBUFS);
        assert_int_equal(spool_count(s), 62); /* what waits is kept */
}

static void test_empty_takes_anything(void **state)
{
        _cleanup_(spool_freep) struct spool *s = spool_new(4);

        assert_int_equal(spool_push(s, 7, "larger than all", 15), 0);
        assert_int_equal(spool_push(s, 1, "x", 1), -ENOBUFS);
        spool_pop(s, 1);
        assert_int_equal(spool_push(s, 7, "larger than all", 15), 0);
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_order),
                cmocka_unit_test(test_chunks),
                cmocka_unit_test(test_shares),
                cmocka_unit_test(test_empty_takes_anything),
        };

        return cmocka_run_group_tests_name("spool", tests, NULL, NULL);
}
