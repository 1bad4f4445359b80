/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the goldens do not show; the policy itself is in tests/golden/plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "fan_uapi.h"
#include "plan.h"
#include "strbuf.h"

static const char machine[] =
        "mount 1 0 8:1 / / ext4 /dev/sda1 noexec\n"
        "mount 2 1 0:50 / /net nfs4 server:/x network\n"
        "mount 3 2 0:51 / /net/local tmpfs tmpfs noexec\n"
        "mount 4 1 0:52 / /ovl overlay overlay noexec\n"
        "fs 0:52 error=EOPNOTSUPP\n"
        "path /srv exists\n"
        "path /ovl/x type=file\n"
        "path /gone link=/gone\n";

struct fixture {
        struct rule rule;
        const char *path;
        struct rules rules;
        struct settings settings;
        struct world *world;
        struct plan *plan;
};

static int setup(void **state)
{
        struct fixture *f = calloc(1, sizeof(*f));
        _cleanup_diag_ struct diag diag = DIAG_NULL;

        assert_non_null(f);
        assert_int_equal(world_parse_text(machine, strlen(machine), &diag, &f->world), 0);
        f->rule.clause = (struct clause){
                .name = "r",
                .paths = { &f->path, 1 },
                .scope = SCOPE_TREE,
                .types = TYPE_DEFAULT,
                .events = EV_CREATE,
        };
        f->rules = (struct rules){ .watches = &f->rule, .n_watches = 1 };
        *state = f;
        return 0;
}

static int teardown(void **state)
{
        struct fixture *f = *state;

        plan_free(f->plan);
        world_free(f->world);
        free(f);
        return 0;
}

static const struct plan *plan(struct fixture *f, const char *path, uint32_t events)
{
        plan_free(f->plan);
        f->plan = NULL;
        f->path = path;
        f->rule.clause.events = events;
        assert_int_equal(plan_build(&f->rules, &f->settings, f->world, &f->plan), 0);
        return f->plan;
}

/* A cached directory path can be kept true only where renames and removals of directories are seen. */
static void test_follows_names(void **state)
{
        static const struct {
                uint32_t events, types;
                bool follows;
        } cases[] = {
                { EV_CHANGE, TYPE_DEFAULT, true },
                { EV_RENAME | EV_DELETE, TYPE_DIRECTORY, true },
                { EV_CHANGE, TYPE_FILE, false },
                { EV_CREATE | EV_DELETE, TYPE_DEFAULT, false },
                { EV_RENAME, TYPE_DEFAULT, false },
                { EV_OPEN, TYPE_DEFAULT, false },
        };
        struct fixture *f = *state;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                f->rule.clause.types = cases[i].types;
                plan(f, "/srv", cases[i].events);
                assert_int_equal(f->plan->n_coverage, 1);
                assert_int_equal(f->plan->coverage[0].follows_names, cases[i].follows);
        }
}

/* Marks on a network filesystem, and below one, are placed with a time limit. */
static void test_may_hang(void **state)
{
        static const struct {
                const char *path;
                bool may_hang;
        } cases[] = { { "/srv", false }, { "/net", true }, { "/net/local/x", true } };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const struct plan *p = plan(*state, cases[i].path, EV_CREATE);

                assert_int_equal(p->wanted.marks[0].may_hang, cases[i].may_hang);
        }
}

static void test_gap_fields(void **state)
{
        const struct plan *p = plan(*state, "/ovl/x", EV_CREATE);

        assert_int_equal(p->n_gaps, 1);
        assert_int_equal(p->gaps[0].kind, GAP_NO_MARK);
        assert_int_equal(p->gaps[0].weight, GAP_HOLE);
        assert_int_equal(p->gaps[0].error, EOPNOTSUPP);
        assert_string_equal(p->gaps[0].rule, "r");
        assert_string_equal(p->gaps[0].path, "/ovl/x");
        assert_int_equal(p->wanted.n, 0);
        assert_int_equal(p->coverage[0].state, NOT_COVERED);

        p = plan(*state, "/gone", EV_CREATE);
        assert_int_equal(p->n_gaps, 1);
        assert_int_equal(p->gaps[0].kind, GAP_PATH_MISSING);
        assert_int_equal(p->gaps[0].weight, GAP_NOTE);
        assert_int_equal(p->wanted.marks[0].mask, FAN_CREATE | FAN_RENAME | FAN_ONDIR);
}

/* Many gaps: the list grows, its order is that of rules and paths. */
static void test_many_gaps(void **state)
{
        struct fixture *f = *state;
        const char *paths[100];

        for (size_t i = 0; i < ELEMENTSOF(paths); i++)
                paths[i] = i % 2 ? "/gone" : "/ovl/x";
        f->rule.clause.paths = (struct strings){ paths, ELEMENTSOF(paths) };
        plan(f, "", EV_CREATE);
        assert_int_equal(f->plan->n_gaps, 100);
        for (size_t i = 0; i < 100; i++)
                assert_string_equal(f->plan->gaps[i].path, paths[i]);
}

static void test_names_of_enums(void **state)
{
        for (int k = GAP_PATH_MISSING; k <= GAP_MARK_FAILED; k++)
                assert_non_null(gap_kind_name(k));
        assert_string_equal(gap_kind_name(GAP_NOT_A_MOUNTPOINT), "not-a-mountpoint");
        assert_string_equal(gap_weight_name(GAP_HOLE), "not covered");
        assert_string_equal(gap_weight_name(GAP_PARTLY), "partly");
        assert_string_equal(coverage_state_name(SKIPPED), "skipped");
        assert_string_equal(coverage_state_name(PARTLY_COVERED), "partly covered");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_follows_names, setup, teardown),
                cmocka_unit_test_setup_teardown(test_may_hang, setup, teardown),
                cmocka_unit_test_setup_teardown(test_gap_fields, setup, teardown),
                cmocka_unit_test_setup_teardown(test_many_gaps, setup, teardown),
                cmocka_unit_test(test_names_of_enums),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
