/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include "plan_cover.h"
#include "strbuf.h"

static const char machine[] =
        "mount 1 0 8:1 / / ext4 /dev/sda1 noexec\n"
        "mount 2 1 0:50 / /net nfs4 server:/x network\n"
        "mount 3 1 0:52 / /srv/ovl overlay overlay noexec\n"
        "mount 4 1 0:53 / /srv/fuse fuse.bindfs /x noexec\n"
        "mount 5 1 0:5 / /proc proc proc noexec,pseudo\n"
        "mount 6 1 0:54 / /old nfs server:/old network\n"
        "fs 0:54 error=EOVERFLOW\n"
        "fs 0:52 error=EOPNOTSUPP\n"
        "fs 0:53 error=ENODEV\n"
        "path /etc exists\n"
        "path /srv exists\n"
        "path /srv/ovl exists\n"
        "path /srv/fuse/new link=/srv/fuse/new\n"
        "path /net exists\n"
        "path /proc/1 exists\n"
        "path /gone link=/gone\n"
        "path /never link=/never\n"
        "path /locked/x error=EACCES\n";

struct fixture {
        const char *paths[5];
        struct rule rule;
        struct rules rules;
        struct settings settings;
        struct world *world;
        struct plan *plan;
        struct plan_cover *cover;
};

static void fixture_done(struct fixture *f)
{
        plan_cover_free(f->cover);
        plan_free(f->plan);
        world_free(f->world);
}

/* The rows of one rule with these paths (NULL ends them). */
static void cover(struct fixture *f, enum scope scope, const struct cover_failure *failure, const char *const *paths)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;

        *f = (struct fixture){};
        assert_int_equal(world_parse_text(machine, strlen(machine), &diag, &f->world), 0);
        while (paths[f->rule.clause.paths.n]) {
                f->paths[f->rule.clause.paths.n] = paths[f->rule.clause.paths.n];
                f->rule.clause.paths.n++;
        }
        f->rule.clause.name = "r";
        f->rule.clause.paths.v = f->paths;
        f->rule.clause.scope = scope;
        f->rule.clause.types = TYPE_DEFAULT;
        f->rule.clause.events = scope == SCOPE_MOUNT ? EV_CLOSE_WRITE : EV_CREATE;
        f->rules = (struct rules){ .watches = &f->rule, .n_watches = 1 };
        assert_int_equal(plan_build(&f->rules, &f->settings, f->world, &f->plan), 0);
        assert_int_equal(plan_cover_build(&f->rules, f->world, f->plan, failure, failure ? 1 : 0, &f->cover), 0);
}

