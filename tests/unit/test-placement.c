/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "placement.h"

/* Any bits that differ. */
#define SELF      0x1u
#define BELOW     0x2u
#define OTHER     0x4u
#define STRUCTURE 0x100u

static struct placed_here at(const struct placing *p, const char *path)
{
        return placement_at(p, 3, path, strlen(path), STRUCTURE);
}

static void check(const struct placing *p, const char *path, uint32_t mask, bool descend)
{
        const struct placed_here here = at(p, path);

        if (here.mask != mask || here.descend != descend)
                print_message("%s: %x %d\n", path, here.mask, here.descend);
        assert_int_equal(here.mask, mask);
        assert_int_equal(here.descend, descend);
}

static void add(struct placing *p, struct arena *arena, const char *inside, uint32_t mask, uint32_t below)
{
        const struct placement_root root = { .fs = 3, .inside = inside, .mask = mask, .below = below };

        assert_int_equal(placement_add(p, arena, &root), 0);
}

static void test_tree(void **state)
{
        struct arena *arena = arena_new();
        struct placing p = {};

        add(&p, arena, "/srv/www", SELF, BELOW);
        placement_seal(&p);
        check(&p, "/", STRUCTURE, true);
        check(&p, "/srv", STRUCTURE, true);
        check(&p, "/srv/www", SELF | STRUCTURE, true);
        check(&p, "/srv/www/a", BELOW | STRUCTURE, true);
        check(&p, "/srv/www/a/b", BELOW | STRUCTURE, true);
        check(&p, "/srv/www2", 0, false);
        check(&p, "/srv/ww", 0, false);
        check(&p, "/etc", 0, false);
        assert_true(placement_uses(&p, 3));
        assert_false(placement_uses(&p, 2));
        assert_false(placement_uses(&p, 4));
        assert_int_equal(placement_at(&p, 4, "/srv/www", 8, STRUCTURE).mask, 0);
        placement_done(&p);
        arena_free(arena);
}

static void test_whole(void **state)
{
        struct arena *arena = arena_new();
        struct placing p = {};

        add(&p, arena, "/", SELF, BELOW);
        placement_seal(&p);
        check(&p, "/", SELF | STRUCTURE, true);
        check(&p, "/a", BELOW | STRUCTURE, true);
        placement_done(&p);
        arena_free(arena);
}

/* What rules ask for at one place, and above it, is added up. */
static void test_several(void **state)
{
        struct arena *arena = arena_new();
        struct placing p = {};

        add(&p, arena, "/a/b", OTHER, 0);
        add(&p, arena, "/a", SELF, BELOW);
        add(&p, arena, "/a-c/d", SELF, 0);
        add(&p, arena, "/a/b", SELF, 0);
        add(&p, arena, "/e/f", SELF, 0);
        placement_seal(&p);
        assert_int_equal(p.n, 4);
        check(&p, "/a", SELF | STRUCTURE, true);
        check(&p, "/a/b", OTHER | SELF | BELOW | STRUCTURE, true);
        check(&p, "/a/b/c", BELOW | STRUCTURE, true);
        check(&p, "/a-c", STRUCTURE, true);
        check(&p, "/a-c/d", SELF | STRUCTURE, false);
        check(&p, "/a-c/d/x", 0, false);
        check(&p, "/a-", 0, false);
        check(&p, "/e", STRUCTURE, true);
        placement_done(&p);
        arena_free(arena);
}

static void test_skip(void **state)
{
        const struct placement_root root = { .fs = 3, .inside = "/a/log", .skip = true };
        struct arena *arena = arena_new();
        struct placing p = {};

        assert_int_equal(placement_add(&p, arena, &root), 0);
        add(&p, arena, "/a", SELF, BELOW);
        add(&p, arena, "/a/log/deep", SELF, BELOW);
        placement_seal(&p);
        check(&p, "/a", SELF | STRUCTURE, true);
        check(&p, "/a/log", 0, false);
        check(&p, "/a/log/deep", 0, false);
        check(&p, "/a/logs", BELOW | STRUCTURE, true);
        placement_done(&p);
        arena_free(arena);
}

static void test_empty(void **state)
{
        struct placing p = {};

        placement_seal(&p);
        check(&p, "/", 0, false);
        assert_false(placement_uses(&p, 3));
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_tree),
                cmocka_unit_test(test_whole),
                cmocka_unit_test(test_several),
                cmocka_unit_test(test_skip),
                cmocka_unit_test(test_empty),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
