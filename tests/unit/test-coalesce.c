/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "coalesce.h"
#include "vocab.h"

#define MSEC USEC_PER_MSEC
#define SEC USEC_PER_SEC
#define T0 (1000 * SEC)

static size_t n_freed;

static void free_payload(void *payload)
{
        n_freed++;
        free(payload);
}

static struct coalesce_offer write_of(const char *path, uint64_t window, uint64_t at)
{
        return (struct coalesce_offer){
                .path = path, .path_len = strlen(path), .pid = 42, .start_ticks = 7, .rules = 1,
                .events = EV_MODIFY, .window_usec = window, .now_usec = T0 + at, .stamp_usec = 500 + at,
        };
}

static enum coalesce_verdict offer(struct coalescer *c, const struct coalesce_offer *o)
{
        void **payload;

        return coalescer_offer(c, o, &payload);
}

static enum coalesce_verdict offer_at(struct coalescer *c, const char *path, uint64_t window, uint64_t at)
{
        struct coalesce_offer o = write_of(path, window, at);

        return offer(c, &o);
}

/* The first at once, the rest as one at the window's end. */
static void test_window(void **state)
{
        _cleanup_(coalescer_freep) struct coalescer *c = coalescer_new(8, free_payload);
        struct coalesce_offer o = write_of("/a", SEC, 0);
        struct coalesced done;

        assert_int_equal(coalescer_deadline(c), UINT64_MAX);
        assert_int_equal(offer(c, &o), COALESCE_REPORT);
        assert_int_equal(coalescer_deadline(c), T0 + SEC);
        o.now_usec += 300 * MSEC;
        o.stamp_usec = 11;
        assert_int_equal(offer(c, &o), COALESCE_MERGED);
        o.events = EV_CLOSE_WRITE;
        o.now_usec += 600 * MSEC;
        o.stamp_usec = 12;
        assert_int_equal(offer(c, &o), COALESCE_MERGED);
        assert_int_equal(coalescer_n_open(c), 1);

        assert_false(coalescer_next(c, T0 + SEC - 1, &done));
        assert_true(coalescer_next(c, T0 + SEC, &done));
        assert_int_equal(done.events, EV_MODIFY | EV_CLOSE_WRITE);
        assert_int_equal(done.count, 2);
        assert_int_equal(done.first_usec, 11);
        assert_int_equal(done.last_usec, 12);
        assert_false(done.feedback);
        assert_null(done.payload);
        assert_false(coalescer_next(c, T0 + SEC, &done));
        assert_int_equal(coalescer_n_open(c), 0);
        assert_int_equal(coalescer_deadline(c), UINT64_MAX);

        /* the next one is a first one again */
        o.now_usec = T0 + 5 * SEC;
        assert_int_equal(offer(c, &o), COALESCE_REPORT);
        /* a window in which nothing more happened makes no record */
        assert_false(coalescer_next(c, T0 + 6 * SEC, &done));
        assert_int_equal(coalescer_n_open(c), 0);
}

/* Whatever differs in the key is another window; what is not coalesced touches none. */
static void test_keys(void **state)
{
        static const struct {
                const char *what;
                struct coalesce_offer o;
                enum coalesce_verdict verdict;
        } cases[] = {
                { "the same", { "/a", 2, 42, 7, 1, EV_MODIFY }, COALESCE_MERGED },
                { "another event", { "/a", 2, 42, 7, 1, EV_OPEN | EV_ACCESS }, COALESCE_MERGED },
                { "another path", { "/b", 2, 42, 7, 1, EV_MODIFY }, COALESCE_REPORT },
                { "a longer path", { "/a/", 3, 42, 7, 1, EV_MODIFY }, COALESCE_REPORT },
                { "another process", { "/a", 2, 43, 7, 1, EV_MODIFY }, COALESCE_REPORT },
                { "the pid recycled", { "/a", 2, 42, 8, 1, EV_MODIFY }, COALESCE_REPORT },
                { "other rules", { "/a", 2, 42, 7, 2, EV_MODIFY }, COALESCE_REPORT },
                { "attrib", { "/a", 2, 42, 7, 1, EV_ATTRIB }, COALESCE_REPORT },
                { "create with content", { "/a", 2, 42, 7, 1, EV_CREATE | EV_MODIFY }, COALESCE_REPORT },
                { "replaced", { "/a", 2, 42, 7, 1, EV_REPLACED }, COALESCE_REPORT },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(coalescer_freep) struct coalescer *c = coalescer_new(8, free_payload);
                struct coalesce_offer o = cases[i].o;
                struct coalesced done;
                uint64_t merged = cases[i].verdict == COALESCE_MERGED;

                assert_int_equal(offer_at(c, "/a", SEC, 0), COALESCE_REPORT);
                o.window_usec = SEC;
                o.now_usec = T0 + 1;
                print_message("# %s\n", cases[i].what);
                assert_int_equal(offer(c, &o), cases[i].verdict);
                assert_int_equal(coalescer_next(c, COALESCE_FLUSH, &done), merged);
                if (merged)
                        assert_int_equal(done.count, 1);
        }
}

