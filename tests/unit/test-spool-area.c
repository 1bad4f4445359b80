/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the next process finds in an area, wherever the one before was ended. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "spool.h"

#define MAX 4096u
#define WINDOW 4096u
#define STREAM "0123456789abcdef0123456789abcdef"

struct area {
        void *bytes;
        size_t size;
        struct spool *s;
};

static int setup(void **state)
{
        struct area *a = calloc(1, sizeof(*a));

        assert_non_null(a);
        a->size = spool_area_size(MAX, WINDOW);
        a->bytes = aligned_alloc(4096, a->size);
        assert_non_null(a->bytes);
        memset(a->bytes, 0xaa, a->size);
        spool_format(a->bytes, MAX, WINDOW, STREAM);
        assert_int_equal(spool_attach(a->bytes, a->size, &a->s), 0);
        *state = a;
        return 0;
}

static int teardown(void **state)
{
        struct area *a = *state;

        spool_free(a->s);
        free(a->bytes);
        free(a);
        return 0;
}

/* The process ends without a word, and the next one opens what it left. */
static void kill_it(struct area *a)
{
        spool_free(a->s);
        assert_int_equal(spool_attach(a->bytes, a->size, &a->s), 0);
}

static void expect_front(struct spool *s, const char *text)
{
        struct spool_view v;

        assert_int_equal(spool_peek(s, &v, 1), 1);
        assert_int_equal(v.len, strlen(text));
        assert_memory_equal(v.data, text, v.len);
}

static void test_new_area(void **state)
{
        struct area *a = *state;
        size_t size;

        assert_string_equal(spool_stream(a->s), STREAM);
        assert_int_equal(spool_count(a->s), 0);
        assert_int_equal(spool_max(a->s), MAX);
        assert_int_equal(spool_state(a->s)->seq, 0);
        assert_int_equal(spool_window_data(a->s, 1, &size) - spool_window_data(a->s, 0, &size), WINDOW);
        assert_int_equal(size, WINDOW);
}

static void test_number_and_record_come_together(void **state)
{
        struct area *a = *state;

        spool_state(a->s)->seq = 1;
        spool_state(a->s)->windows[0] = (struct spool_window){ .done = 64 };
        assert_int_equal(spool_push(a->s, 5, "one", 3), 0);
        spool_state(a->s)->seq = 2; /* not committed: as if it had never been */
        kill_it(a);
        assert_int_equal(spool_state(a->s)->seq, 1);
        assert_int_equal(spool_state(a->s)->windows[0].done, 64);
        assert_int_equal(spool_count(a->s), 1);
        expect_front(a->s, "one");

        spool_state(a->s)->seq = 2;
        spool_commit(a->s);
        kill_it(a);
        assert_int_equal(spool_state(a->s)->seq, 2);
}

/* The copy that is written is not the one in force: whatever stands in it does no harm. */
static void test_killed_while_it_commits(void **state)
{
        struct area *a = *state;
        void *before = malloc(a->size);

        assert_non_null(before);
        spool_state(a->s)->seq = 1;
        assert_int_equal(spool_push(a->s, 5, "one", 3), 0);
        memcpy(before, a->bytes, a->size);
        spool_state(a->s)->seq = 2;
        assert_int_equal(spool_push(a->s, 5, "two", 3), 0);

        /* every state between the two: the first n bytes that differ are written, the rest is not yet;
         * the word that says which copy is in force is written last */
        size_t in_force = SIZE_MAX, changed = 0;
        for (size_t i = 0; i < 128; i++)
                if (((char *)before)[i] != ((char *)a->bytes)[i])
                        in_force = i;
        assert_int_not_equal(in_force, SIZE_MAX);
        for (size_t i = 0; i < a->size; i++) {
                struct spool *s;

                if (i == in_force || ((char *)before)[i] == ((char *)a->bytes)[i])
                        continue;
                ((char *)before)[i] = ((char *)a->bytes)[i];
                changed++;
                assert_int_equal(spool_attach(before, a->size, &s), 0);
                assert_int_equal(spool_state(s)->seq, 1);
                assert_int_equal(spool_count(s), 1);
                spool_free(s);
        }
        assert_true(changed > 20);
        ((char *)before)[in_force] = ((char *)a->bytes)[in_force];
        struct spool *s;
        assert_int_equal(spool_attach(before, a->size, &s), 0);
        assert_int_equal(spool_state(s)->seq, 2);
        assert_int_equal(spool_count(s), 2);
        spool_free(s);
        free(before);
}

