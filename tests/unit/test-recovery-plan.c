/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is looked at after a gap, what the times of a file say, and which filesystems were away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recovery_plan.h"

static const char machine[] =
        "mount 1 0 8:1 / / ext4 /dev/sda1\n"
        "mount 2 1 0:50 / /net nfs4 server:/x network\n"
        "mount 3 1 8:17 / /srv/data ext4 /dev/sdb1\n"
        "mount 4 1 0:4 / /proc proc proc pseudo\n"
        "fs 8:1 fsid=11\n"
        "fs 8:17 fsid=22\n"
        "path / exists\n"
        "path /etc exists\n"
        "path /etc/passwd type=file\n"
        "path /etc/link exists resolved=/etc/target\n"
        "path /srv exists\n"
        "path /srv/data exists\n"
        "path /srv/data/db exists\n"
        "path /net/home exists\n"
        "path /gone\n";

struct fixture {
        struct world *world;
        struct recovery_plan plan;
};

static struct world *parse(const char *text)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        struct world *w;

        assert_int_equal(world_parse_text(text, strlen(text), &diag, &w), 0);
        return w;
}

static int setup(void **state)
{
        struct fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        f->world = parse(machine);
        *state = f;
        return 0;
}

static int teardown(void **state)
{
        struct fixture *f = *state;

        recovery_plan_done(&f->plan);
        world_free(f->world);
        free(f);
        return 0;
}

static void add(struct fixture *f, enum scope scope, const char *path, const char *mountpoint, uint64_t from)
{
        struct rule rule = { .clause = { .paths = { &path, 1 }, .scope = scope } };
        const struct rules rules = { .watches = &rule, .n_watches = 1 };

        assert_int_equal(recovery_plan_add(&f->plan, &rules, f->world, mountpoint, from), 0);
}

static void check(const struct fixture *f, size_t at, const char *path, unsigned depth, uint64_t from)
{
        assert_true(at < f->plan.n);
        assert_string_equal(f->plan.roots[at].path, path);
        assert_int_equal(f->plan.roots[at].depth, depth);
        assert_int_equal(f->plan.roots[at].from_usec, from);
}

static void test_scopes(void **state)
{
        struct fixture *f = *state;

        add(f, SCOPE_FILE, "/etc/passwd", NULL, 5);
        add(f, SCOPE_DIRECTORY, "/srv", NULL, 6);
        add(f, SCOPE_FILESYSTEM, "/srv/data", NULL, 7);
        add(f, SCOPE_TREE, "/etc/link", NULL, 8); /* where it leads */
        add(f, SCOPE_TREE, "/gone", NULL, 9);     /* not there */
        add(f, SCOPE_TREE, "/net/home", NULL, 9); /* it may hang */
        assert_int_equal(f->plan.n, 4);
        check(f, 0, "/etc/passwd", 0, 5);
        check(f, 1, "/srv", 1, 6);
        check(f, 2, "/srv/data", RECOVERY_MAX_DEPTH, 7);
        assert_true(f->plan.roots[2].one_mount);
        check(f, 3, "/etc/target", RECOVERY_MAX_DEPTH, 8);
        assert_int_equal(recovery_plan_from(&f->plan), 5);
        assert_true(recovery_plan_is_quiet(&f->plan, 2));
        assert_true(recovery_plan_is_quiet(&f->plan, 4));
        assert_false(recovery_plan_is_quiet(&f->plan, 1));
        assert_false(recovery_plan_is_quiet(&f->plan, 3));
}

/* Nothing twice, and the earlier moment counts, whichever comes first. */
static void test_one_in_another(void **state)
{
        struct fixture *f = *state;

        add(f, SCOPE_TREE, "/etc", NULL, 10);
        add(f, SCOPE_FILE, "/etc/passwd", NULL, 4);
        assert_int_equal(f->plan.n, 1);
        check(f, 0, "/etc", RECOVERY_MAX_DEPTH, 4);
        add(f, SCOPE_DIRECTORY, "/srv", NULL, 3);
        add(f, SCOPE_TREE, "/srv/data/db", NULL, 20);
        add(f, SCOPE_DIRECTORY, "/srv", NULL, 30);
        assert_int_equal(f->plan.n, 3);
        add(f, SCOPE_TREE, "/", NULL, 30);
        assert_int_equal(f->plan.n, 1);
        check(f, 0, "/", RECOVERY_MAX_DEPTH, 3);
}