static void test_one_path(void **state)
{
        static const struct {
                const char *path;
                enum scope scope;
                enum cover_state state;
                const char *how, *reason; /* how in full, of reason a part */
                int error;
        } cases[] = {
                { "/etc", SCOPE_TREE, COVER_WHOLE, "filesystem mark at /", NULL, 0 },
                { "/gone", SCOPE_TREE, COVER_WAITS, "filesystem mark at /", "/gone does not exist", 0 },
                { "/srv", SCOPE_TREE, COVER_PARTLY, "filesystem mark at /",
                  "/srv/fuse (fuse.bindfs) below it is not covered (and 1 more)", ENODEV },
                { "/srv", SCOPE_DIRECTORY, COVER_WHOLE, "filesystem mark at /", NULL, 0 },
                { "/srv/ovl", SCOPE_TREE, COVER_NOT, NULL, "index=on,nfs_export=on", EOPNOTSUPP },
                /* missing, and not watched even when it appears */
                { "/srv/fuse/new", SCOPE_TREE, COVER_NOT, NULL, "no filesystem id", ENODEV },
                /* inotify-tools 222: the errno is named, never "Success" */
                { "/old", SCOPE_TREE, COVER_NOT, NULL, "nfs filesystem (EOVERFLOW)", EOVERFLOW },
                { "/net", SCOPE_TREE, COVER_PARTLY, "filesystem mark, sees this host only at /net", "other hosts", 0 },
                { "/proc/1", SCOPE_TREE, COVER_NOT, NULL, "holds no files", 0 },
                { "/locked/x", SCOPE_FILE, COVER_PARTLY, "filesystem mark at /", "EACCES", EACCES },
                { "/etc", SCOPE_MOUNT, COVER_NOT, NULL, "nothing is mounted at this path", 0 },
                { "/net", SCOPE_MOUNT, COVER_PARTLY, "mount mark at /net", "no truncation", 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct fixture f;

                cover(&f, cases[i].scope, NULL, (const char *const[]){ cases[i].path, NULL });
                const struct cover_row *row = &f.cover->rows[0];
                assert_int_equal(f.cover->n_rows, 1);
                assert_string_equal(row->rule, "r");
                assert_int_equal(row->paths.n, 1);
                assert_string_equal(row->paths.v[0], cases[i].path);
                assert_int_equal(row->state, cases[i].state);
                assert_int_equal(row->error, cases[i].error);
                if (cases[i].how)
                        assert_string_equal(row->how, cases[i].how);
                else
                        assert_null(row->how);
                if (cases[i].reason)
                        assert_non_null(strstr(row->reason, cases[i].reason));
                else
                        assert_null(row->reason);
                fixture_done(&f);
        }
}

/* What does not exist is one row, behind those that do. */
static void test_missing_are_one_row(void **state)
{
        struct fixture f;

        cover(&f, SCOPE_TREE, NULL, (const char *const[]){ "/gone", "/etc", "/never", "/srv/ovl", NULL });
        assert_int_equal(f.cover->n_rows, 3);
        assert_string_equal(f.cover->rows[0].paths.v[0], "/etc");
        assert_int_equal(f.cover->rows[1].state, COVER_NOT);
        assert_int_equal(f.cover->rows[2].state, COVER_WAITS);
        assert_int_equal(f.cover->rows[2].paths.n, 2);
        assert_string_equal(f.cover->rows[2].paths.v[0], "/gone");
        assert_string_equal(f.cover->rows[2].paths.v[1], "/never");
        assert_non_null(strstr(f.cover->rows[2].reason, "do not exist"));
        fixture_done(&f);
}

/* A mark that was planned and refused covers nothing. */
static void test_refused_mark(void **state)
{
        const struct cover_failure root = { .fs = 0, .error = ENOSPC };
        struct fixture f;

        cover(&f, SCOPE_TREE, &root, (const char *const[]){ "/etc", "/net", NULL });
        assert_int_equal(f.cover->rows[0].state, COVER_NOT);
        assert_int_equal(f.cover->rows[0].error, ENOSPC);
        assert_null(f.cover->rows[0].how);
        assert_int_equal(f.cover->rows[1].state, COVER_PARTLY);
        fixture_done(&f);
}

static void test_counts(void **state)
{
        size_t counts[N_COVERAGE_STATES];
        struct fixture f;

        cover(&f, SCOPE_TREE, NULL, (const char *const[]){ "/srv", "/net", "/proc/1", NULL });
        plan_cover_counts(f.plan, counts);
        assert_int_equal(counts[COVERED], 1);
        assert_int_equal(counts[PARTLY_COVERED], 1);
        /* overlay, FUSE, and the rule's path on proc */
        assert_int_equal(counts[NOT_COVERED], 3);
        assert_int_equal(counts[SKIPPED], 1);
        fixture_done(&f);
}

static void test_names(void **state)
{
        assert_string_equal(cover_state_name(COVER_WHOLE), coverage_state_name(COVERED));
        assert_string_equal(cover_state_name(COVER_PARTLY), coverage_state_name(PARTLY_COVERED));
        assert_string_equal(cover_state_name(COVER_NOT), coverage_state_name(NOT_COVERED));
        assert_string_equal(cover_state_name(COVER_WAITS), "waiting");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_path), cmocka_unit_test(test_missing_are_one_row),
                cmocka_unit_test(test_refused_mark), cmocka_unit_test(test_counts),
                cmocka_unit_test(test_names),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("plan-cover", tests, NULL, NULL);
}
