/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every reload between small sets of marks: a filesystem and a file on it, two
 * event bits, in mask and ignore mask, 256 sets, 65,536 pairs.  For each pair the
 * calls are made one by one, and each of them fails once in each way.  After every
 * single call:
 *
 *   while widening   what was covered before is covered;
 *   while narrowing  what will be covered is covered;
 *   with a failure   what is covered before and will be is covered;
 *   always           what is noted as placed is what the kernel has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include "fake_kernel.h"
#include "fan_uapi.h"
#include "marks.h"

#define N_SETS 256
static const uint64_t events[] = { FAN_OPEN, FAN_MODIFY };

static const struct mark_object objects[] = {
                {.kind = MARK_FILESYSTEM, .sdev_major = 8, .sdev_minor = 1},
                {.kind = MARK_INODE,
                 .sdev_major = 8,
                 .sdev_minor = 1,
                 .handle = {.type = 1, .len = 1, .bytes = {1}}},
};
static const struct group_key group = { .kind = GROUP_MAIN };

static uint64_t bits_of(unsigned two)
{
        return (two & 1 ? events[0] : 0) | (two & 2 ? events[1] : 0);
}

/* Four bits an object: two of the mask, two of the ignore mask. */
static void make_set(unsigned number, struct markset *ret)
{
        *ret = MARKSET_NULL;
        for (size_t i = 0; i < ELEMENTSOF(objects); i++) {
                unsigned four = number >> (4 * i) & 15;
                struct mark *m;

                if (four == 0)
                        continue;
                assert_int_equal(markset_get(ret, &group, &objects[i], "/", &m), 0);
                m->mask = bits_of(four & 3);
                m->ignore_mask = bits_of(four >> 2);
                m->ignore_surv = m->ignore_new = m->ignore_mask != 0;
        }
}

/* One bit for each (place, event) that is delivered: at the file, and elsewhere on the filesystem. */
static unsigned coverage(const struct markset *s)
{
        unsigned covered = 0;

        for (size_t i = 0; i < ELEMENTSOF(events); i++) {
                covered |= (unsigned)fake_kernel_delivers(s, objects, 2, events[i]) << i;
                covered |= (unsigned)fake_kernel_delivers(s, objects, 1, events[i]) << (2 + i);
        }
        return covered;
}

static bool same_sets(const struct markset *a, const struct markset *b)
{
        if (a->n != b->n)
                return false;
        for (size_t i = 0; i < a->n; i++)
                if (mark_object_compare(&a->marks[i].object, &b->marks[i].object) != 0 ||
                    a->marks[i].mask != b->marks[i].mask ||
                    a->marks[i].ignore_mask != b->marks[i].ignore_mask)
                        return false;
        return true;
}

struct run {
        struct markset sets[2]; /* before, after */
        unsigned covered[2];
        struct fake_kernel kernel;
        struct marks *marks;
        unsigned must; /* covered after every call */
        bool lost;
};

static void check_covered(void *userdata, const struct fake_kernel *k)
{
        struct run *run = userdata;

        if ((run->must & ~coverage(&k->marks)) != 0)
                run->lost = true;
}

static void begin(struct run *run)
{
        const struct marks_params params = { .mark = fake_kernel_mark, .userdata = &run->kernel };
        _cleanup_markdiff_ struct markdiff d = {};

        run->kernel = (struct fake_kernel){ .after = check_covered, .userdata = run };
        run->must = 0;
        run->lost = false;
        assert_int_equal(marks_new(&params, &run->marks), 0);
        assert_int_equal(markdiff_build(marks_placed(run->marks), &run->sets[0], &d), 0);
        assert_int_equal(marks_widen(run->marks, &d), 0);
        marks_narrow(run->marks, &d);
        assert_true(same_sets(&run->kernel.marks, &run->sets[0]));
        run->kernel.n_calls = 0;
}

static void end(struct run *run)
{
        marks_free(run->marks);
        fake_kernel_done(&run->kernel);
}

/* One attempt to get to the second set.  Returns what marks_widen() did. */
static int reload(struct run *run, const struct markdiff *d, bool failing)
{
        unsigned both = run->covered[0] & run->covered[1];
        int r;

        run->must = run->covered[0];
        r = marks_widen(run->marks, d);
        assert_false(run->lost);
        assert_true(same_sets(marks_placed(run->marks), &run->kernel.marks));
        if (r < 0)
                return r;
        run->must = failing ? both : run->covered[1];
        check_covered(run, &run->kernel);
        marks_narrow(run->marks, d);
        assert_false(run->lost);
        assert_true(same_sets(marks_placed(run->marks), &run->kernel.marks));
        return 0;
}

