/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Journals as lists of records, and what is said of them. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "verify.h"

#define A "0123456789abcdef0123456789abcdef"
#define B "ffffffffffffffffffffffffffffffff"

static void add(struct verify *v, const char *stream, uint64_t seq, enum record_kind kind)
{
        const struct verify_record r = {
                .stream = stream, .seq = seq, .usec = 1000 + seq, .kind = kind, .last_stream = "",
                .shed_seq = "", .gap = "absent", .reason = "r", .where = "/", .from_usec = 1,
        };

        assert_int_equal(verify_add(v, &r), 0);
}

static void add_range(struct verify *v, const char *stream, uint64_t first, uint64_t last)
{
        for (uint64_t n = first; n <= last; n++)
                add(v, stream, n, RECORD_CREATE);
}

static void add_shed(struct verify *v, const char *stream, uint64_t seq, const char *ranges, uint64_t count)
{
        const struct verify_record r = {
                .stream = stream, .seq = seq, .usec = 1000 + seq, .kind = RECORD_SHED, .last_stream = "",
                .shed_seq = ranges, .count = count, .gap = "", .reason = "", .where = "",
        };

        assert_int_equal(verify_add(v, &r), 0);
}

static void test_complete(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL;

        add_range(&v, A, 1, 1000);
        assert_int_equal(verify_finish(&v, 0, A, 1000), 0);
        assert_true(verify_complete(&v));
        assert_int_equal(v.n_records, 1000);
        assert_int_equal(v.streams[0].first, 1);
        assert_int_equal(v.streams[0].last, 1000);
        assert_true(v.streams[0].floor_known);
}

static void test_missing(void **state)
{
        static const struct verify_range expected[] = {
                { 4, 5, 1003, 1006 }, { 8, 8, 1007, 1009 }, { 10, 12, 1009, 0 },
        };
        _cleanup_verify_ struct verify v = VERIFY_NULL;

        add_range(&v, A, 1, 3);
        add_range(&v, A, 6, 7);
        add_range(&v, A, 9, 9);
        assert_int_equal(verify_finish(&v, 0, A, 12), 0);
        assert_false(verify_complete(&v));
        assert_int_equal(verify_missing(&v), 6);
        assert_int_equal(v.streams[0].n_missing, ELEMENTSOF(expected));
        for (size_t i = 0; i < ELEMENTSOF(expected); i++)
                assert_memory_equal(&v.streams[0].missing[i], &expected[i], sizeof(expected[i]));
}

static void test_what_the_journal_no_longer_keeps(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL;

        add_range(&v, A, 50, 60);
        assert_int_equal(verify_finish(&v, 0, "", 0), 0);
        assert_false(verify_complete(&v));
        assert_int_equal(verify_missing(&v), 0);
        assert_false(v.streams[0].floor_known);
}

static void test_asked_from_a_time_on(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL, w = VERIFY_NULL;

        assert_int_equal(verify_add_before(&v, A, 49), 0);
        add_range(&v, A, 50, 60);
        assert_int_equal(verify_finish(&v, 0, "", 0), 0);
        assert_true(verify_complete(&v));

        assert_int_equal(verify_add_before(&w, A, 40), 0);
        add_range(&w, A, 50, 60);
        assert_int_equal(verify_finish(&w, 0, "", 0), 0);
        assert_int_equal(verify_missing(&w), 9);
}

static void test_shed_is_accounted(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL;

        add_range(&v, A, 1, 3);
        add_shed(&v, A, 10, "4-6,8-9", 5);
        add_range(&v, A, 11, 12);
        assert_int_equal(verify_finish(&v, 0, "", 0), 0);
        assert_int_equal(verify_missing(&v), 1); /* 7 */
        assert_int_equal(v.streams[0].missing[0].first, 7);
        assert_int_equal(v.streams[0].n_shed, 5);
        assert_false(verify_complete(&v));
}

/* Ranges that were merged hold more than was shed: the count tells. */
static void test_more_absent_than_shed(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL;

        add_range(&v, A, 1, 3);
        add_shed(&v, A, 10, "4-9 (not all of these)", 4);
        assert_int_equal(verify_finish(&v, 0, "", 0), 0);
        assert_int_equal(verify_missing(&v), 2);
}

