/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "counters.h"

/* The table names each counter once, in the order of the struct, and reads it. */
static void test_table(void **state)
{
        size_t n;
        const struct counter_info *table = counters_table(&n);
        uint64_t values[sizeof(struct counters) / sizeof(uint64_t)];
        struct counters c;

        assert_int_equal(n, ELEMENTSOF(values));
        for (size_t i = 0; i < n; i++)
                values[i] = 100 + i;
        memcpy(&c, values, sizeof(c));
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(table[i].offset, i * sizeof(uint64_t));
                assert_int_equal(counter_value(&c, &table[i]), 100 + i);
                assert_true(table[i].text[0] != '\0');
                for (size_t k = 0; k < i; k++)
                        assert_string_not_equal(table[i].name, table[k].name);
        }
        assert_string_equal(table[0].name, "events_read");
        c = (struct counters){ .records_shed = 7 };
        for (size_t i = 0; i < n; i++)
                assert_int_equal(counter_value(&c, &table[i]), streq(table[i].name, "records_shed") ? 7 : 0);
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_table) };

        return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
