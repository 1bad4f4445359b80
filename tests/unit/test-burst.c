/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "burst.h"

static void test_all_within(void **state)
{
        struct burst b = { .max = 2, .window_usec = 100 };

        assert_true(burst_take(&b, 1000));
        assert_true(burst_take(&b, 1050));
        assert_true(burst_deadline(&b) == UINT64_MAX);
        assert_int_equal(burst_end(&b, 1099), 0);
        /* a window that held nothing back ends by itself */
        assert_true(burst_take(&b, 1100));
        assert_true(burst_take(&b, 1199));
        assert_false(burst_take(&b, 1199));
}

static void test_held_back(void **state)
{
        struct burst b = { .max = 1, .window_usec = 100 };

        assert_true(burst_take(&b, 7));
        for (int i = 0; i < 5; i++)
                assert_false(burst_take(&b, 8));
        assert_int_equal(burst_deadline(&b), 107);
        assert_int_equal(burst_end(&b, 106), 0);
        /* late: still counted to the window that is not told yet */
        assert_false(burst_take(&b, 500));
        assert_int_equal(burst_end(&b, 500), 6);
        assert_int_equal(burst_end(&b, 500), 0);
        assert_true(burst_deadline(&b) == UINT64_MAX);
        assert_true(burst_take(&b, 501));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_all_within),
                cmocka_unit_test(test_held_back),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("burst", tests, NULL, NULL);
}