/* Off: every event is reported, nothing waits. */
static void test_off(void **state)
{
        _cleanup_(coalescer_freep) struct coalescer *c = coalescer_new(8, free_payload);
        struct coalesced done;

        for (unsigned i = 0; i < 150; i++)
                assert_int_equal(offer_at(c, "/a", 0, i * MSEC), COALESCE_REPORT);
        assert_int_equal(coalescer_n_open(c), 0);
        assert_false(coalescer_next(c, COALESCE_FLUSH, &done));
}

/* What the caller attaches comes back, or is freed where no record follows. */
static void test_payload(void **state)
{
        struct coalescer *c = coalescer_new(2, free_payload);
        struct coalesce_offer a = write_of("/a", SEC, 0), b = write_of("/b", SEC, 1);
        struct coalesced done;
        void **payload;

        n_freed = 0;
        coalescer_offer(c, &a, &payload);
        *payload = strdup("of a");
        coalescer_offer(c, &b, &payload);
        *payload = strdup("of b");
        a.now_usec += 2;
        assert_int_equal(coalescer_offer(c, &a, &payload), COALESCE_MERGED);
        assert_string_equal(*payload, "of a");
        assert_true(coalescer_next(c, T0 + 2 * SEC, &done));
        assert_string_equal(done.payload, "of a");
        free(done.payload);
        assert_false(coalescer_next(c, T0 + 2 * SEC, &done));
        assert_int_equal(n_freed, 1);

        a.now_usec = T0 + 4 * SEC;
        coalescer_offer(c, &a, &payload);
        *payload = strdup("never fetched");
        coalescer_free(c);
        assert_int_equal(n_freed, 2);
}

/* When the table is full the window that ends next ends now: nothing is dropped. */
static void test_bounded(void **state)
{
        _cleanup_(coalescer_freep) struct coalescer *c = coalescer_new(100, free_payload);
        struct coalesced done;
        uint64_t reported = 0, merged = 0, events = 0;

        for (unsigned i = 0; i < 1000; i++) {
                char path[16];

                snprintf(path, sizeof(path), "/%u", i);
                for (unsigned k = 0; k < 3; k++, events++) {
                        if (offer_at(c, path, SEC, i) == COALESCE_REPORT)
                                reported++;
                        assert_true(coalescer_n_open(c) <= 100);
                }
                if (i == 100) {
                        assert_int_equal(coalescer_deadline(c), 0);
                        assert_true(coalescer_next(c, T0 + i, &done));
                        assert_int_equal(done.count, 2);
                        assert_int_equal(done.first_usec, 500); /* of "/0", the oldest */
                        merged += done.count;
                        assert_false(coalescer_next(c, T0 + i, &done));
                }
        }
        while (coalescer_next(c, COALESCE_FLUSH, &done))
                merged += done.count;
        assert_int_equal(reported, 1000);
        assert_int_equal(merged, 2000);
        assert_int_equal(reported + merged, events);
}

/* Windows of different lengths end in order of their ends. */
static void test_order(void **state)
{
        static const unsigned lengths[] = { 7, 3, 9, 1, 8, 2, 6, 4, 5, 10 };
        _cleanup_(coalescer_freep) struct coalescer *c = coalescer_new(16, free_payload);
        struct coalesced done;

        for (size_t i = 0; i < ELEMENTSOF(lengths); i++) {
                char path[16];

                snprintf(path, sizeof(path), "/%zu", i);
                offer_at(c, path, lengths[i] * SEC, 0);
                offer_at(c, path, lengths[i] * SEC, lengths[i]);
        }
        for (unsigned n = 1; n <= ELEMENTSOF(lengths); n++) {
                assert_int_equal(coalescer_deadline(c), T0 + n * SEC);
                assert_false(coalescer_next(c, T0 + n * SEC - 1, &done));
                assert_true(coalescer_next(c, T0 + n * SEC, &done));
                assert_int_equal(done.first_usec, 500 + n);
        }
}