static void test_repeated(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL;

        add_range(&v, A, 1, 3);
        add_range(&v, A, 3, 4);
        assert_int_equal(verify_finish(&v, 0, "", 0), 0);
        assert_int_equal(v.streams[0].n_repeated, 1);
        assert_false(verify_complete(&v));
}

static void test_two_streams(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL;

        add_range(&v, A, 1, 3);
        add(&v, A, 4, RECORD_STOPPING);
        add(&v, B, 1, RECORD_GAP);
        add_range(&v, B, 2, 3);
        assert_int_equal(verify_finish(&v, 0, "", 0), 0);
        assert_int_equal(v.n_streams, 2);
        assert_true(v.streams[0].stopped);
        assert_true(v.streams[1].begins_with_gap);
        assert_int_equal(v.n_gaps, 1);
        assert_true(v.gaps[0].absence);
        assert_int_equal(v.gaps[0].until_usec, 1001);
        assert_int_equal(verify_missing(&v), 0);
        assert_false(verify_complete(&v));
}

static void test_nothing(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL;

        assert_int_equal(verify_finish(&v, 0, "", 0), 0);
        assert_false(verify_complete(&v));
}

/* A record at a second of a clock that begins with the boot; heartbeat in seconds. */
static void add_at(struct verify *v, uint64_t seq, uint64_t second, uint64_t late, uint64_t heartbeat)
{
        const struct verify_record r = {
                .stream = A, .seq = seq, .usec = (5000 + second) * USEC_PER_SEC, .kind = RECORD_CREATE,
                .running_usec = second * USEC_PER_SEC, .late_usec = late * USEC_PER_SEC,
                .heartbeat_usec = heartbeat * USEC_PER_SEC,
                .shed_seq = "", .gap = "", .reason = "", .where = "", .last_stream = "",
        };

        assert_int_equal(verify_add(v, &r), 0);
}

static void test_stood_still(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL;

        add_at(&v, 1, 10, 0, 60);
        add_at(&v, 2, 130, 0, 0); /* twice the heartbeat: late, no more */
        add_at(&v, 3, 251, 0, 0);
        add_at(&v, 4, 300, 0, 0);
        assert_int_equal(verify_finish(&v, 0, A, 4), 0);
        assert_int_equal(v.n_silences, 1);
        assert_int_equal(v.silences[0].from_usec, 5130 * USEC_PER_SEC);
        assert_int_equal(v.silences[0].until_usec, 5251 * USEC_PER_SEC);
        assert_false(verify_complete(&v));
}

/* Of a suspend, and of a clock that is set, the time of day tells, but not the one that counts. */
static void test_suspended_or_set(void **state)
{
        const uint64_t hour = 3600 * USEC_PER_SEC, day[] = { 5 * hour, 13 * hour, 12 * hour, 4 * hour };
        _cleanup_verify_ struct verify v = VERIFY_NULL;

        for (uint64_t i = 0; i < ELEMENTSOF(day); i++) {
                const struct verify_record r = {
                        .stream = A, .seq = i + 1, .usec = day[i], .kind = RECORD_CREATE,
                        .running_usec = (10 + i * 50) * USEC_PER_SEC, .heartbeat_usec = 60 * USEC_PER_SEC,
                        .shed_seq = "", .gap = "", .reason = "", .where = "", .last_stream = "",
                };

                assert_int_equal(verify_add(&v, &r), 0);
        }
        assert_int_equal(verify_finish(&v, 0, A, ELEMENTSOF(day)), 0);
        assert_int_equal(v.n_silences, 0);
        assert_true(verify_complete(&v));
}

/* The log stood still, not the daemon: the records say when they were made. */
static void test_sent_late(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL;

        add_at(&v, 1, 10, 0, 60);
        add_at(&v, 2, 1000, 950, 0);
        add_at(&v, 3, 1000, 890, 60);
        add_at(&v, 4, 1001, 0, 60);
        assert_int_equal(verify_finish(&v, 0, A, 4), 0);
        assert_true(verify_complete(&v));
}

/* Asked from a moment on at which no heartbeat is known yet. */
static void test_stood_still_before_a_heartbeat_is_known(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL, w = VERIFY_NULL;

        assert_int_equal(verify_add_before(&v, A, 4), 0);
        add_at(&v, 5, 100, 0, 0);
        add_at(&v, 6, 400, 0, 0);
        add_at(&v, 7, 410, 0, 60);
        assert_int_equal(verify_finish(&v, 0, A, 7), 0);
        assert_int_equal(v.n_silences, 1);
        assert_int_equal(v.silences[0].until_usec, 5400 * USEC_PER_SEC);

        assert_int_equal(verify_add_before(&w, A, 4), 0);
        add_at(&w, 5, 100, 0, 0);
        add_at(&w, 6, 400, 0, 0);
        add_at(&w, 7, 410, 0, 900);
        assert_int_equal(verify_finish(&w, 0, A, 7), 0);
        assert_true(verify_complete(&w));
}

