/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "lru.h"

/* Values are numbers in disguise; what leaves is noted in order. */
struct left {
        size_t n;
        uintptr_t v[4096];
};

static void note(void *userdata, void *value)
{
        struct left *left = userdata;

        left->v[left->n++] = (uintptr_t)value;
}

static void *value(uintptr_t n) { return (void *)n; }

static struct lru *new_lru(size_t entries, size_t weight, struct left *left)
{
        struct lru *l;

        *left = (struct left){};
        assert_int_equal(lru_new(entries, weight, note, left, &l), 0);
        return l;
}

static void put(struct lru *l, uint32_t key, uintptr_t v, size_t weight)
{
        assert_int_equal(lru_put(l, &key, sizeof(key), value(v), weight), 0);
}

static uintptr_t get(struct lru *l, uint32_t key) { return (uintptr_t)lru_get(l, &key, sizeof(key)); }

static void assert_left(const struct left *left, size_t n, const uintptr_t *want)
{
        assert_int_equal(left->n, n);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(left->v[i], want[i]);
}

static void longest_unused_leaves(void **state)
{
        struct left left;
        struct lru *l = new_lru(3, SIZE_MAX, &left);

        put(l, 1, 11, 0);
        put(l, 2, 12, 0);
        put(l, 3, 13, 0);
        assert_int_equal(get(l, 1), 11); /* 2 is the oldest now */
        put(l, 4, 14, 0);
        assert_left(&left, 1, (const uintptr_t[]){ 12 });
        assert_int_equal(get(l, 2), 0);
        assert_int_equal(lru_count(l), 3);
        put(l, 5, 15, 0);
        assert_left(&left, 2, (const uintptr_t[]){ 12, 13 });
        lru_free(l);
        assert_left(&left, 5, (const uintptr_t[]){ 12, 13, 11, 14, 15 });
}

static void weight_is_bounded(void **state)
{
        struct left left;
        struct lru *l = new_lru(100, 10, &left);

        put(l, 1, 11, 4);
        put(l, 2, 12, 4);
        assert_int_equal(lru_weight(l), 8);
        put(l, 3, 13, 4);
        assert_left(&left, 1, (const uintptr_t[]){ 11 });
        assert_int_equal(lru_weight(l), 8);
        put(l, 4, 14, 50); /* too heavy for the bound alone: it stays, alone */
        assert_left(&left, 3, (const uintptr_t[]){ 11, 12, 13 });
        assert_int_equal(lru_count(l), 1);
        assert_int_equal(get(l, 4), 14);
        lru_free(l);
}

static void replaced_value_leaves(void **state)
{
        struct left left;
        struct lru *l = new_lru(2, 10, &left);

        put(l, 1, 11, 3);
        put(l, 1, 21, 5);
        assert_left(&left, 1, (const uintptr_t[]){ 11 });
        assert_int_equal(lru_count(l), 1);
        assert_int_equal(lru_weight(l), 5);
        assert_int_equal(get(l, 1), 21);
        lru_free(l);
}

static bool is_odd(void *arg, void *v)
{
        (*(size_t *)arg)++;
        return (uintptr_t)v & 1;
}

static void removal(void **state)
{
        struct left left;
        struct lru *l = new_lru(100, SIZE_MAX, &left);
        size_t asked = 0;
        uint32_t key = 4;

        for (uint32_t i = 1; i <= 6; i++)
                put(l, i, i, 1);
        assert_int_equal(lru_remove_if(l, is_odd, &asked), 3);
        assert_int_equal(asked, 6);
        assert_left(&left, 3, (const uintptr_t[]){ 1, 3, 5 });
        assert_true(lru_remove(l, &key, sizeof(key)));
        assert_false(lru_remove(l, &key, sizeof(key)));
        assert_int_equal(lru_weight(l), 2);
        lru_clear(l);
        assert_int_equal(lru_count(l), 0);
        assert_left(&left, 6, (const uintptr_t[]){ 1, 3, 5, 4, 2, 6 });
        lru_free(l);
}

/* All are looked at once, a few at a time, while others are only looked up; the order of use stays. */
static void in_turns(void **state)
{
        struct left left;
        struct lru *l = new_lru(100, SIZE_MAX, &left);
        size_t asked = 0;
        uint32_t key = 6, none = 9;

        for (uint32_t i = 1; i <= 7; i++)
                put(l, i, i, 1);
        lru_turn(l, 3, is_odd, &asked);
        assert_int_equal(asked, 3);
        assert_left(&left, 2, (const uintptr_t[]){ 1, 3 });
        assert_int_equal((uintptr_t)lru_peek(l, &key, sizeof(key)), 6);
        assert_null(lru_peek(l, &none, sizeof(none)));
        lru_turn(l, 4, is_odd, &asked);
        assert_int_equal(asked, 7);
        assert_left(&left, 4, (const uintptr_t[]){ 1, 3, 5, 7 });
        lru_free(l);
        assert_left(&left, 7, (const uintptr_t[]){ 1, 3, 5, 7, 2, 4, 6 });
        l = new_lru(100, SIZE_MAX, &left);
        put(l, 1, 1, 1);
        lru_turn(l, 5, is_odd, &asked);
        assert_int_equal(asked, 8);
        assert_int_equal(lru_count(l), 0);
        lru_free(l);
}

static void keys_of_any_length(void **state)
{
        struct left left;
        struct lru *l = new_lru(600, SIZE_MAX, &left);
        uint8_t key[300] = {};

        /* the same zeros, told apart by their number */
        for (size_t len = 0; len < sizeof(key); len++)
                assert_int_equal(lru_put(l, key, len, value(len + 1), 0), 0);
        for (size_t len = 0; len < sizeof(key); len++)
                assert_int_equal((uintptr_t)lru_get(l, key, len), len + 1);
        lru_free(l);
}

/* Against a plain array, with a fixed sequence of operations. */
static void as_a_plain_list(void **state)
{
        enum { CAP = 16, KEYS = 40 };
        struct left left;
        struct lru *l = new_lru(CAP, SIZE_MAX, &left);
        uint32_t order[CAP], random = 12345;
        size_t n = 0;

        for (int step = 0; step < 3000; step++) {
                random = random * 1103515245 + 12345;
                uint32_t key = (random >> 16) % KEYS;
                bool insert = random & 0x800;
                size_t at = 0;

                while (at < n && order[at] != key)
                        at++;
                if (!insert) {
                        assert_int_equal(get(l, key), at < n ? key + 100 : 0);
                        if (at == n)
                                continue;
                } else {
                        put(l, key, key + 100, 1);
                }
                if (at == n && n == CAP)
                        at = 0;
                if (at < n) {
                        memmove(order + at, order + at + 1, (n - at - 1) * sizeof(order[0]));
                        n--;
                }
                order[n++] = key;
                assert_int_equal(lru_count(l), n);
        }
        left.n = 0;
        lru_free(l);
        assert_int_equal(left.n, n);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(left.v[i], order[i] + 100);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(longest_unused_leaves), cmocka_unit_test(weight_is_bounded),
                cmocka_unit_test(replaced_value_leaves), cmocka_unit_test(removal),
                cmocka_unit_test(in_turns),              cmocka_unit_test(keys_of_any_length),
                cmocka_unit_test(as_a_plain_list),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
