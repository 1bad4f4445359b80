/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fan_uapi.h"
#include "markdiff.h"
#include "strbuf.h"

/* One mark of one object, and what a set holds of it: nothing, masks, flags. */
struct side {
        bool there;
        uint64_t mask, ignore;
        bool surv, is_new, evictable;
};
#define NO { false, 0, 0, false, false, false }
#define MASK(m) { true, m, 0, false, false, false }
#define SURV(m, i) { true, m, i, true, true, false }
#define SPENT(m, i) { true, m, i, false, true, false }
#define EVICTABLE(i) { true, 0, i, true, true, true }
#define LEGACY(m, i) { true, m, i, true, false, false }

#define A FAN_CREATE
#define B FAN_DELETE
#define CHILD FAN_EVENT_ON_CHILD

static void fill(struct markset *s, const struct side *side, const char *where)
{
        const struct group_key group = { .kind = GROUP_MAIN };
        const struct mark_object object = { .kind = MARK_INODE };
        struct mark *m;

        if (!side->there)
                return;
        assert_int_equal(markset_get(s, &group, &object, where, &m), 0);
        m->mask = side->mask;
        m->ignore_mask = side->ignore;
        m->ignore_surv = side->surv;
        m->ignore_new = side->is_new;
        m->evictable = side->evictable;
}

/* "+mask 100 | -ignore 200 surv", one list after the other. */
static void print_ops(const struct mark_op *ops, size_t n, struct strbuf *out)
{
        for (size_t i = 0; i < n; i++)
                strbuf_addf(out, "%s%c%s%s%s%s %llx", i > 0 ? ", " : "", ops[i].add ? '+' : '-',
                            ops[i].ignore ? (ops[i].ignore_new ? "ignore" : "legacy") : "mask",
                            ops[i].ignore_surv ? " surv" : "", ops[i].evictable ? " evictable" : "",
                            ops[i].ignore && !ops[i].ignore_surv ? " spent" : "", (unsigned long long)ops[i].bits);
}