/* Without a heartbeat nothing bounds the silence, and none is claimed. */
static void test_no_heartbeat(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL;

        add_at(&v, 1, 10, 0, 0);
        add_at(&v, 2, 100000, 0, 0);
        assert_int_equal(verify_finish(&v, 0, A, 2), 0);
        assert_true(verify_complete(&v));
        assert_false(verify_is_silence(UINT64_MAX, 0));
        assert_false(verify_is_silence(2000001, 1000000));
        assert_true(verify_is_silence(2000002, 1000000));
}

/* The first daemon of all began after the time that is asked about. */
static void test_nobody_watched_at_first(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL, w = VERIFY_NULL;

        add_range(&v, A, 1, 3);
        assert_int_equal(verify_finish(&v, 500, A, 3), 0);
        assert_int_equal(v.n_absences, 1);
        assert_int_equal(v.absences[0].from_usec, 500);
        assert_int_equal(v.absences[0].until_usec, 1001);
        assert_false(verify_complete(&v));

        /* one of before, of which nothing else is asked */
        assert_int_equal(verify_add_before(&w, B, 77), 0);
        add_range(&w, A, 1, 3);
        assert_int_equal(verify_finish(&w, 1000, A, 3), 0);
        assert_int_equal(w.n_absences, 1);
        assert_int_equal(w.absences[0].from_usec, 1000);
        assert_int_equal(verify_missing(&w), 0);
}

/* A new stream without a word: absent; with its first numbers gone they are missing, since
 * the journal keeps what is older. */
static void test_new_stream_without_a_word(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL, w = VERIFY_NULL;

        add_range(&v, A, 1, 3);
        add_range(&v, B, 1, 3);
        assert_int_equal(verify_finish(&v, 0, B, 3), 0);
        assert_int_equal(v.n_absences, 1);
        assert_int_equal(v.absences[0].from_usec, 1003);
        assert_false(verify_complete(&v));

        add_range(&w, A, 1, 3);
        add_range(&w, B, 5, 6);
        assert_int_equal(verify_finish(&w, 0, B, 6), 0);
        assert_int_equal(verify_missing(&w), 4);
}

/* The gap says how far the stream before it went: its end cannot be cut off unseen. */
static void test_end_of_a_stream_is_gone(void **state)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL;
        const struct verify_record gap = {
                .stream = B, .seq = 1, .usec = 3000, .kind = RECORD_GAP, .shed_seq = "", .gap = "absent",
                .reason = "r", .where = "/", .from_usec = 2000, .last_stream = A, .last_seq = 9,
        };

        add_range(&v, A, 1, 3);
        assert_int_equal(verify_add(&v, &gap), 0);
        assert_int_equal(verify_finish(&v, 0, B, 1), 0);
        assert_int_equal(verify_missing(&v), 6);
        assert_int_equal(v.streams[0].missing[0].first, 4);
        assert_int_equal(v.streams[0].missing[0].last, 9);
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);

        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_complete),
                cmocka_unit_test(test_missing),
                cmocka_unit_test(test_what_the_journal_no_longer_keeps),
                cmocka_unit_test(test_asked_from_a_time_on),
                cmocka_unit_test(test_shed_is_accounted),
                cmocka_unit_test(test_more_absent_than_shed),
                cmocka_unit_test(test_repeated),
                cmocka_unit_test(test_two_streams),
                cmocka_unit_test(test_nothing),
                cmocka_unit_test(test_stood_still),
                cmocka_unit_test(test_suspended_or_set),
                cmocka_unit_test(test_sent_late),
                cmocka_unit_test(test_stood_still_before_a_heartbeat_is_known),
                cmocka_unit_test(test_no_heartbeat),
                cmocka_unit_test(test_nobody_watched_at_first),
                cmocka_unit_test(test_new_stream_without_a_word),
                cmocka_unit_test(test_end_of_a_stream_is_gone),
        };
        return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