/*
 * A machine with programs that write: each has its own file and process, and
 * writes at its own times or after each of our records.
 */
struct program {
        const char *path;
        uint64_t answer_usec; /* writes this long after each record; 0 = not a forwarder */
        uint64_t period_usec; /* writes every so often; 0 = never */
        uint64_t next_usec;   /* internal */
};

struct outcome {
        uint64_t records, last_minute, events, accounted, feedback;
};

static void schedule_answers(struct program *p, size_t n, uint64_t now)
{
        for (size_t i = 0; i < n; i++)
                if (p[i].answer_usec != 0 && p[i].next_usec > now + p[i].answer_usec)
                        p[i].next_usec = now + p[i].answer_usec;
}

static struct outcome run(struct program *p, size_t n, uint64_t window, uint64_t until)
{
        _cleanup_(coalescer_freep) struct coalescer *c = coalescer_new(64, free_payload);
        struct outcome o = {};
        struct coalesced done;

        for (size_t i = 0; i < n; i++)
                p[i].next_usec = p[i].period_usec ? T0 + p[i].period_usec : UINT64_MAX;
        schedule_answers(p, n, T0); /* something was recorded once */
        for (;;) {
                struct program *first = &p[0];
                uint64_t due = coalescer_deadline(c), now;

                for (size_t i = 1; i < n; i++)
                        if (p[i].next_usec < first->next_usec)
                                first = &p[i];
                now = MIN_OF(due, first->next_usec);
                if (now >= T0 + until)
                        break;
                if (due <= first->next_usec) {
                        while (coalescer_next(c, now, &done)) {
                                o.records++;
                                o.last_minute += now >= T0 + until - 60 * SEC;
                                o.accounted += done.count;
                                o.feedback += done.feedback;
                                schedule_answers(p, n, now);
                        }
                        continue;
                }
                first->next_usec = first->period_usec ? now + first->period_usec : UINT64_MAX;
                o.events++;
                if (offer_at(c, first->path, window, now - T0) == COALESCE_REPORT) {
                        o.records++;
                        o.accounted++;
                        o.last_minute += now >= T0 + until - 60 * SEC;
                        schedule_answers(p, n, now);
                }
        }
        while (coalescer_next(c, COALESCE_FLUSH, &done))
                o.accounted += done.count;
        return o;
}

static void test_feedback(void **state)
{
        static const struct {
                const char *what;
                struct program programs[3];
                size_t n;
                uint64_t window, until;
                uint64_t max_last_minute; /* records */
                uint64_t min_last_minute;
                bool feedback;
        } cases[] = {
                { "a forwarder comes to rest", { { "/var/log/syslog", 5 * MSEC } }, 1, SEC, 1800 * SEC, 4, 1, true },
                { "a slow one", { { "/var/log/syslog", 150 * MSEC } }, 1, SEC, 1800 * SEC, 4, 1, true },
                { "a reader of the journal", { { "/var/log/syslog", 510 * MSEC } }, 1, SEC, 1800 * SEC, 4, 1, true },
                { "the same, coalescing off", { { "/var/log/syslog", 510 * MSEC } }, 1, 0, 1800 * SEC, 4, 1, true },
                { "a clock, coalescing off", { { "/srv/log", 0, 500 * MSEC } }, 1, 0, 600 * SEC, 120, 114, false },
                { "a clock", { { "/srv/log", 0, 900 * MSEC } }, 1, SEC, 600 * SEC, 70, 50, false },
                { "with two files",
                  { { "/var/log/syslog", 5 * MSEC }, { "/var/log/daemon.log", 6 * MSEC } }, 2, SEC, 1800 * SEC,
                  12, 1, true },
                { "coalescing off", { { "/var/log/syslog", 1 * MSEC } }, 1, 0, 1800 * SEC, 4, 1, true },
                { "a busy writer", { { "/srv/log", 0, 100 * MSEC } }, 1, SEC, 600 * SEC, 130, 100, false },
                { "a writer in step with the window",
                  { { "/srv/log", 0, 1100 * MSEC } }, 1, SEC, 600 * SEC, 60, 50, false },
                { "a writer of pairs in step with the window",
                  { { "/srv/log", 0, 1100 * MSEC }, { "/srv/log", 0, 1100 * MSEC } }, 2, SEC, 600 * SEC, 110, 90,
                  false },
                { "a busy writer, coalescing off", { { "/srv/log", 0, 2 * MSEC } }, 1, 0, 600 * SEC, 30000, 28500,
                  false },
                { "a calm writer, coalescing off", { { "/srv/log", 0, 20 * MSEC } }, 1, 0, 600 * SEC, 3000, 2850,
                  false },
                { "a forwarder and an occasional line of another",
                  { { "/var/log/syslog", 5 * MSEC }, { "/srv/a", 0, 100 * SEC } }, 2, SEC, 1800 * SEC, 12, 1,
                  true },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct program programs[3];
                struct outcome o;

                memcpy(programs, cases[i].programs, sizeof(programs));
                o = run(programs, cases[i].n, cases[i].window, cases[i].until);
                print_message("# %s: %ju records, %ju in the last minute, %ju events, feedback %ju\n",
                              cases[i].what, (uintmax_t)o.records, (uintmax_t)o.last_minute,
                              (uintmax_t)o.events, (uintmax_t)o.feedback);
                assert_int_equal(o.accounted, o.events);
                assert_in_range(o.last_minute, cases[i].min_last_minute, cases[i].max_last_minute);
                assert_int_equal(o.feedback > 0, cases[i].feedback);
        }
}

