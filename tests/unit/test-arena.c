/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "arena.h"

static void test_alignment(void **state)
{
        _cleanup_(arena_freep) struct arena *a = arena_new();
        static const size_t sizes[] = { 0, 1, 3, 8, 17, 100, 4000, 5000, 70000, 1, 200000, 16 };
        const char *previous = NULL;

        assert_non_null(a);
        assert_int_equal(arena_used(a), 0);
        for (size_t i = 0; i < ELEMENTSOF(sizes); i++) {
                char *p = arena_alloc(a, sizes[i]);

                assert_non_null(p);
                assert_ptr_not_equal(p, previous);
                assert_int_equal((uintptr_t)p % 16, 0);
                for (size_t j = 0; j < sizes[i]; j++)
                        assert_int_equal(p[j], 0);
                memset(p, 0xff, sizes[i]);
                previous = p;
        }
        assert_int_equal(arena_used(a), 1 + 1 + 3 + 8 + 17 + 100 + 4000 + 5000 + 70000 + 1 + 200000 + 16);
}

static void test_strings(void **state)
{
        _cleanup_(arena_freep) struct arena *a = arena_new();
        char *copy = arena_strndup(a, "path\xff/x", 5), *second = arena_strdup(a, "");

        assert_string_equal(copy, "path\xff");
        assert_string_equal(second, "");
        assert_string_equal(arena_printf(a, "%s:%d", "file", 12), "file:12");
        assert_string_equal(copy, "path\xff"); /* earlier ones stay as they were */
        assert_int_equal(arena_used(a), 6 + 1 + 8);
}

/* A large block leaves the rest of the current chunk in use: strings on both
 * sides of it are neighbours. */
static void test_large_between(void **state)
{
        _cleanup_(arena_freep) struct arena *a = arena_new();
        char *before = arena_strdup(a, "abc");

        assert_non_null(arena_alloc(a, 1 << 20));
        assert_ptr_equal(arena_strdup(a, "def"), before + 4);
}

static void test_overflow(void **state)
{
        _cleanup_(arena_freep) struct arena *a = arena_new();

        assert_null(arena_alloc_array(a, SIZE_MAX / 2, 3));
        assert_null(arena_alloc(a, SIZE_MAX - 8));
        assert_null(arena_strndup(a, "x", SIZE_MAX));
        assert_non_null(arena_alloc_array(a, 0, 8));
        assert_non_null(arena_alloc_array(a, 10, 10));
        arena_free(NULL);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_alignment),
                cmocka_unit_test(test_strings),
                cmocka_unit_test(test_large_between),
                cmocka_unit_test(test_overflow),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
