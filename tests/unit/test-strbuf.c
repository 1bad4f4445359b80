/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>

#include "strbuf.h"

static void test_growth(void **state)
{
        _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;

        assert_string_equal(strbuf_str(&b), "");
        for (int i = 0; i < 1000; i++)
                strbuf_addf(&b, "%03d,", i);
        assert_int_equal(b.len, 4000);
        assert_int_equal(strlen(strbuf_str(&b)), 4000);
        assert_memory_equal(b.data + 3992, "998,999,", 9);
        assert_true(b.cap > b.len);
}

static void test_bytes(void **state)
{
        _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;

        strbuf_add(&b, "a\0b", 3);
        strbuf_addc(&b, '\n');
        strbuf_adds(&b, "\xff");
        strbuf_add(&b, NULL, 0);
        assert_int_equal(b.len, 5);
        assert_memory_equal(b.data, "a\0b\n\xff", 6);
        strbuf_reset(&b);
        assert_int_equal(b.len, 0);
        assert_string_equal(strbuf_str(&b), "");
}

static void test_numbers(void **state)
{
        static const struct {
                uint64_t value;
                const char *text;
        } cases[] = {
                { 0, "0" },
                { 9, "9" },
                { 10, "10" },
                { 1000000, "1000000" },
                { UINT64_MAX, "18446744073709551615" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;

                strbuf_addu(&b, cases[i].value);
                assert_string_equal(strbuf_str(&b), cases[i].text);
        }
}

static void test_reserve(void **state)
{
        _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;
        const char *data;

        assert_int_equal(strbuf_reserve(&b, 100), 0);
        data = b.data;
        for (int i = 0; i < 100; i++)
                strbuf_addc(&b, 'x');
        assert_ptr_equal(b.data, data);
}

static void test_failure(void **state)
{
        _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;

        strbuf_adds(&b, "kept");
        assert_int_equal(strbuf_reserve(&b, SIZE_MAX - 2), -ENOMEM);
        assert_true(strbuf_failed(&b));
        strbuf_adds(&b, "lost"); /* nothing more is added */
        assert_string_equal(strbuf_str(&b), "kept");
        assert_null(strbuf_steal(&b));
        assert_false(strbuf_failed(&b));
        assert_int_equal(strbuf_reserve(&b, SIZE_MAX - 2), -ENOMEM);
        strbuf_reset(&b);
        strbuf_adds(&b, "again");
        assert_string_equal(strbuf_str(&b), "again");
}

static void test_steal(void **state)
{
        _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;
        _cleanup_free_ char *empty = strbuf_steal(&b), *text = NULL;

        assert_string_equal(empty, "");
        strbuf_adds(&b, "text");
        text = strbuf_steal(&b);
        assert_string_equal(text, "text");
        assert_null(b.data);
        assert_int_equal(b.len, 0);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_growth),  cmocka_unit_test(test_bytes),
                cmocka_unit_test(test_numbers), cmocka_unit_test(test_reserve),
                cmocka_unit_test(test_failure), cmocka_unit_test(test_steal),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("strbuf", tests, NULL, NULL);
}