static void test_sending(void **state)
{
        struct area *a = *state;

        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(spool_push(a->s, 5, "record", 6), 0);
        spool_begin_send(a->s, 2);
        kill_it(a);
        assert_int_equal(spool_sending(a->s), 2);
        spool_pop(a->s, 1);
        assert_int_equal(spool_sending(a->s), 0);
        assert_int_equal(spool_count(a->s), 2);
}

/* Records of all sizes, in and out, past the end of the ring many times; a kill at each step. */
static void test_ring(void **state)
{
        struct area *a = *state;
        unsigned in = 0, out = 0;
        char text[600];

        for (unsigned step = 0; step < 20000; step++) {
                struct spool_view v;
                size_t len = 10 + (step * 7919) % 500;

                (void)snprintf(text, sizeof(text), "%08u", in);
                memset(text + 8, 'x', sizeof(text) - 8);
                if ((step * 31) % 7 < 4) {
                        if (spool_push(a->s, 0, text, len) == 0)
                                in++;
                } else if (spool_peek(a->s, &v, 1) == 1) {
                        (void)snprintf(text, sizeof(text), "%08u", out++);
                        assert_memory_equal(v.data, text, 8);
                        spool_pop(a->s, 1);
                }
                if (step % 16 == 0)
                        kill_it(a);
                assert_int_equal(spool_count(a->s), in - out);
        }
        assert_true(in > 5000);
}

static void test_refused(void **state)
{
        static const struct {
                size_t at;
                int error;
        } cases[] = {
                { 0, -EBADMSG },  /* the magic */
                { 8, -EPROTO },   /* the version */
                { 12, -EPROTO },  /* the size of the header */
                { 16, -EBADMSG }, /* the bounds */
                { 32, -EBADMSG },
                { 40, -EBADMSG }, /* the stream */
                { 80, -EBADMSG }, /* the checksum */
        };
        struct area *a = *state;
        struct spool *s;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                uint8_t *byte = (uint8_t *)a->bytes + cases[i].at;

                *byte ^= 0xff;
                assert_int_equal(spool_attach(a->bytes, a->size, &s), cases[i].error);
                *byte ^= 0xff;
        }
        assert_int_equal(spool_attach(a->bytes, a->size - 4096, &s), -EBADMSG);
        assert_int_equal(spool_attach(a->bytes, 100, &s), -EBADMSG);
}

/* One byte of the state or of a record that turned over is seen. */
static void test_damaged_record(void **state)
{
        struct area *a = *state;
        struct spool_view v;
        struct spool *s;

        assert_int_equal(spool_push(a->s, 5, "record", 6), 0);
        assert_int_equal(spool_peek(a->s, &v, 1), 1);
        ((char *)v.data)[2] ^= 1;
        assert_int_equal(spool_attach(a->bytes, a->size, &s), -EBADMSG);
        ((char *)v.data)[2] ^= 1;
        ((uint32_t *)v.data)[-2] = 0xfffffff0; /* its length */
        assert_int_equal(spool_attach(a->bytes, a->size, &s), -EBADMSG);
}

static void test_take_over(void **state)
{
        struct area *a = *state;
        _cleanup_(spool_freep) struct spool *larger = spool_new(100000), *smaller = NULL;
        char text[1000];
        size_t size;

        assert_non_null(larger);
        memset(text, 'x', sizeof(text));
        spool_state(a->s)->seq = 7;
        memset(spool_window_data(a->s, 0, &size), 'w', 10);
        assert_int_equal(spool_push(a->s, 5, text, sizeof(text)), 0);
        assert_int_equal(spool_push(a->s, 5, "two", 3), 0);
        assert_int_equal(spool_take_over(larger, a->s), 0);
        assert_int_equal(spool_state(larger)->seq, 7);
        assert_int_equal(spool_count(larger), 2);
        spool_pop(larger, 1);
        expect_front(larger, "two");

        smaller = spool_new(500);
        assert_non_null(smaller);
        assert_int_equal(spool_take_over(smaller, a->s), 1); /* into an empty one anything goes, once */
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);

        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_new_area, setup, teardown),
                cmocka_unit_test_setup_teardown(test_number_and_record_come_together, setup, teardown),
                cmocka_unit_test_setup_teardown(test_killed_while_it_commits, setup, teardown),
                cmocka_unit_test_setup_teardown(test_sending, setup, teardown),
                cmocka_unit_test_setup_teardown(test_ring, setup, teardown),
                cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(test_damaged_record, setup, teardown),
                cmocka_unit_test_setup_teardown(test_take_over, setup, teardown),
        };
        return cmocka_run_group_tests_name("spool-area", tests, NULL, NULL);
}