/* Where records never pause, an event right after one proves nothing. */
static void test_busy_machine(void **state)
{
        _cleanup_(coalescer_freep) struct coalescer *c = coalescer_new(8, free_payload);
        struct coalesced done;
        uint64_t n_done = 0;

        for (uint64_t at = 0; at < 600 * SEC; at += 50 * MSEC) {
                struct coalesce_offer other = write_of("/b", SEC, at);

                other.events = EV_CREATE;
                assert_int_equal(offer(c, &other), COALESCE_REPORT);
                while (coalescer_next(c, T0 + at, &done)) {
                        assert_false(done.feedback);
                        n_done++;
                }
                if (at % (350 * MSEC) == 0)
                        offer_at(c, "/a", SEC, at);
        }
        /* each window of a second takes three writes: one reported, two merged */
        assert_in_range(n_done, 600 * 1000 / 1050 - 1, 600 * 1000 / 1050 + 1);
}

/* The windows of a chain double up to a minute, and it is called feedback once. */
static void test_stretch(void **state)
{
        static const unsigned seconds[] = { 1, 1, 1, 1, 1, 1, 1, 1, 3, 6, 12, 24, 48, 60, 60 };
        _cleanup_(coalescer_freep) struct coalescer *c = coalescer_new(8, free_payload);
        uint64_t at = 0;
        struct coalesced done;

        for (size_t i = 0; i < ELEMENTSOF(seconds); i++) {
                assert_int_equal(offer_at(c, "/a", SEC, at), COALESCE_REPORT);
                assert_int_equal(offer_at(c, "/a", SEC, at + MSEC), COALESCE_MERGED);
                assert_int_equal(coalescer_deadline(c), T0 + at + seconds[i] * SEC);
                at += seconds[i] * SEC;
                assert_true(coalescer_next(c, T0 + at, &done));
                assert_int_equal(done.feedback, i == 8);
                at += MSEC;
        }

        /* somebody writes late in the window, on his own account: back to a second */
        offer_at(c, "/a", SEC, at);
        offer_at(c, "/a", SEC, at + 50 * SEC);
        assert_int_equal(coalescer_deadline(c), T0 + at + 50 * SEC);
        assert_true(coalescer_next(c, T0 + at + 50 * SEC, &done));
        at += 50 * SEC + MSEC;
        offer_at(c, "/a", SEC, at);
        assert_int_equal(coalescer_deadline(c), T0 + at + SEC);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_window),  cmocka_unit_test(test_keys),    cmocka_unit_test(test_off),
                cmocka_unit_test(test_payload), cmocka_unit_test(test_bounded), cmocka_unit_test(test_order),
                cmocka_unit_test(test_feedback), cmocka_unit_test(test_busy_machine), cmocka_unit_test(test_stretch),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("coalesce", tests, NULL, NULL);
}