/* Whatever failed, the next attempt from what is placed arrives. */
static void try_again(struct run *run)
{
        _cleanup_markdiff_ struct markdiff d = {};

        run->kernel.fail_at = 0;
        assert_int_equal(markdiff_build(marks_placed(run->marks), &run->sets[1], &d), 0);
        run->must = run->covered[0] & run->covered[1];
        assert_int_equal(marks_widen(run->marks, &d), 0);
        marks_narrow(run->marks, &d);
        assert_false(run->lost);
        assert_true(same_sets(&run->kernel.marks, &run->sets[1]));
}

static size_t run_pair(struct run *run, size_t fail_at, int error)
{
        _cleanup_markdiff_ struct markdiff d = {};
        bool shortage = error == -ENOMEM;
        size_t n_calls;
        int r;

        begin(run);
        assert_int_equal(markdiff_build(marks_placed(run->marks), &run->sets[1], &d), 0);
        n_calls = d.n_widen + d.n_narrow;
        run->kernel.fail_at = fail_at;
        run->kernel.fail_error = error;
        r = reload(run, &d, fail_at != 0);
        if (fail_at != 0 && fail_at <= d.n_widen && shortage) {
                assert_int_equal(r, -ENOMEM);
                assert_true(same_sets(&run->kernel.marks, &run->sets[0]));
        } else {
                assert_int_equal(r, 0);
        }
        if (fail_at == 0)
                assert_true(same_sets(&run->kernel.marks, &run->sets[1]));
        else
                try_again(run);
        end(run);
        return n_calls;
}

static void test_all_pairs(void **state)
{
        static const int errors[] = { -ENOMEM, -EACCES };
        struct markset sets[N_SETS];
        size_t n_runs = 0, most_calls = 0;

        for (unsigned i = 0; i < N_SETS; i++)
                make_set(i, &sets[i]);
        for (unsigned i = 0; i < N_SETS; i++)
                for (unsigned k = 0; k < N_SETS; k++) {
                        struct run run = {
                                .sets = { sets[i], sets[k] },
                                .covered = { coverage(&sets[i]), coverage(&sets[k]) },
                        };
                        size_t n = run_pair(&run, 0, 0);

                        most_calls = n > most_calls ? n : most_calls;
                        n_runs++;
                        for (size_t e = 0; e < ELEMENTSOF(errors); e++)
                                for (size_t at = 1; at <= n; at++, n_runs++)
                                        (void)run_pair(&run, at, errors[e]);
                }
        for (unsigned i = 0; i < N_SETS; i++)
                markset_done(&sets[i]);
        /* each object needs at most an add and a remove of its mask and of its ignore mask */
        assert_int_equal(most_calls, 8);
        printf("# %zu reloads\n", n_runs);
        /* 3.5 calls a pair on average, each fails twice: the loops above left none out */
        assert_int_equal(n_runs, 65536 * (1 + 2 * 3.5));
}

/* A mark whose removal finds nothing (the filesystem is gone) is not a failure. */
static void test_gone(void **state)
{
        struct run run = {};
        _cleanup_markdiff_ struct markdiff d = {};
        size_t n;

        make_set(0x33, &run.sets[0]);
        begin(&run);
        markset_done(&run.kernel.marks);
        assert_int_equal(markdiff_build(marks_placed(run.marks), &run.sets[1], &d), 0);
        assert_int_equal(marks_widen(run.marks, &d), 0);
        marks_narrow(run.marks, &d);
        (void)marks_failures(run.marks, &n);
        assert_int_equal(n, 0);
        assert_int_equal(marks_placed(run.marks)->n, 0);
        end(&run);
        markset_done(&run.sets[0]);
}

/* What the object refuses is noted, with where and why, and the rest is placed. */
static void test_failures(void **state)
{
        struct run run = {};
        _cleanup_markdiff_ struct markdiff d = {};
        const struct mark_failure *f;
        size_t n;

        make_set(0x11, &run.sets[1]);
        begin(&run);
        assert_int_equal(markdiff_build(marks_placed(run.marks), &run.sets[1], &d), 0);
        run.kernel.fail_at = 1;
        run.kernel.fail_error = -EOPNOTSUPP;
        assert_int_equal(marks_widen(run.marks, &d), 0);
        f = marks_failures(run.marks, &n);
        assert_int_equal(n, 1);
        assert_int_equal(f[0].error, EOPNOTSUPP);
        assert_int_equal(f[0].object.kind, MARK_FILESYSTEM);
        assert_int_equal(f[0].uncovered, FAN_OPEN);
        assert_string_equal(f[0].where, "/");
        assert_int_equal(marks_placed(run.marks)->n, 1);
        end(&run);
        markset_done(&run.sets[1]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_all_pairs),
                cmocka_unit_test(test_gone),
                cmocka_unit_test(test_failures),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