static void test_one_mark(void **state)
{
        static const struct {
                struct side placed, wanted;
                const char *ops; /* widening | narrowing; create is 100, delete 200 */
        } cases[] = {
                { NO, NO, "|" },
                { MASK(A), MASK(A), "|" },
                { NO, MASK(A | B), "+mask 300|" },
                { MASK(A), NO, "|-mask 100" },
                { MASK(A), MASK(B), "+mask 200|-mask 100" },
                { MASK(A), MASK(A | FAN_ONDIR), "+mask 40000000|" },
                { MASK(A | FAN_ONDIR), MASK(A), "|-mask 40000000" },
                /* the mask of a new mark first, its ignore after the rules were swapped */
                { NO, SURV(A, B), "+mask 100|+ignore surv 200" },
                { SURV(A, B), NO, "-ignore surv 200|-mask 100" },
                { SURV(A, A | B), SURV(A, B), "-ignore surv 100|" },
                { SURV(0, A), SURV(B, A | B), "+mask 200|+ignore surv 200" },
                /* flags of an ignore mask narrow when they are added */
                { SURV(A, B), SURV(A, B | FAN_ONDIR), "|+ignore surv 40000000" },
                { SURV(A, B | CHILD), SURV(A, B), "-ignore surv 8000000|" },
                /* gaining SURV, or losing EVICTABLE, is an add of bits that are there */
                { SPENT(0, A), SURV(0, A), "|+ignore surv 100" },
                { EVICTABLE(A), SURV(0, A), "|+ignore surv 100" },
                /* losing SURV, gaining EVICTABLE, another interface: off, then on again */
                { SURV(0, A), SPENT(0, A), "-ignore surv 100|+ignore spent 100" },
                { SURV(0, A), EVICTABLE(A), "-ignore surv 100|+ignore surv evictable 100" },
                { LEGACY(0, A), SURV(0, A), "-legacy surv 100|+ignore surv 100" },
                { MASK(B), EVICTABLE(A), "|-mask 200, +ignore surv evictable 100" },
                { EVICTABLE(A), MASK(B), "+mask 200, -ignore surv 100|" },
                /* a legacy ignore means children when the mask has ON_CHILD */
                { LEGACY(A, B), LEGACY(A | CHILD, B), "-legacy surv 200, +mask 8000000|+legacy surv 200" },
                { LEGACY(A, B), MASK(A | CHILD), "-legacy surv 200, +mask 8000000|" },
                { SURV(A, B), SURV(A | CHILD, B), "+mask 8000000|" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_markset_ struct markset placed = MARKSET_NULL, wanted = MARKSET_NULL;
                _cleanup_markdiff_ struct markdiff d = {};
                _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

                fill(&placed, &cases[i].placed, "/placed");
                fill(&wanted, &cases[i].wanted, "/wanted");
                assert_int_equal(markdiff_build(&placed, &wanted, &d), 0);
                print_ops(d.widen, d.n_widen, &out);
                strbuf_addc(&out, '|');
                print_ops(d.narrow, d.n_narrow, &out);
                assert_string_equal(strbuf_str(&out), cases[i].ops);

                for (size_t k = 0; k < d.n_widen; k++)
                        assert_string_equal(d.widen[k].where, cases[i].wanted.there ? "/wanted" : "/placed");
                for (size_t k = 0; k < d.n_widen; k++)
                        assert_int_equal(mark_op_apply(&placed, &d.widen[k]), 0);
                for (size_t k = 0; k < d.n_narrow; k++)
                        assert_int_equal(mark_op_apply(&placed, &d.narrow[k]), 0);
                assert_int_equal(placed.n, wanted.n);
                if (wanted.n == 0)
                        continue;
                assert_int_equal(placed.marks[0].mask, wanted.marks[0].mask);
                assert_int_equal(placed.marks[0].ignore_mask, wanted.marks[0].ignore_mask);
                assert_int_equal(placed.marks[0].evictable, wanted.marks[0].evictable);
                if (wanted.marks[0].ignore_mask != 0) {
                        assert_int_equal(placed.marks[0].ignore_surv, wanted.marks[0].ignore_surv);
                        assert_int_equal(placed.marks[0].ignore_new, wanted.marks[0].ignore_new);
                }
        }
}

/* Sets with marks that only one of them has, before, between and after. */
static void test_merge(void **state)
{
        static const struct group_key groups[] = { { .kind = GROUP_MAIN }, { .kind = GROUP_MOUNT, .mount_id = 4 } };
        _cleanup_markset_ struct markset placed = MARKSET_NULL, wanted = MARKSET_NULL;
        _cleanup_markdiff_ struct markdiff d = {};
        static const uint32_t in_placed[] = { 1, 3, 4 }, in_wanted[] = { 2, 3, 5 };
        struct mark *m;

        for (size_t i = 0; i < 3; i++) {
                struct mark_object p = { .kind = MARK_FILESYSTEM, .sdev_minor = in_placed[i] };
                struct mark_object w = { .kind = MARK_FILESYSTEM, .sdev_minor = in_wanted[i] };

                assert_int_equal(markset_get(&placed, &groups[i == 2], &p, "", &m), 0);
                m->mask = A;
                assert_int_equal(markset_get(&wanted, &groups[i == 2], &w, "", &m), 0);
                m->mask = A;
        }
        assert_int_equal(markdiff_build(&placed, &wanted, &d), 0);
        assert_int_equal(d.n_widen, 2);
        assert_int_equal(d.widen[0].object.sdev_minor, 2);
        assert_int_equal(d.widen[1].object.sdev_minor, 5);
        assert_int_equal(d.widen[1].group.mount_id, 4);
        assert_int_equal(d.n_narrow, 2);
        assert_int_equal(d.narrow[0].object.sdev_minor, 1);
        assert_int_equal(d.narrow[1].object.sdev_minor, 4);
}

static void test_inverse(void **state)
{
        const struct mark_op add = { .add = true, .bits = A }, off = { .ignore = true, .ignore_surv = true, .bits = B };
        struct mark_op back = mark_op_inverse(&add);

        assert_false(back.add);
        assert_int_equal(back.bits, A);
        back = mark_op_inverse(&off);
        assert_true(back.add && back.ignore && back.ignore_surv);
        assert_int_equal(back.bits, B);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_mark),
                cmocka_unit_test(test_merge),
                cmocka_unit_test(test_inverse),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