/* Of one filesystem: what is below its mount point, and what a rule above reaches of it. */
static void test_one_mount(void **state)
{
        struct fixture *f = *state;

        add(f, SCOPE_TREE, "/etc", "/srv/data", 1);
        add(f, SCOPE_FILE, "/srv", "/srv/data", 1);
        add(f, SCOPE_FILESYSTEM, "/", "/srv/data", 1); /* another filesystem */
        assert_int_equal(f->plan.n, 0);
        assert_int_equal(recovery_plan_from(&f->plan), 0);
        add(f, SCOPE_DIRECTORY, "/srv", "/srv/data", 1); /* its child: the mount point itself */
        check(f, 0, "/srv/data", 0, 1);
        add(f, SCOPE_TREE, "/srv/data/db", "/srv/data", 2);
        check(f, 1, "/srv/data/db", RECOVERY_MAX_DEPTH, 2);
        add(f, SCOPE_TREE, "/", "/srv/data", 3);
        assert_int_equal(f->plan.n, 1);
        check(f, 0, "/srv/data", RECOVERY_MAX_DEPTH, 1);
}

static void test_what_times_say(void **state)
{
        enum { S = USEC_PER_SEC };
        static const struct {
                struct recovery_times times;
                uint32_t events;
        } cases[] = {
                { { false, 97 * S, 97 * S, 97 * S }, 0 },
                { { false, 98 * S, 98 * S, 50 * S }, EV_CONTENT | EV_ATTRIB | EV_RENAME }, /* the margin */
                { { false, 50 * S, 99 * S, 50 * S }, EV_ATTRIB | EV_RENAME },
                { { false, 50 * S, 99 * S, 99 * S }, EV_ATTRIB | EV_RENAME | EV_CREATE },  /* mtime set back */
                { { false, 101 * S, 101 * S, 0 }, EV_CONTENT | EV_ATTRIB | EV_RENAME },
                { { true, 101 * S, 101 * S, 50 * S },
                  EV_CREATE | EV_DELETE | EV_RENAME | EV_ATTRIB },
                { { true, 50 * S, 50 * S, 50 * S }, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_int_equal(recovery_events(&cases[i].times, 100 * S), cases[i].events);
        assert_int_equal(recovery_events(&cases[0].times, 1), EV_CONTENT | EV_ATTRIB | EV_RENAME | EV_CREATE);
}

static void test_gone(void **state)
{
        struct recovery_gone g = {};

        assert_int_equal(recovery_gone_add(&g, 22, "/srv/data", 100), 0);
        assert_int_equal(recovery_gone_add(&g, 33, "/mnt", 200), 0);
        assert_int_equal(recovery_gone_add(&g, 0, "/media", 300), 0);
        assert_int_equal(recovery_gone_take(&g, 44, "/elsewhere"), 0);
        assert_int_equal(recovery_gone_take(&g, 22, "/mnt"), 100);  /* the same one, at another place */
        assert_int_equal(recovery_gone_take(&g, 55, "/mnt"), 200);  /* another one at the same place */
        assert_int_equal(recovery_gone_take(&g, 0, "/elsewhere"), 0); /* 0 is not an identity */
        assert_int_equal(recovery_gone_take(&g, 0, "/media"), 300);
        assert_int_equal(recovery_gone_take(&g, 0, "/media"), 0);   /* once */
        for (uint64_t i = 0; i <= RECOVERY_MAX_GONE; i++)
                assert_int_equal(recovery_gone_add(&g, 1000 + i, "/many", i), 0);
        assert_int_equal(g.n, RECOVERY_MAX_GONE);
        assert_int_equal(recovery_gone_take(&g, 1000, "/x"), 0); /* the oldest gave way */
        assert_int_equal(recovery_gone_take(&g, 1001, "/x"), 1);
        recovery_gone_done(&g);
        assert_int_equal(g.n, 0);
}

static void test_same_filesystem(void **state)
{
        static const char after[] = "mount 1 0 8:1 / / ext4 /dev/sda1\n"
                                    "mount 3 1 8:17 / /srv/data ext4 /dev/sdb1\n"
                                    "fs 8:1 fsid=11\n"
                                    "fs 8:17 fsid=99\n"; /* another one on the same device */
        struct fixture *f = *state;
        struct world *w = parse(after);

        for (uint32_t i = 0; i < f->world->n_fs; i++) {
                const struct world_fs *fs = &f->world->fs[i];

                assert_int_equal(recovery_same_filesystem(fs, w), fs->sdev_major == 8 && fs->sdev_minor == 1);
                assert_true(recovery_same_filesystem(fs, f->world));
        }
        world_free(w);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);

        const struct CMUnitTest tests[] = {
                T(test_scopes),        T(test_one_in_another), T(test_one_mount), T(test_what_times_say),
                T(test_gone),          T(test_same_filesystem),
        };
        return cmocka_run_group_tests_name("recovery-plan", tests, NULL, NULL);
}
